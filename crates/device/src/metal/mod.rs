//! What does the backend `metal` do?
//!
//! It reaches Apple's GPUs through Metal. Kernels are `.metal` files beside this one ([`text`]); everything that needs no Apple
//! framework stands above the seam [`gpu::Gpu`] and is tested on any system against a device in software that runs the same
//! kernel text; what needs one is in `apple`, which exists on Apple's systems only.

pub mod alignment;
mod answered;
#[cfg(target_vendor = "apple")]
mod apple;
pub mod attention;
pub mod batch;
pub mod bound;
pub mod ceiling;
pub mod device;
pub mod diagnostic;
pub mod element;
pub mod gemm;
pub mod gpu;
pub mod layout;
pub mod level;
pub mod metallib;
pub mod meters;
pub mod modes;
pub mod operation;
pub mod place;
pub mod placed;
pub mod power;
pub mod powermetrics;
pub mod probe;
pub mod product;
pub mod rules;
pub mod scales;
pub mod software;
pub mod tails;
pub mod text;
pub mod toolchain;
pub mod traps;
pub mod triples;
pub mod unit;
pub mod usage;
pub mod xcode;

use crate::backends::Backend;
use crate::contract::Device;

/// The backend's entry in the list.
pub const BACKEND: Backend = Backend { name: "metal", summary: "Apple GPUs, through Metal", find, open };

#[cfg(target_vendor = "apple")]
fn find() -> Result<Vec<String>, String> {
    apple::find()
}

#[cfg(target_vendor = "apple")]
fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    apple::open(selector)
}

/// What is said where Metal cannot be.
#[cfg(not(target_vendor = "apple"))]
const ELSEWHERE: &str = "Metal exists on Apple's systems only; on a Mac this program finds its GPU by itself";

#[cfg(not(target_vendor = "apple"))]
fn find() -> Result<Vec<String>, String> {
    Err(ELSEWHERE.into())
}

#[cfg(not(target_vendor = "apple"))]
fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    Err(format!("no device `{selector}`: {ELSEWHERE}"))
}
