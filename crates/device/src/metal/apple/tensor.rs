//! How does the host make a tensor over a buffer?
//!
//! The classes exist from macOS 26 on, and a selector that is missing raises an exception, so both are asked for first.

use super::buffers::AppleBuffer;
use super::compile::words;
use crate::contract::Fault;
use crate::metal::gpu::HostTensor;
use objc2::rc::Retained;
use objc2::runtime::{AnyClass, NSObjectProtocol, ProtocolObject};
use objc2::{AnyThread, sel};
use objc2_metal::{MTLBuffer, MTLTensor, MTLTensorDataType, MTLTensorDescriptor, MTLTensorExtents, MTLTensorUsage};

/// A tensor of the framework.
pub type AppleTensor = Retained<ProtocolObject<dyn MTLTensor>>;

/// A tensor over a buffer.
///
/// # Errors
/// That this system has no tensors, or which rule the framework says is broken.
pub fn over(buffer: &AppleBuffer, tensor: &HostTensor) -> Result<AppleTensor, Fault> {
    let has_class = AnyClass::get(c"MTLTensorDescriptor").is_some() && AnyClass::get(c"MTLTensorExtents").is_some();
    if !has_class || !buffer.respondsToSelector(sel!(newTensorWithDescriptor:offset:error:)) {
        return Err(Fault::Failed("this system has no tensors made by the host; macOS 26 or newer has".into()));
    }
    let descriptor = MTLTensorDescriptor::new();
    descriptor.setDimensions(&*extents(&tensor.extents)?);
    descriptor.setStrides(Some(&*extents(&tensor.strides)?));
    descriptor.setDataType(MTLTensorDataType(tensor.element.tensor_data_type()));
    descriptor.setUsage(MTLTensorUsage(tensor.usage.raw()));
    descriptor.setStorageMode(buffer_mode(buffer));
    // SAFETY: the descriptor is complete, and the offset is checked by the framework against the buffer's length.
    unsafe { buffer.newTensorWithDescriptor_offset_error(&descriptor, tensor.offset as usize) }
        .map_err(|e| Fault::Failed(words(&e)))
}

fn buffer_mode(buffer: &AppleBuffer) -> objc2_metal::MTLStorageMode {
    use objc2_metal::MTLResource;
    buffer.storageMode()
}

fn extents(values: &[i64; 2]) -> Result<Retained<MTLTensorExtents>, Fault> {
    let values = values.map(|v| v as isize);
    // SAFETY: the pointer is to as many values as the rank says.
    unsafe { MTLTensorExtents::initWithRank_values(MTLTensorExtents::alloc(), values.len(), values.as_ptr()) }
        .ok_or_else(|| Fault::Failed(format!("the framework takes no extents {values:?}")))
}
