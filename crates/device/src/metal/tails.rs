//! Does a product whose k is no multiple of a step read what lies behind its operands?
//!
//! Every row of A goes on with NaN where it ends, and so does B below its last row: a kernel or a device that reads past k returns one.
//! A field report has a header that cuts a fixed k of 48 to 32, which leaves a wrong product.

use super::alignment::{numbers, product_of};
use super::element::Element::{Float, Half};
use super::gpu::Gpu;
use super::level::Sdk;
use super::operation::{Operation, Scope};
use super::place::Placed;
use super::product::{Path, Product};
use super::triples::Types;
use crate::contract::Fault;
use rigel_numerics::{Matrix, Shape};

/// What became of a product with a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// It is the product.
    Right,
    /// A NaN from behind the operands is in it.
    ReadBehind,
    /// It is another product.
    Wrong,
}

impl std::fmt::Display for Tail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Tail::Right => "right",
            Tail::ReadBehind => "reads what lies behind",
            Tail::Wrong => "wrong product",
        })
    }
}

/// Products that are asked for: k, and the step in which an operation takes it (0: as much as there is).
pub const ASKED: [(usize, u32); 5] = [(40, 0), (40, 16), (40, 32), (33, 32), (48, 48)];

/// Elements of half between rows: more than any k that is asked for.
const PITCH: usize = 64;

/// A NaN in half, and in every other float.
const GUARD: u8 = 0xFF;

/// What becomes of a product of so many k in such steps on a path.
///
/// # Errors
/// What the compiler or the device says.
pub fn tail(gpu: &mut dyn Gpu, path: Path, k: usize, step: u32) -> Result<Tail, String> {
    let shape = Shape::new(32, 32, k);
    let types = Types::new(Half, Half, Float);
    let operation = Operation { step, scope: Scope::SimdGroups(1), ..Operation::new(types, 32, 32) };
    let product = Product { path, operation, shape };
    let (kernel, entry) = product.kernel()?;
    let language = gpu.sdk().map_or(kernel.language(), Sdk::language);
    let library = gpu.compile(&kernel.source(language)).map_err(|e| e.to_string())?;
    let pipeline = gpu.pipeline(library, entry).map_err(|e| e.to_string())?;
    let (a, b) = (numbers(Half.format(), shape.m, k, 5), numbers(Half.format(), k, shape.n, 3));
    let placed = Placed { pitch: [PITCH, PITCH, shape.n], ..Placed::of(&operation, shape) };
    let stored = [guarded(&a, shape.m), guarded(&b, PITCH), vec![0; 4 * shape.m * shape.n]];
    let mut buffers = Vec::new();
    let mut run = || -> Result<Vec<u8>, Fault> {
        for bytes in &stored {
            buffers.push(gpu.buffer(bytes)?);
        }
        gpu.launch(&product.launch(pipeline, &placed, [buffers[0], buffers[1], buffers[2]]), 1)?;
        gpu.read(buffers[2])
    };
    let bytes = run();
    buffers.into_iter().for_each(|buffer| gpu.free(buffer));
    let found = Matrix { bytes: bytes.map_err(|e| e.to_string())?, ..Matrix::zeroed(Float.format(), shape.m, shape.n) };
    let expected = product_of(&a, &b, Float.format());
    let has_nan = (0..shape.m).any(|row| (0..shape.n).any(|column| found.value(row, column).is_nan()));
    Ok(match found.bytes == expected.bytes {
        true => Tail::Right,
        false if has_nan => Tail::ReadBehind,
        false => Tail::Wrong,
    })
}

/// So many rows of [`PITCH`] elements: those of a matrix, and guards wherever it has none.
fn guarded(x: &Matrix, rows: usize) -> Vec<u8> {
    let mut bytes = vec![GUARD; rows * Matrix::row_bytes(x.format, PITCH)];
    for (row, into) in bytes.chunks_exact_mut(Matrix::row_bytes(x.format, PITCH)).take(x.rows).enumerate() {
        into[..x.row(row).len()].copy_from_slice(x.row(row));
    }
    bytes
}
