//! How do the tests run kernels that were written for Apple's GPUs?
//!
//! On the device in software that `rigel_device::metal::software` is. Without clang 19 or newer the tests say that they were skipped.
#![allow(dead_code)]

pub mod lint;
pub mod products;
pub mod refusals;

use rigel_device::metal::level::Sdk;
use rigel_device::metal::software::compiler::Clang;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::Planted;
use std::path::Path;
use std::sync::OnceLock;

/// The compiler, or a line that says what was skipped.
pub fn clang_or_skip() -> Option<&'static Clang> {
    static FOUND: OnceLock<Result<Clang, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| Clang::find(Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal")));
    found.as_ref().map_err(|why| println!("skipped, no kernel was compiled: {why}")).ok()
}

/// A device in software.
pub fn simulated(clang: &'static Clang, sdk: Sdk, planted: Planted) -> Simulated {
    Simulated::new(clang, sdk, planted).unwrap_or_else(|why| panic!("{why}"))
}
