//! How does PTX become a kernel that runs, and what did the compiler say?
//!
//! The driver compiles the text for the device at hand. What it logs is kept, word for word: with the kernel when it
//! came into being, in the refusal when it did not.

use super::driver::{Context, DriverError, check};
use crate::contract::{Refusal, Rung};
use cudarc::driver::sys::{self, CUjit_option, CUresult};
use std::ffi::{CString, c_void};
use std::rc::Rc;

/// Bytes that each of the compiler's two logs may take.
const LOG_BYTES: usize = 1 << 14;

/// Threads of a block, a whole number of warps.
pub const BLOCK: u32 = 128;

/// A kernel ready to launch. Its parameters are addresses of device memory, then one 32-bit count.
#[derive(Debug)]
pub struct Kernel {
    context: Rc<Context>,
    module: sys::CUmodule,
    function: sys::CUfunction,
    log: String,
}

impl Kernel {
    /// Compiles the text and finds its entry.
    ///
    /// # Errors
    /// A refusal with the driver's code and the compiler's log as it stands: at [`Rung::Compile`] for text that is
    /// refused, at [`Rung::Load`] for everything else.
    pub fn load(context: &Rc<Context>, ptx: &str, entry: &str) -> Result<Kernel, Refusal> {
        let refused = |rung, diagnostic| Refusal { rung, diagnostic };
        let text = |text: &str| CString::new(text).map_err(|e| refused(Rung::Compile, e.to_string()));
        let (ptx, entry) = (text(ptx)?, text(entry)?);
        context.enter().map_err(|e| refused(Rung::Load, e.to_string()))?;
        let (mut info, mut errors) = (vec![0_u8; LOG_BYTES], vec![0_u8; LOG_BYTES]);
        let number = std::ptr::without_provenance_mut::<c_void>;
        let mut names = [
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_LOG_VERBOSE,
        ];
        let mut values =
            [info.as_mut_ptr().cast(), number(LOG_BYTES), errors.as_mut_ptr().cast(), number(LOG_BYTES), number(1)];
        let mut module = std::ptr::null_mut();
        // SAFETY: the text ends in 0; names and values are as many as stated; the logs are as long as stated and
        // outlive the call; the module is unloaded once, on drop.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                ptx.as_ptr().cast(),
                names.len() as u32,
                names.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let log = [written(&errors), written(&info)].join("\n").trim().to_owned();
        if let Err(error) = check("cuModuleLoadDataEx", code) {
            return Err(refused(rung(code), format!("{error}\n{log}").trim().to_owned()));
        }
        let mut kernel = Kernel { context: Rc::clone(context), module, function: std::ptr::null_mut(), log };
        // SAFETY: the module is loaded; the name ends in 0.
        let code = unsafe { sys::cuModuleGetFunction(&mut kernel.function, module, entry.as_ptr()) };
        check("cuModuleGetFunction", code).map_err(|e| refused(Rung::Load, format!("{e}\n{}", kernel.log)))?;
        Ok(kernel)
    }

    /// What the compiler logged; empty when it had nothing to say.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Runs `threads` threads and waits for them.
    ///
    /// # Safety
    /// The kernel must take exactly `addresses.len()` 64-bit parameters and then the number of threads in 32 bits, and
    /// touch no memory but what lies at these addresses and belongs to this context.
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn run(&self, addresses: &[u64], threads: u32) -> Result<(), DriverError> {
        self.context.enter()?;
        let (mut addresses, mut count) = (addresses.to_vec(), threads);
        let mut parameters: Vec<*mut c_void> = addresses.iter_mut().map(|a| (a as *mut u64).cast()).collect();
        parameters.push((&mut count as *mut u32).cast());
        // SAFETY: the parameters are those of the kernel by this function's own demand, and outlive the call, which
        // copies them; no shared memory, default stream.
        let code = unsafe {
            sys::cuLaunchKernel(
                self.function,
                threads.div_ceil(BLOCK),
                1,
                1,
                BLOCK,
                1,
                1,
                0,
                std::ptr::null_mut(),
                parameters.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", code)?;
        self.context.finish()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: loaded once, unloaded once, in its own context. After a lost device this fails, and nobody can
            // mend it.
            let _ = unsafe { sys::cuModuleUnload(self.module) };
        }
    }
}

/// The text before the first 0 of a log.
fn written(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

/// Where a module was refused: by the compiler, or later.
fn rung(code: CUresult) -> Rung {
    match code {
        CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND => Rung::Compile,
        _ => Rung::Load,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_ends_at_its_first_zero() {
        assert_eq!(written(b"ptxas fatal\n\0rest"), "ptxas fatal");
        assert_eq!(written(b"full"), "full");
        assert_eq!(written(b"\0"), "");
    }
}
