//! Which libraries of the vendor are here, and what is lost without them?
//!
//! Nothing of the vendor is linked: its libraries are looked for when they are first needed, so one binary serves
//! machines with and without a GPU. The bindings end the process when they are asked for a library that is not there,
//! so every entry of this backend asks here first.

use cudarc::driver::sys;
use nvml_wrapper::Nvml;
use std::ffi::OsStr;

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
