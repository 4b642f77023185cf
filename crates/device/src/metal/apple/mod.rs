//! How are Apple's GPUs found and opened?
//!
//! A device is `metal` (the system's default) or `metal:N`, N in the system's order. Everything here needs a Mac; it is
//! type-checked elsewhere and has run nowhere yet.

mod buffers;
mod compile;
mod gpu;
mod identity;
mod io_report;
mod meters;
mod tensor;

use super::device::MetalDevice;
use crate::contract::Device;
use gpu::AppleGpu;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLCopyAllDevices, MTLCreateSystemDefaultDevice, MTLDevice};

/// A device of the framework.
type Raw = Retained<ProtocolObject<dyn MTLDevice>>;

// MTLCreateSystemDefaultDevice finds nothing in a command-line program that does not link CoreGraphics.
#[link(name = "CoreGraphics", kind = "framework")]
unsafe extern "C" {}

fn all() -> Result<Vec<Raw>, String> {
    let listed: Vec<Raw> = MTLCopyAllDevices().to_vec();
    let found = if listed.is_empty() { MTLCreateSystemDefaultDevice().into_iter().collect() } else { listed };
    if found.is_empty() {
        return Err("this Mac shows no Metal device; in a virtual machine it may have none, and over ssh it needs a login session".into());
    }
    Ok(found)
}

/// Selectors of the devices here.
///
/// # Errors
/// That there is none.
pub fn find() -> Result<Vec<String>, String> {
    Ok((0..all()?.len()).map(|i| format!("metal:{i}")).collect())
}

/// Opens `metal` or `metal:N`.
///
/// # Errors
/// Which devices there are, or why this one does not open.
pub fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    let devices = all()?;
    let index = selector.split_once(':').map_or(Some(0), |(_, index)| index.parse::<usize>().ok());
    let device = index
        .and_then(|i| devices.get(i).cloned())
        .ok_or_else(|| format!("no device `{selector}`; there are metal:0 to metal:{}", devices.len() - 1))?;
    Ok(Box::new(MetalDevice::new(AppleGpu::new(device)?)))
}
