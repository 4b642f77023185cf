//! What does `multiply` make of a destination's old content, in a tensor and in a cooperative tensor?
//!
//! The vendor's header says in one place that it adds and shows in examples that it does not. The probe multiplies zeros into
//! a destination full of ones: ones afterwards mean that it adds, zeros that it overwrites.

use super::element::Element::{Float, Half};
use super::gpu::{Gpu, Launch};
use super::level::Sdk;
use super::operation::{Mode, Operation, Scope};
use super::place::Placed;
use super::product::{Path, Product, whole};
use super::text::{Kernel, Reach};
use super::triples::Types;
use crate::contract::Fault;
use rigel_numerics::Shape;

/// What became of old content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old {
    /// It is gone.
    Overwritten,
    /// The product was added to it.
    Added,
    /// Neither everywhere.
    Mixed,
}

impl std::fmt::Display for Old {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Old::Overwritten => "overwrites",
            Old::Added => "adds",
            Old::Mixed => "neither everywhere",
        })
    }
}

/// What a mode does on both kinds of destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semantics {
    /// In a tensor in device memory.
    pub tensor: Old,
    /// In a cooperative tensor.
    pub cooperative: Old,
}

/// A tile that every header takes, over one SIMD-group. Its rows are multiples of 128 bytes, so that no rule on alignment that is
/// known of stands in the way.
const TILE: Shape = Shape { m: 16, n: 64, k: 64 };

fn operation(mode: Mode) -> Operation {
    let types = Types::new(Half, Half, Float);
    let (m, n, step) = (TILE.m as u32, TILE.n as u32, TILE.k as u32);
    Operation { step, scope: Scope::SimdGroups(1), mode, ..Operation::new(types, m, n) }
}

/// What a mode does here.
///
/// # Errors
/// What the compiler or the device says.
pub fn semantics(gpu: &mut dyn Gpu, mode: Mode) -> Result<Semantics, String> {
    Ok(Semantics { tensor: tensor(gpu, mode)?, cooperative: cooperative(gpu, mode)? })
}

fn tensor(gpu: &mut dyn Gpu, mode: Mode) -> Result<Old, String> {
    let product = Product { path: Path::Inline, operation: operation(mode), shape: TILE };
    let (kernel, entry) = product.kernel()?;
    let pipeline = ready(gpu, &kernel, entry)?;
    let placed = Placed::of(&product.operation, TILE);
    run(gpu, 3, |buffers| product.launch(pipeline, &placed, [buffers[0], buffers[1], buffers[2]]))
}

fn cooperative(gpu: &mut dyn Gpu, mode: Mode) -> Result<Old, String> {
    let pipeline = ready(gpu, &Kernel::UnitMatmul2d(operation(mode), Reach::Inline), "unit_tile")?;
    run(gpu, 4, |buffers| {
        let bindings = (0..).zip(buffers.iter().copied().map(whole)).collect();
        Launch { pipeline, groups: [1, 1, 1], threads: 32, bindings }
    })
}

fn ready(gpu: &mut dyn Gpu, kernel: &Kernel, entry: &str) -> Result<super::gpu::Pipeline, String> {
    let language = gpu.sdk().map_or(kernel.language(), Sdk::language);
    let library = gpu.compile(&kernel.source(language)).map_err(|e| e.to_string())?;
    gpu.pipeline(library, entry).map_err(|e| e.to_string())
}

/// Launches over zeros in both operands and ones in everything else; the last buffer is what is looked at.
fn run(gpu: &mut dyn Gpu, count: usize, launch: impl Fn(&[super::gpu::Buffer]) -> Launch) -> Result<Old, String> {
    let Shape { m, n, k } = TILE;
    let ones: Vec<u8> = std::iter::repeat_n(1f32.to_le_bytes(), m * n).flatten().collect();
    let mut buffers = Vec::new();
    let mut all = || -> Result<Vec<u8>, Fault> {
        buffers.push(gpu.buffer(&vec![0; m * k * 2])?);
        buffers.push(gpu.buffer(&vec![0; k * n * 2])?);
        while buffers.len() < count {
            buffers.push(gpu.buffer(&ones)?);
        }
        gpu.launch(&launch(&buffers), 1)?;
        gpu.read(buffers[count - 1])
    };
    let bytes = all();
    buffers.into_iter().for_each(|buffer| gpu.free(buffer));
    let bytes = bytes.map_err(|e| e.to_string())?;
    let is = |value: f32| bytes.chunks_exact(4).all(|w| w == value.to_le_bytes());
    Ok(if is(0.0) {
        Old::Overwritten
    } else if is(1.0) {
        Old::Added
    } else {
        Old::Mixed
    })
}
