//! Who is this GPU, for provenance?
//!
//! What NVML would add (versions of driver and firmware, clocks) stays empty where NVML is missing; nothing is guessed.

use super::driver::{self, Context, DriverError};
use super::target::Target;
use super::{cublaslt, nvrtc, text};
use crate::contract::{Description, Kind};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::{Device, Nvml};

/// What the driver says of a device when it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Marketing name.
    pub name: String,
    /// UUID, as the vendor's tools print it.
    pub uuid: String,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Major and minor compute capability.
    pub capability: (u32, u32),
    /// Major and minor version of CUDA that the driver speaks.
    pub cuda: (i32, i32),
    /// Bytes of the second-level cache.
    pub l2_bytes: u64,
    /// Bytes of shared memory that a block may take.
    pub shared_bytes: usize,
    /// Whether memory is checked by error-correcting codes.
    pub ecc: bool,
}

impl Identity {
    /// Asks the driver.
    ///
    /// # Errors
    /// What the driver says.
    pub fn of(context: &Context) -> Result<Identity, DriverError> {
        let number = |which| context.attribute(which).map(|value| u32::try_from(value).unwrap_or_default());
        let major = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(Identity {
            name: context.name()?,
            uuid: context.uuid()?,
            multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory_bytes: context.memory_bytes()? as u64,
            capability: (major, minor),
            cuda: driver::version()?,
            l2_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
            shared_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize,
            ecc: number(Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED)? != 0,
        })
    }

    /// The target that kernels are written for.
    pub fn target(&self) -> Target {
        Target::of_device(self.capability.0, self.capability.1)
    }

    /// The description, with what NVML adds where it is there.
    pub fn describe(&self, nvml: Option<&Nvml>) -> Description {
        let managed = nvml.and_then(|nvml| nvml.device_by_uuid(self.uuid.as_str()).ok());
        let (target, (major, minor)) = (self.target(), self.capability);
        let mut features = vec![
            format!("compute-{major}.{minor}"),
            target.to_string(),
            format!("ecc-{}", if self.ecc { "on" } else { "off" }),
        ];
        features.sort();
        Description {
            id: self.uuid.clone(),
            name: self.name.clone(),
            backend: "cuda".into(),
            kind: Kind::Measured,
            cores: self.multiprocessors,
            memory_bytes: self.memory_bytes,
            driver: driver_version(nvml),
            firmware: managed
                .as_ref()
                .and_then(|d| d.vbios_version().ok())
                .map(|v| format!("VBIOS {v}"))
                .unwrap_or_default(),
            toolchain: format!(
                "{}; PTX for {target}, compiled by the driver, CUDA {}.{}; {}; host {}",
                nvrtc::version()
                    .map_or("no NVRTC".into(), |(major, minor)| format!("NVRTC {major}.{minor} for {target}")),
                self.cuda.0,
                self.cuda.1,
                cublaslt::version().map_or("no cuBLASLt".into(), |version| format!("cuBLASLt {version}")),
                env!("RIGEL_RUSTC")
            ),
            os: crate::cpu::describe::operating_system(),
            kernels: format!("{} fnv1a:{:016x}", env!("CARGO_PKG_VERSION"), text::hash(target)),
            clocks: format!("{}; L2 {} KiB", clocks(managed.as_ref()), self.l2_bytes / 1024),
            features,
        }
    }
}

/// The driver's version: from NVML, else from the kernel module's own file; empty where neither says.
fn driver_version(nvml: Option<&Nvml>) -> String {
    if let Some(version) = nvml.and_then(|nvml| nvml.sys_driver_version().ok()) {
        return version;
    }
    let module = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    module.lines().next().and_then(module_version).unwrap_or_default()
}

/// The version in the line that NVIDIA's kernel module writes of itself: the first word of digits and dots.
fn module_version(line: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    line.split_whitespace().find(is_version).map(str::to_owned)
}

/// Clocks as NVML states them; none of this is measured.
fn clocks(device: Option<&Device<'_>>) -> String {
    let Some(device) = device else { return "NVML states none".into() };
    let most = |clock, what| match device.max_clock_info(clock) {
        Ok(megahertz) => format!("{what} at most {megahertz} MHz"),
        Err(error) => format!("{what} not stated ({error})"),
    };
    [most(Clock::SM, "multiprocessors"), most(Clock::Memory, "memory")].join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_found_in_its_modules_line() {
        let line = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (someone@host)";
        assert_eq!(module_version(line).as_deref(), Some("580.95.05"));
        assert_eq!(module_version("NVRM version: none"), None);
    }

    #[test]
    fn a_description_without_nvml_is_complete_but_for_what_nvml_alone_knows() {
        let identity = Identity {
            name: "NVIDIA Planted".into(),
            uuid: "GPU-0".into(),
            multiprocessors: 132,
            memory_bytes: 1 << 37,
            capability: (9, 0),
            cuda: (13, 0),
            l2_bytes: 1 << 20,
            shared_bytes: 232_448,
            ecc: true,
        };
        let d = identity.describe(None);
        assert_eq!((d.cores, d.id.as_str(), d.backend.as_str(), d.kind), (132, "GPU-0", "cuda", Kind::Measured));
        assert!(d.firmware.is_empty() && d.features.is_sorted() && d.features.contains(&"sm_90".to_owned()));
        assert!(d.toolchain.contains("sm_90") && d.toolchain.contains("CUDA 13.0") && d.kernels.contains("fnv1a:"));
    }
}
