//! The device contract, its backends, and power meters. The only crate in which `unsafe` may stand.
//!
//! Read [`contract`] first: it says what each call promises, who validates what, and which errors exist.

pub mod backends;
pub mod by;
mod cache;
pub mod contract;
pub mod cpu;
pub mod cuda;
pub mod metal;
pub mod meters;
pub mod sim;
pub mod unit;

pub use contract::*;
