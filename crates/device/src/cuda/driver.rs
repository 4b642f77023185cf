//! How is the driver called, and what do its errors mean for a run?
//!
//! Every call is checked. An error after which NVIDIA's manual says that the process must be started anew (an illegal
//! address, a failed or timed-out launch, an uncorrectable memory error, a device that left) is [`Fault::DeviceLost`];
//! a refused allocation is [`Fault::OutOfMemory`]; anything else is [`Fault::Failed`].

use crate::contract::Fault;
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::rc::Rc;

/// A call of the driver that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {name} ({meaning})")]
pub struct DriverError {
    /// The function.
    pub call: &'static str,
    /// What it returned.
    pub code: CUresult,
    /// The driver's name for it.
    pub name: String,
    /// The driver's own words for it.
    pub meaning: String,
}

/// Whether a call succeeded.
///
/// # Errors
/// What the driver says of its own code.
pub fn check(call: &'static str, code: CUresult) -> Result<(), DriverError> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    // SAFETY: both functions write a pointer to a string that lives as long as the driver, or nothing.
    let name = unsafe { words(code, |code, to| sys::cuGetErrorName(code, to)) };
    // SAFETY: as above.
    let meaning = unsafe { words(code, |code, to| sys::cuGetErrorString(code, to)) };
    Err(DriverError { call, code, name, meaning })
}

/// # Safety
/// `ask` must leave the pointer alone or set it to a string that ends in 0 and is never freed.
unsafe fn words(code: CUresult, ask: impl Fn(CUresult, *mut *const c_char) -> CUresult) -> String {
    let mut text: *const c_char = std::ptr::null();
    if ask(code, &mut text) != CUresult::CUDA_SUCCESS || text.is_null() {
        return format!("{code:?}");
    }
    // SAFETY: by this function's own demand.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl From<DriverError> for Fault {
    fn from(error: DriverError) -> Fault {
        use CUresult::*;
        let said = error.to_string();
        match error.code {
            CUDA_ERROR_OUT_OF_MEMORY => Fault::OutOfMemory(said),
            CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUDA_ERROR_NO_DEVICE
            | CUDA_ERROR_DEINITIALIZED
            | CUDA_ERROR_UNKNOWN => Fault::DeviceLost(said),
            _ => Fault::Failed(said),
        }
    }
}

/// Starts the driver; it may be called any number of times.
///
/// # Errors
/// A missing library, or what the driver says.
pub fn start() -> Result<(), String> {
    super::libraries::driver()?;
    // SAFETY: the library is there; 0 is the only flag that exists.
    let started = check("cuInit", unsafe { sys::cuInit(0) });
    started.map_err(|e| match e.code {
        CUresult::CUDA_ERROR_NO_DEVICE => format!(
            "{e}: the driver is here and shows no GPU; see nvidia-smi, CUDA_VISIBLE_DEVICES, and in a container its device files"
        ),
        CUresult::CUDA_ERROR_STUB_LIBRARY => {
            format!("{e}: the library found is the toolkit's stub; put the driver's own first in LD_LIBRARY_PATH")
        }
        _ => e.to_string(),
    })
}

/// How many devices the driver shows to this process. [`start`] comes first.
///
/// # Errors
/// What the driver says.
pub fn count() -> Result<i32, DriverError> {
    let mut count = 0;
    // SAFETY: `count` outlives the call.
    check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut count) })?;
    Ok(count)
}

/// The version of CUDA that the driver speaks, as major and minor. [`start`] comes first.
///
/// # Errors
/// What the driver says.
pub fn version() -> Result<(i32, i32), DriverError> {
    let mut version = 0;
    // SAFETY: `version` outlives the call.
    check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
    Ok((version / 1000, version % 1000 / 10))
}

/// A device's primary context, held as long as this lives. Memory, kernels and units share it.
#[derive(Debug)]
pub struct Context {
    device: sys::CUdevice,
    handle: sys::CUcontext,
    /// Where launches go: the default stream, or one whose launches are recorded.
    stream: Cell<sys::CUstream>,
}

