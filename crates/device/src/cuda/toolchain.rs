//! Which versions of NVRTC are at hand, for which targets do they compile, and into which version of PTX?
//!
//! A toolchain is named `nvrtc-13.0:sm_90a` (machine code), `nvrtc-13.0:compute_90a` (PTX as the compiler writes it, compiled by the
//! driver) or `nvrtc-13.0:compute_90a:ptx-8.0` (the same with another version written at its head). Every library that can be found takes
//! part, one of each version; each is called by its own addresses, so several serve in one process.

use super::libraries;
use super::nvrtc::Cubin;
use super::source::Source;
use super::target::{PtxVersion, Target};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::{fmt, str::FromStr};

/// A version of NVRTC: major and minor.
pub type Version = (u8, u8);

/// Targets that are asked of every compiler: Ampere, Ada, Hopper with and without its own features, and two of Blackwell.
pub const TARGETS: [&str; 6] = ["80", "89", "90", "90a", "100a", "120a"];

/// Versions that are written at the head of PTX: of Ampere, of Ada, of Hopper, two later ones, and one that no compiler knows.
const PTX: [PtxVersion; 6] =
    [PtxVersion(7, 0), PtxVersion(7, 8), PtxVersion(8, 0), PtxVersion(8, 8), PtxVersion(9, 0), PtxVersion(99, 9)];

/// What a compiler makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// Machine code.
    Code,
    /// PTX, which the driver compiles; with another version at its head where one is named.
    Ptx(Option<PtxVersion>),
}

/// A compiler, a target and what is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Version of NVRTC.
    pub compiler: Version,
    /// Target without its prefix: `90a`.
    pub target: String,
    /// What is made.
    pub into: Into,
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compiler;
        let prefix = if self.into == Into::Code { "sm" } else { "compute" };
        write!(f, "nvrtc-{major}.{minor}:{prefix}_{}", self.target)?;
        match self.into {
            Into::Ptx(Some(version)) => write!(f, ":ptx-{version}"),
            _ => Ok(()),
        }
    }
}

/// A text that names no toolchain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no toolchain of this backend: write nvrtc-13.0:sm_90a, nvrtc-13.0:compute_90a, or nvrtc-13.0:compute_90a:ptx-8.0"
)]
pub struct BadToolchain(pub String);

impl FromStr for Toolchain {
    type Err = BadToolchain;
    fn from_str(text: &str) -> Result<Toolchain, BadToolchain> {
        let version = |text: &str| {
            let (major, minor) = text.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        let read = || {
            let mut parts = text.split(':');
            let compiler = version(parts.next()?.strip_prefix("nvrtc-")?)?;
            let (kind, target) = parts.next()?.split_once('_')?;
            let ptx = match parts.next() {
                None => None,
                Some(part) => Some(version(part.strip_prefix("ptx-")?).map(|(major, minor)| PtxVersion(major, minor))?),
            };
            let into = match (kind, ptx) {
                ("sm", None) => Into::Code,
                ("compute", ptx) => Into::Ptx(ptx),
                _ => return None,
            };
            let known = TARGETS.contains(&target) && parts.next().is_none();
            known.then(|| Toolchain { compiler, target: target.to_owned(), into })
        };
        read().ok_or_else(|| BadToolchain(text.to_owned()))
    }
}

/// Every toolchain that is asked on a device of this target: each compiler, target and kind; and, of the newest compiler and the
/// device's own target, other versions of PTX.
pub fn all(device: Target) -> Vec<Toolchain> {
    let compilers: Vec<Version> = compilers().iter().map(|compiler| compiler.version).collect();
    let mut all = Vec::new();
    for &compiler in &compilers {
        for target in TARGETS {
            for into in [Into::Code, Into::Ptx(None)] {
                all.push(Toolchain { compiler, target: target.to_owned(), into });
            }
        }
    }
    let own = TARGETS.iter().rev().find(|target| {
        let number: u32 = target.trim_end_matches('a').parse().unwrap_or(u32::MAX);
        number == device.0
    });
    if let (Some(&compiler), Some(target)) = (compilers.first(), own) {
        all.extend(PTX.map(|ptx| Toolchain { compiler, target: (*target).to_owned(), into: Into::Ptx(Some(ptx)) }));
    }
    all
}

/// What a toolchain made of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Machine code, or PTX that ends in 0, with the compiler's log.
    pub cubin: Cubin,
    /// What took effect: version and target at the head of the PTX.
    pub took: String,
}

