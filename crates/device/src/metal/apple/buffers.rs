//! How are bytes held where both processor and GPU see them?

use super::Raw;
use crate::contract::Fault;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLBuffer, MTLDevice, MTLResourceOptions};

/// A buffer of the framework.
pub type AppleBuffer = Retained<ProtocolObject<dyn MTLBuffer>>;

/// Shared memory that holds these bytes.
///
/// # Errors
/// A size that the device does not take, or too little memory.
pub fn holding(device: &Raw, bytes: &[u8]) -> Result<AppleBuffer, Fault> {
    // A buffer of no bytes is none.
    let length = bytes.len().max(1);
    if length > device.maxBufferLength() {
        let most = device.maxBufferLength();
        return Err(Fault::OutOfMemory(format!("a buffer of {length} bytes; this device takes at most {most}")));
    }
    let options = MTLResourceOptions::StorageModeShared;
    let buffer = device
        .newBufferWithLength_options(length, options)
        .ok_or_else(|| Fault::OutOfMemory(format!("the system gives no buffer of {length} bytes")))?;
    // SAFETY: the buffer is `length` bytes long, was made just now, and no command uses it yet.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.contents().cast().as_ptr(), bytes.len()) };
    Ok(buffer)
}

/// All bytes of a buffer, of which `length` were asked for.
pub fn read(buffer: &AppleBuffer, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    // SAFETY: the buffer holds at least `length` bytes, and every command that writes to it has been waited for.
    unsafe { std::ptr::copy_nonoverlapping(buffer.contents().cast().as_ptr(), bytes.as_mut_ptr(), length) };
    bytes
}
