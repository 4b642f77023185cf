//! Who is this GPU, and which system runs it?

use super::Raw;
use crate::contract::{Description, Kind};
use crate::metal::level::Sdk;
use crate::metal::text::digest;
use objc2_core_foundation::{CFDictionary, CFNumber, CFRetained, CFString};
use objc2_foundation::NSProcessInfo;
use objc2_io_kit::{IOObjectRelease, IORegistryEntryCreateCFProperty, IOServiceGetMatchingService, IOServiceMatching};
use objc2_metal::{MTLDevice, MTLGPUFamily};

/// Families that are asked for, newest first; later ones than the bindings know by their number.
const FAMILIES: [(isize, &str); 8] = [
    (1011, "Apple11"),
    (1010, "Apple10"),
    (1009, "Apple9"),
    (1008, "Apple8"),
    (1007, "Apple7"),
    (5002, "Metal4"),
    (5001, "Metal3"),
    (3003, "Common3"),
];

/// The system's version: major, minor and patch.
pub fn system() -> (u32, u32, u32) {
    let version = NSProcessInfo::processInfo().operatingSystemVersion();
    let part = |x: isize| u32::try_from(x).unwrap_or(0);
    (part(version.majorVersion), part(version.minorVersion), part(version.patchVersion))
}

/// The newest known header of the vendor that this system has.
pub fn sdk() -> Option<Sdk> {
    let (major, minor, _) = system();
    Sdk::of_system(major, minor)
}

/// Everything that provenance needs.
pub fn describe(device: &Raw) -> Description {
    let (major, minor, patch) = system();
    let families = FAMILIES.iter().filter(|(raw, _)| device.supportsFamily(MTLGPUFamily(*raw)));
    let mut features: Vec<String> = families.map(|(_, name)| (*name).to_owned()).collect();
    if sysctl(c"kern.hv_vmm_present").is_some_and(|x| x == 1) {
        features.push("virtual machine: no energy, no clocks".into());
    }
    features.sort();
    Description {
        id: format!("{:016x}", device.registryID()),
        name: device.name().to_string(),
        backend: "metal".into(),
        kind: Kind::Measured,
        cores: cores().unwrap_or(0),
        memory_bytes: device.recommendedMaxWorkingSetSize(),
        driver: device.architecture().name().to_string(),
        firmware: String::new(),
        toolchain: sdk().map_or("no header of Metal Performance Primitives".into(), |sdk| {
            format!("header {sdk} of the running system, language {} asked for", sdk.language())
        }),
        os: format!("macOS {major}.{minor}.{patch} ({})", NSProcessInfo::processInfo().operatingSystemVersionString()),
        kernels: format!("{:016x}", digest()),
        clocks: "unknown: no call tells them; the states of the power preset name theirs".into(),
        features,
    }
}

/// GPU cores, as the driver says.
fn cores() -> Option<u32> {
    // SAFETY: the class name ends with a zero byte; the dictionary that comes back is ours to give on.
    let matching = unsafe { IOServiceMatching(c"AGXAccelerator".as_ptr()) }?;
    // SAFETY: a mutable dictionary is a dictionary.
    let matching: CFRetained<CFDictionary> = unsafe { CFRetained::cast_unchecked(matching) };
    // SAFETY: the call consumes the dictionary; 0 asks for the default port.
    let service = unsafe { IOServiceGetMatchingService(0, Some(matching)) };
    if service == 0 {
        return None;
    }
    let key = CFString::from_static_str("gpu-core-count");
    // SAFETY: the service is held until it is released below; the value that comes back is ours.
    let value = unsafe { IORegistryEntryCreateCFProperty(service, Some(&key), None, 0) };
    IOObjectRelease(service);
    value?.downcast_ref::<CFNumber>()?.as_i64().and_then(|cores| u32::try_from(cores).ok())
}

fn sysctl(name: &std::ffi::CStr) -> Option<i32> {
    unsafe extern "C" {
        fn sysctlbyname(
            name: *const std::ffi::c_char,
            old: *mut std::ffi::c_void,
            size: *mut usize,
            new: *mut std::ffi::c_void,
            new_size: usize,
        ) -> std::ffi::c_int;
    }
    let (mut value, mut size) = (0_i32, size_of::<i32>());
    // SAFETY: the value has `size` bytes, nothing is written to the system, and the name ends with a zero byte.
    let code = unsafe { sysctlbyname(name.as_ptr(), (&raw mut value).cast(), &raw mut size, std::ptr::null_mut(), 0) };
    (code == 0).then_some(value)
}
