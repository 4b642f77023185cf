//! Which libraries of the vendor are here, and what is lost without them?
//!
//! Nothing of the vendor is linked: its libraries are looked for when they are first needed, so one binary serves
//! machines with and without a GPU. The bindings end the process when they are asked for a library that is not there,
//! so every entry of this backend asks here first.

use cudarc::driver::sys;
use nvml_wrapper::Nvml;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names under which the library of NVML is looked for, in this order.
pub const NVML_NAMES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "nvml.dll"];

/// Whether the driver's library can be loaded; else what was tried, what that costs and what helps.
pub fn driver() -> Result<(), String> {
    // SAFETY: the call only tries to load libraries by name; loading the vendor's runs its initialisers and nothing
    // else.
    if unsafe { sys::is_culib_present() } {
        return Ok(());
    }
    let (names, more) = tried();
    Err(format!(
        "no NVIDIA driver: neither {names} nor {more} other names could be loaded; without it this backend has no device, \
         and everything else works; install NVIDIA's driver (580 or newer for CUDA 13), or start the container with the \
         GPU's libraries passed in, and see that the loader finds them (LD_LIBRARY_PATH)"
    ))
}

/// The driver's usual names, and how many others were tried.
fn tried() -> (String, usize) {
    let usual = ["libcuda.so", "libcuda.so.1"];
    let all = ["cuda", "nvcuda"].iter().flat_map(|stem| cudarc::get_lib_name_candidates(stem));
    (usual.join(" nor "), all.filter(|name| !usual.contains(&name.as_str())).count())
}

/// NVML, the driver's library of counters; else what was tried, what that costs and what helps.
pub fn nvml() -> Result<Nvml, String> {
    let mut said = Vec::new();
    for name in NVML_NAMES {
        match Nvml::builder().lib_path(OsStr::new(name)).init() {
            Ok(nvml) => return Ok(nvml),
            Err(error) => said.push(format!("{name}: {error}")),
        }
    }
    Err(format!(
        "NVML cannot be used ({}); without it there is no reading of energy, power or clock; it comes with NVIDIA's driver",
        said.join("; ")
    ))
}

/// NVRTC, which compiles CUDA C++; else what was tried, what that costs and what helps.
///
/// # Errors
/// That sentence.
pub fn nvrtc() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    // SAFETY: the call only tries to load libraries by name, as for the driver.
    let found = FOUND.get_or_init(|| found("nvrtc", || unsafe { cudarc::nvrtc::sys::is_culib_present() }));
    found.clone().map_err(|tried| {
        format!(
            "no NVRTC ({tried}); without it no kernel in CUDA C++ can be compiled, so there is no path but cublaslt, and no unit of wgmma; \
             units of mma.sync and meters work; install CUDA 13's libnvrtc, or the PyPI package nvidia-cuda-nvrtc, and name its folder in {FOLDERS}"
        )
    })
}

/// cuBLASLt, NVIDIA's library of products; else what was tried, what that costs and what helps.
///
/// # Errors
/// That sentence.
pub fn cublaslt() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    // SAFETY: as for NVRTC.
    let found = FOUND.get_or_init(|| found("cublasLt", || unsafe { cudarc::cublaslt::sys::is_culib_present() }));
    found.clone().map_err(|tried| {
        format!(
            "no cuBLASLt ({tried}); without it there is no path cublaslt, the vendor's best, to compare with; everything else works; \
             install CUDA 13's libcublasLt, or the PyPI package nvidia-cublas, and name its folder in {FOLDERS}"
        )
    })
}

/// The variable that names folders of the vendor's libraries, as PATH names folders.
pub const FOLDERS: &str = "RIGEL_CUDA_LIBRARIES";

/// Folders where the vendor's installers put libraries that the loader does not look into.
const USUAL: [&str; 3] = ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/opt/cuda/lib64"];

/// Every NVRTC that can be found: the loader's own by its names, then those of the folders, in their order.
pub fn compilers() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(PathBuf::from).to_vec();
    for folder in folders() {
        let names =
            std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.file_name());
        let fits = |name: &std::ffi::OsString| name.to_str().is_some_and(|name| name.starts_with("libnvrtc.so"));
        let mut found: Vec<PathBuf> = names.filter(fits).map(|name| folder.join(name)).collect();
        found.sort();
        files.extend(found);
    }
    files
}

/// Loads what a compiler loads by name itself, from the folder that it lies in.
pub fn beside(compiler: &Path) {
    let folder = compiler.parent().unwrap_or_else(|| Path::new(""));
    let names = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.file_name());
    let fits = |name: &std::ffi::OsString| name.to_str().is_some_and(|name| name.starts_with("libnvrtc-builtins.so"));
    for name in names.filter(fits) {
        // SAFETY: loading the vendor's library runs its initialisers and nothing else.
        if let Ok(library) = unsafe { libloading::Library::new(folder.join(name)) } {
            // It stays loaded as long as the process: the compiler calls it until the end.
            std::mem::forget(library);
        }
    }
}

/// The folders that are looked into: those of the variable, then the usual ones.
fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os(FOLDERS).map(|folders| std::env::split_paths(&folders).collect()).unwrap_or_default();
    // What lies in `stubs` is linked against and does nothing.
    let real = |folder: &PathBuf| !folder.ends_with("stubs");
    [named, USUAL.map(PathBuf::from).to_vec()].concat().into_iter().filter(real).collect()
}

/// Whether a library is present, if need be after it was loaded from one of the folders: the loader then knows it by name.
fn found(stem: &str, present: impl Fn() -> bool) -> Result<(), String> {
    let folders = folders();
    if let Some(folder) = folders.iter().find(|folder| newest(folder, stem).is_some()) {
        // What NVRTC loads by name itself comes first.
        for file in [format!("{stem}-builtins"), stem.to_owned()].iter().filter_map(|stem| newest(folder, stem)) {
            // SAFETY: loading the vendor's library runs its initialisers and nothing else.
            if let Ok(library) = unsafe { libloading::Library::new(&file) } {
                // It stays loaded as long as the process: its functions are called until the end.
                std::mem::forget(library);
            }
        }
    }
    if present() {
        return Ok(());
    }
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(format!("lib{stem}.so.13, its older names, {FOLDERS} and {} were tried", folders.join(", ")))
}

/// The library of that stem in a folder, of the newest version by name.
fn newest(folder: &Path, stem: &str) -> Option<PathBuf> {
    let names = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
    let fits = |name: &std::ffi::OsString| name.to_str().is_some_and(|name| name.starts_with(&format!("lib{stem}.so")));
    names.filter(fits).max().map(|name| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_the_names_that_were_tried() {
        if let Err(said) = driver() {
            for word in ["libcuda.so.1", "install", "everything else works"] {
                assert!(said.contains(word), "{said}");
            }
        }
        if let Err(said) = nvml() {
            assert!(NVML_NAMES.iter().all(|name| said.contains(name)) && said.contains("energy"), "{said}");
        }
    }
}