/// Compiles a kernel by a toolchain, whatever targets it declares.
///
/// # Errors
/// The compiler's code and its log, word for word, or that there is no such compiler.
pub fn compile(source: &Source, toolchain: &Toolchain) -> Result<Compiled, String> {
    let known = compilers();
    let (major, minor) = toolchain.compiler;
    let compiler = known
        .iter()
        .find(|compiler| compiler.version == toolchain.compiler)
        .ok_or_else(|| format!("no NVRTC {major}.{minor} here; name its folder in {}", libraries::FOLDERS))?;
    let prefix = if toolchain.into == Into::Code { "sm" } else { "compute" };
    let made = compiler.compile(source, &format!("{prefix}_{}", toolchain.target))?;
    if let Some((code, meaning)) = super::nvrtc::fatal(&made.log) {
        return Err(format!("{code}: {meaning}: {}", made.log));
    }
    let ptx = String::from_utf8_lossy(&made.ptx).trim_end_matches('\0').to_owned();
    let directive = |name: &str| {
        let line = ptx.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default();
        line.trim().to_owned()
    };
    let (version, target) = (directive(".version"), directive(".target"));
    let head = format!("NVRTC {major}.{minor}, PTX {version} for {target}");
    let log = made.log;
    Ok(match toolchain.into {
        Into::Code => {
            Compiled { cubin: Cubin { bytes: made.code, log }, took: format!("{head}, machine code by NVRTC") }
        }
        Into::Ptx(asked) => {
            let text = match asked {
                None => ptx,
                Some(asked) => ptx.replacen(&format!(".version {version}"), &format!(".version {asked}"), 1),
            };
            let took = match asked {
                None => format!("{head}, machine code by the driver"),
                Some(asked) => format!("{head}, said to be PTX {asked}, machine code by the driver"),
            };
            let bytes = text.bytes().chain([0]).collect();
            Compiled { cubin: Cubin { bytes, log }, took }
        }
    })
}

/// One library of the compiler, by its own addresses.
pub struct Compiler {
    /// What it says of itself.
    pub version: Version,
    library: Library,
}

/// What one compilation leaves.
struct Made {
    ptx: Vec<u8>,
    code: Vec<u8>,
    log: String,
}

/// Every compiler that can be found, the newest first, one of each version. They stay loaded as long as the process.
pub fn compilers() -> &'static [Compiler] {
    static FOUND: OnceLock<Vec<Compiler>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found: Vec<Compiler> = Vec::new();
        for file in libraries::compilers() {
            libraries::beside(&file);
            // SAFETY: loading the vendor's library runs its initialisers and nothing else.
            let Ok(library) = (unsafe { Library::new(&file) }) else { continue };
            let (mut major, mut minor): (c_int, c_int) = (0, 0);
            // SAFETY: the type is that of the function in NVIDIA's nvrtc.h; both numbers outlive the call.
            let code = unsafe {
                let Ok(version) =
                    library.get::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(b"nvrtcVersion\0")
                else {
                    continue;
                };
                version(&mut major, &mut minor)
            };
            let (Ok(major), Ok(minor)) = (u8::try_from(major), u8::try_from(minor)) else { continue };
            if code == 0 && found.iter().all(|other| other.version != (major, minor)) {
                found.push(Compiler { version: (major, minor), library });
            }
        }
        found.sort_by_key(|compiler| std::cmp::Reverse(compiler.version));
        found
    })
}

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Content = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Words = unsafe extern "C" fn(c_int) -> *const c_char;

