//! What is the device `metal-sim`?
//!
//! The kernels that ship for Apple's GPUs, run on this processor: clang 19 or newer compiles the very text against the headers in
//! `include`, which implement the part of the language that it uses, into a library; a process (`runtime`) loads it and
//! runs every GPU thread as a fiber. So it shows that the kernels are right and that every probe works from end to end. It says
//! nothing about Apple's hardware: arithmetic, layouts, rules and times are planted, and its rows are marked `simulated` for ever.
//!
//! A selector is `metal-sim`, `metal-sim:SDK` with the version of the vendor's header (26.1, 26.5, 27.0), or `metal-sim:SDK:N` for
//! device N of a family in which everything that can be planted is drawn.

pub(super) mod child;
pub mod clock;
pub mod compiler;
pub mod files;
pub mod glue;
pub mod gpu;
pub mod meters;
pub mod planted;

use super::device::MetalDevice;
use super::level::Sdk;
use crate::backends::Backend;
use crate::contract::Device;
use compiler::Clang;
use gpu::Simulated;
use planted::Planted;
use std::sync::OnceLock;

/// Name of the backend.
pub const NAME: &str = "metal-sim";

/// Seed of the family of drawn devices.
const FAMILY: u64 = 2026;

/// The backend's entry in the list.
pub const BACKEND: Backend =
    Backend { name: NAME, summary: "the Metal kernels in software, compiled by clang, marked simulated", find, open };

fn find() -> Result<Vec<String>, String> {
    clang().map(|_| vec![NAME.to_owned()])
}

fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    let (sdk, planted, name) = selected(selector)?;
    let gpu = Simulated::new(clang()?, sdk, planted)?.named(&name);
    Ok(Box::new(MetalDevice::new(gpu)))
}

/// The header, what is planted and its name, by selector.
fn selected(selector: &str) -> Result<(Sdk, Planted, String), String> {
    let unknown = || {
        let headers = Sdk::ALL.map(|sdk| sdk.to_string()).join(", ");
        format!(
            "no device `{selector}`; there are {NAME}, {NAME}:SDK and {NAME}:SDK:N with SDK one of {headers} and N a number"
        )
    };
    let mut parts = selector.split(':').skip(1);
    let sdk = match parts.next() {
        None => Sdk::V27_0,
        Some(name) => Sdk::ALL.into_iter().find(|sdk| sdk.to_string() == name).ok_or_else(unknown)?,
    };
    let drawn = parts.next().map(|index| index.parse::<u64>().map_err(|_| unknown())).transpose()?;
    if parts.next().is_some() {
        return Err(unknown());
    }
    Ok(match drawn {
        None => (sdk, Planted::PLAIN, "plain".to_owned()),
        Some(index) => (sdk, Planted::drawn(FAMILY, index), index.to_string()),
    })
}

/// The compiler, looked for once.
fn clang() -> Result<&'static Clang, String> {
    static FOUND: OnceLock<Result<Clang, String>> = OnceLock::new();
    let look = || {
        let cache = crate::cache::folder("metal").unwrap_or_else(|| std::env::temp_dir().join("rigel-metal"));
        Clang::find(cache)
    };
    FOUND.get_or_init(look).as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_name_a_header_and_a_drawn_device_and_others_are_refused_with_what_there_is() {
        assert_eq!(selected("metal-sim"), Ok((Sdk::V27_0, Planted::PLAIN, "plain".to_owned())));
        assert_eq!(selected("metal-sim:26.5"), Ok((Sdk::V26_5, Planted::PLAIN, "plain".to_owned())));
        assert_eq!(selected("metal-sim:26.1:17"), Ok((Sdk::V26_1, Planted::drawn(FAMILY, 17), "17".to_owned())));
        for bad in ["metal-sim:", "metal-sim:28", "metal-sim:27.0:x", "metal-sim:27.0:1:2", "metal-sim:27.0:-1"] {
            assert!(selected(bad).unwrap_err().contains("26.1, 26.5, 27.0"), "{bad}");
        }
    }
}