impl Context {
    /// The context of device number `ordinal`. [`start`] comes first.
    ///
    /// # Errors
    /// What the driver says: no such device, or one that another process holds exclusively.
    pub fn open(ordinal: i32) -> Result<Rc<Context>, DriverError> {
        let mut device = 0;
        // SAFETY: `device` outlives the call.
        check("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, ordinal) })?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: `device` is from cuDeviceGet; the context is released once, on drop.
        check("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&mut handle, device) })?;
        let context = Rc::new(Context { device, handle, stream: Cell::new(std::ptr::null_mut()) });
        context.enter()?;
        Ok(context)
    }

    /// Makes it the context of this thread; every call that needs one comes after it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn enter(&self) -> Result<(), DriverError> {
        // SAFETY: the context is retained as long as `self` lives.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.handle) })
    }

    /// The stream that launches go into.
    pub fn stream(&self) -> sys::CUstream {
        self.stream.get()
    }

    /// Lets what `work` launches go into another stream.
    pub(super) fn within<T>(&self, stream: sys::CUstream, work: impl FnOnce() -> T) -> T {
        let before = self.stream.replace(stream);
        let done = work();
        self.stream.set(before);
        done
    }

    /// Waits for everything that was started, and reports what went wrong in it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn finish(&self) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the context is current.
        check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
    }

    /// The device's marketing name.
    ///
    /// # Errors
    /// What the driver says.
    pub fn name(&self) -> Result<String, DriverError> {
        let mut text = [0_u8; 256];
        // SAFETY: the driver writes at most the length given, a final 0 included.
        let code = unsafe { sys::cuDeviceGetName(text.as_mut_ptr().cast(), text.len() as i32, self.device) };
        check("cuDeviceGetName", code)?;
        Ok(CStr::from_bytes_until_nul(&text).map(|t| t.to_string_lossy().into_owned()).unwrap_or_default())
    }

    /// The device's UUID in the form that the vendor's tools print.
    ///
    /// # Errors
    /// What the driver says.
    pub fn uuid(&self) -> Result<String, DriverError> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: `uuid` outlives the call.
        check("cuDeviceGetUuid", unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, self.device) })?;
        Ok(printed(uuid.bytes.map(|byte| byte as u8)))
    }

    /// One of the device's attributes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn attribute(&self, which: CUdevice_attribute) -> Result<i32, DriverError> {
        let mut value = 0;
        // SAFETY: `value` outlives the call.
        check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, which, self.device) })?;
        Ok(value)
    }

    /// Bytes of memory that the device has.
    ///
    /// # Errors
    /// What the driver says.
    pub fn memory_bytes(&self) -> Result<usize, DriverError> {
        let mut bytes = 0;
        // SAFETY: `bytes` outlives the call.
        check("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, self.device) })?;
        Ok(bytes)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`; memory and kernels hold an Rc, so they are gone. An error here has no
        // reader.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// A UUID as the vendor's tools print it.
fn printed(bytes: [u8; 16]) -> String {
    let hex = |part: &[u8]| part.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parts = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]].map(hex);
    format!("GPU-{}", parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_become_the_fault_that_the_caller_must_act_on() {
        let error = |code| DriverError { call: "cuMemAlloc", code, name: "N".into(), meaning: "m".into() };
        let fault = |code| Fault::from(error(code));
        assert!(
            matches!(fault(CUresult::CUDA_ERROR_OUT_OF_MEMORY), Fault::OutOfMemory(said) if said == "cuMemAlloc: N (m)")
        );
        assert!(matches!(fault(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), Fault::DeviceLost(_)));
        assert!(matches!(fault(CUresult::CUDA_ERROR_INVALID_VALUE), Fault::Failed(_)));
    }

    #[test]
    fn a_uuid_is_printed_as_the_vendor_prints_it() {
        let bytes = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(printed(bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }
}