/// A program of one library, destroyed once.
struct Open<'c> {
    compiler: &'c Compiler,
    program: Program,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Ok(destroy) = self.compiler.function::<Destroy>(c"nvrtcDestroyProgram") {
            // SAFETY: created once by the same library, destroyed once. An error here has no reader.
            let _ = unsafe { destroy(&mut self.program) };
        }
    }
}

impl Compiler {
    fn function<T>(&self, name: &CStr) -> Result<libloading::Symbol<'_, T>, String> {
        // SAFETY: the caller names the type that NVIDIA's nvrtc.h declares of this function.
        unsafe { self.library.get::<T>(name.to_bytes_with_nul()) }.map_err(|e| e.to_string())
    }

    fn check(&self, call: &str, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let words = self.function::<Words>(c"nvrtcGetErrorString")?;
        // SAFETY: the function returns a string that lives as long as the library, or nothing.
        let said = unsafe { words(code) };
        if said.is_null() {
            return Err(format!("{call}: {code}"));
        }
        // SAFETY: as above.
        Err(format!("{call}: {}", unsafe { CStr::from_ptr(said) }.to_string_lossy()))
    }

    fn content(&self, program: Program, size: &CStr, content: &CStr) -> Result<Vec<u8>, String> {
        let (of_size, of_content) = (self.function::<Size>(size)?, self.function::<Content>(content)?);
        let mut length = 0;
        // SAFETY: the program exists; the number outlives the call.
        self.check(&size.to_string_lossy(), unsafe { of_size(program, &mut length) })?;
        let mut bytes = vec![0_u8; length];
        // SAFETY: the buffer is as long as the library said.
        self.check(&content.to_string_lossy(), unsafe { of_content(program, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    fn compile(&self, source: &Source, architecture: &str) -> Result<Made, String> {
        let text = CString::new(source.text.as_str()).map_err(|e| e.to_string())?;
        let name = CString::new(source.name.as_str()).map_err(|e| e.to_string())?;
        let mut open = Open { compiler: self, program: std::ptr::null_mut() };
        let create = self.function::<Create>(c"nvrtcCreateProgram")?;
        let no = std::ptr::null();
        // SAFETY: text and name end in 0 and outlive the call; there are no headers.
        let code = unsafe { create(&mut open.program, text.as_ptr(), name.as_ptr(), 0, no, no) };
        self.check("nvrtcCreateProgram", code)?;
        let options = super::nvrtc::options(architecture)?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let compile = self.function::<Compile>(c"nvrtcCompileProgram")?;
        // SAFETY: the program exists; the options are as many as stated and outlive the call.
        let compiled = unsafe { compile(open.program, pointers.len() as c_int, pointers.as_ptr()) };
        let log = self.content(open.program, c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog")?;
        let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned();
        self.check("nvrtcCompileProgram", compiled).map_err(|said| format!("{said}\n{log}"))?;
        let ptx = self.content(open.program, c"nvrtcGetPTXSize", c"nvrtcGetPTX")?;
        let code = match architecture.starts_with("sm_") {
            true => self.content(open.program, c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN")?,
            false => Vec::new(),
        };
        Ok(Made { ptx, code, log })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_others_are_refused() {
        for target in TARGETS {
            for into in [Into::Code, Into::Ptx(None), Into::Ptx(Some(PtxVersion(8, 0)))] {
                let toolchain = Toolchain { compiler: (12, 9), target: target.to_owned(), into };
                assert_eq!(toolchain.to_string().parse(), Ok(toolchain));
            }
        }
        for bad in [
            "",
            "nvrtc-13.0",
            "nvrtc-13:sm_90",
            "nvrtc-13.0:sm_91",
            "nvrtc-13.0:sm_90:ptx-8.0",
            "nvrtc-13.0:compute_90:8.0",
            "nvrtc-13.0:sm_90a:",
        ] {
            assert_eq!(bad.parse::<Toolchain>(), Err(BadToolchain(bad.into())), "{bad}");
        }
    }
}
