//! How does CUDA C++ become machine code, and what did the compiler say?
//!
//! NVRTC is loaded when it is first needed. Its log, registers and spills included, is kept with the machine code. Two warnings end
//! a compilation, because the kernel would no longer be what its name says: C7510 (wgmma is serialised) and C7508 (registers are not
//! moved between warpgroups). What was compiled once is found again on disk ([`super::cache`]).

use super::source::Source;
use super::{cache, libraries};
use crate::contract::{Refusal, Rung};
use cudarc::nvrtc::sys::{self, nvrtcResult};
use std::ffi::{CStr, CString, c_char};

/// Machine code with the compiler's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cubin {
    /// The code.
    pub bytes: Vec<u8>,
    /// What the compiler said of it.
    pub log: String,
}

impl Cubin {
    /// FNV-1a, 64 bits, of the code. Identity, not authenticity.
    pub fn hash(&self) -> u64 {
        super::text::fnv1a(self.bytes.iter().copied())
    }
}

/// Warnings that fail a kernel, with what they mean.
const FATAL: [(&str, &str); 2] =
    [("C7510", "the compiler serialises wgmma"), ("C7508", "the compiler ignores the moving of registers")];

/// The version of NVRTC, as major and minor.
///
/// # Errors
/// What is missing, what that costs and what helps.
pub fn version() -> Result<(i32, i32), String> {
    libraries::nvrtc()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both numbers outlive the call.
    let code = unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    if code == nvrtcResult::NVRTC_SUCCESS { Ok((major, minor)) } else { Err(format!("nvrtcVersion: {code:?}")) }
}

/// Compiles a kernel for an architecture (`sm_90a`), or finds it where it was compiled before.
///
/// # Errors
/// A refusal at [`Rung::Compile`] with the compiler's log, word for word.
pub fn compile(source: &Source, architecture: &str) -> Result<Cubin, Refusal> {
    let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
    let (major, minor) = version().map_err(refused)?;
    let key = format!("NVRTC {major}.{minor}\n{architecture}\n{}\n{}", OPTIONS.join(" "), source.text);
    if let Some(cubin) = cache::read(&key) {
        return Ok(cubin);
    }
    let cubin =
        fresh(source, architecture).map_err(|said| refused(format!("{} for {architecture}: {said}", source.name)))?;
    if let Some((code, meaning)) = fatal(&cubin.log) {
        return Err(refused(format!("{} for {architecture}: {code}: {meaning}: {}", source.name, cubin.log)));
    }
    cache::write(&key, &cubin);
    Ok(cubin)
}

/// Options of every compilation beside the architecture: the assembler reports registers and spills.
const OPTIONS: [&str; 3] = ["--std=c++17", "--ptxas-options=-v", "-default-device"];

/// The options of a compilation for an architecture.
pub(super) fn options(architecture: &str) -> Result<Vec<CString>, String> {
    let all = OPTIONS.iter().map(|option| (*option).to_owned()).chain([format!("--gpu-architecture={architecture}")]);
    all.map(|option| CString::new(option).map_err(|e| e.to_string())).collect()
}

/// The warning in a log that fails a kernel, if there is one, with what it means.
pub(super) fn fatal(log: &str) -> Option<(&'static str, &'static str)> {
    FATAL.iter().find(|(code, _)| log.contains(code)).copied()
}

fn fresh(source: &Source, architecture: &str) -> Result<Cubin, String> {
    let text = CString::new(source.text.as_str()).map_err(|e| e.to_string())?;
    let name = CString::new(source.name.as_str()).map_err(|e| e.to_string())?;
    let mut program = Program(std::ptr::null_mut());
    // SAFETY: text and name end in 0 and outlive the call; there are no headers.
    let code = unsafe {
        let no = std::ptr::null();
        sys::nvrtcCreateProgram(&mut program.0, text.as_ptr(), name.as_ptr(), 0, no, no)
    };
    check("nvrtcCreateProgram", code)?;
    let options = options(architecture)?;
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: the program exists; the options are as many as stated and outlive the call.
    let compiled = unsafe { sys::nvrtcCompileProgram(program.0, pointers.len() as i32, pointers.as_ptr()) };
    // SAFETY: the size is asked first, and the buffer is as long.
    let log = unsafe {
        bytes(|size| sys::nvrtcGetProgramLogSize(program.0, size), |to| sys::nvrtcGetProgramLog(program.0, to.cast()))
    };
    let log = log.map(|log| String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned())?;
    check("nvrtcCompileProgram", compiled).map_err(|said| format!("{said}\n{log}"))?;
    // SAFETY: as above.
    let bytes = unsafe {
        bytes(|size| sys::nvrtcGetCUBINSize(program.0, size), |to| sys::nvrtcGetCUBIN(program.0, to.cast()))
    }?;
    Ok(Cubin { bytes, log })
}

struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: created once, destroyed once. An error here has no reader.
            let _ = unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
        }
    }
}

/// # Safety
/// `fill` writes at most as many bytes as `size` gave.
unsafe fn bytes(
    size: impl Fn(*mut usize) -> nvrtcResult,
    fill: impl Fn(*mut u8) -> nvrtcResult,
) -> Result<Vec<u8>, String> {
    let mut length = 0;
    check("size", size(&mut length))?;
    let mut bytes = vec![0; length];
    check("content", fill(bytes.as_mut_ptr()))?;
    Ok(bytes)
}

fn check(call: &str, code: nvrtcResult) -> Result<(), String> {
    if code == nvrtcResult::NVRTC_SUCCESS {
        return Ok(());
    }
    // SAFETY: the function returns a string that lives as long as the library, or nothing.
    let said = unsafe { sys::nvrtcGetErrorString(code) };
    if said.is_null() {
        return Err(format!("{call}: {code:?}"));
    }
    // SAFETY: as above.
    Err(format!("{call}: {}", unsafe { CStr::from_ptr(said) }.to_string_lossy()))
}
