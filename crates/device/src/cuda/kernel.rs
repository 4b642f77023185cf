//! How does PTX, or machine code, become a kernel that runs, and what did the compiler say?
//!
//! The driver compiles PTX for the device at hand. What it logs is kept, word for word: with the kernel when it
//! came into being, in the refusal when it did not. Machine code comes with the log of its own compiler.

use super::driver::{Context, DriverError, check};
use super::nvrtc::Cubin;
use crate::contract::{Refusal, Rung};
use cudarc::driver::sys::{self, CUjit_option, CUresult};
use std::ffi::{CString, c_void};
use std::rc::Rc;

/// Bytes that each of the compiler's two logs may take.
const LOG_BYTES: usize = 1 << 14;

/// Threads of a block, a whole number of warps.
pub const BLOCK: u32 = 128;

/// How many blocks of how many threads, and how much dynamic shared memory each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks across, and down.
    pub grid: (u32, u32),
    /// Threads of a block.
    pub block: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Argument {
    /// An address of device memory.
    Address(u64),
    /// A number.
    Number(i32),
    /// How the copy engine sees a matrix.
    Map(sys::CUtensorMap),
}

impl Argument {
    fn pointer(&mut self) -> *mut c_void {
        match self {
            Argument::Address(address) => (address as *mut u64).cast(),
            Argument::Number(number) => (number as *mut i32).cast(),
            Argument::Map(map) => (map as *mut sys::CUtensorMap).cast(),
        }
    }
}

/// A kernel ready to launch.
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
        let ptx = CString::new(ptx).map_err(|e| refused(Rung::Compile, e.to_string()))?;
        Kernel::image(context, ptx.as_bytes_with_nul(), entry)
    }

    /// Loads machine code and finds its entry; `shared` bytes of dynamic shared memory may then be asked for.
    ///
    /// # Errors
    /// A refusal at [`Rung::Load`], with the compiler's log.
    pub fn of(context: &Rc<Context>, cubin: &Cubin, entry: &str, shared: u32) -> Result<Kernel, Refusal> {
        let mut kernel = Kernel::image(context, &cubin.bytes, entry).map_err(|e| refused(Rung::Load, e.diagnostic))?;
        kernel.log = [cubin.log.as_str(), &kernel.log].join("\n").trim().to_owned();
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to the loaded module.
        let code = unsafe { sys::cuFuncSetAttribute(kernel.function, attribute, shared as i32) };
        check("cuFuncSetAttribute", code)
            .map_err(|e| refused(Rung::Load, format!("{shared} bytes of shared memory: {e}\n{}", kernel.log)))?;
        Ok(kernel)
    }

    /// # Errors
    /// As [`Kernel::load`]. An image of text must end in 0.
    fn image(context: &Rc<Context>, image: &[u8], entry: &str) -> Result<Kernel, Refusal> {
        let entry = CString::new(entry).map_err(|e| refused(Rung::Compile, e.to_string()))?;
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
        // SAFETY: text ends in 0 and machine code knows its length; names and values are as many as stated; the logs are as long as stated and
        // outlive the call; the module is unloaded once, on drop.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
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
        let count = Argument::Number(threads.cast_signed());
        let arguments: Vec<Argument> = addresses.iter().copied().map(Argument::Address).chain([count]).collect();
        let geometry = Geometry { grid: (threads.div_ceil(BLOCK), 1), block: BLOCK, shared: 0 };
        // SAFETY: by this function's own demand.
        unsafe { self.launch(geometry, &arguments)? };
        self.context.finish()
    }

    /// Queues the kernel behind everything that was queued before.
    ///
    /// # Safety
    /// The arguments must be those that the kernel takes, in order, and it must touch no memory but what they lead to and
    /// what belongs to this context; the memory must live until [`Context::finish`].
    ///
    /// # Errors
    /// What the driver says.
    pub unsafe fn launch(&self, geometry: Geometry, arguments: &[Argument]) -> Result<(), DriverError> {
        self.context.enter()?;
        let mut arguments = arguments.to_vec();
        let mut parameters: Vec<*mut c_void> = arguments.iter_mut().map(Argument::pointer).collect();
        // SAFETY: the parameters are those of the kernel by this function's own demand, and outlive the call, which
        // copies them; the stream is the context's.
        let code = unsafe {
            sys::cuLaunchKernel(
                self.function,
                geometry.grid.0,
                geometry.grid.1,
                1,
                geometry.block,
                1,
                1,
                geometry.shared,
                self.context.stream(),
                parameters.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", code)
    }
}

fn refused(rung: Rung, diagnostic: String) -> Refusal {
    Refusal { rung, diagnostic }
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
