//! Which backends exist? One line each.

use crate::contract::Device;

/// One way to reach devices.
pub struct Backend {
    /// Name, the part of a device selector before the first `:`.
    pub name: &'static str,
    /// One line for `rigel devices`.
    pub summary: &'static str,
    /// Selectors of the devices found here, or why there are none.
    pub find: fn() -> Result<Vec<String>, String>,
    /// Opens a device by selector.
    pub open: fn(&str) -> Result<Box<dyn Device>, String>,
}

/// Every backend, in the order in which `rigel devices` lists them.
pub const BACKENDS: &[Backend] = &[
    crate::cpu::BACKEND,
    crate::cuda::BACKEND,
    crate::metal::BACKEND,
    crate::metal::software::BACKEND,
    crate::sim::BACKEND,
];

/// Opens a device by selector (`cpu`, `cuda:0`, `sim:two-clocks`, `sim:path/to/truth.toml`); errors say what may be.
pub fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    let name = selector.split(':').next().unwrap_or_default();
    match BACKENDS.iter().find(|b| b.name == name) {
        Some(backend) => (backend.open)(selector),
        None => {
            let known: Vec<&str> = BACKENDS.iter().map(|b| b.name).collect();
            Err(format!("no backend `{name}`; known: {}", known.join(", ")))
        }
    }
}
