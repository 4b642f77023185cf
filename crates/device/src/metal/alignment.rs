//! Which distances between rows does a device take for tensors, and what becomes of the others?
//!
//! A product of small whole numbers, exact in every type, is made at each distance. It is refused, wrong, slow or fine: slow
//! where it takes more than [`SLOW`] times as long as at the widest distance of the sweep, which every rule takes.

use super::gpu::Gpu;
use super::level::Sdk;
use super::operation::{Operation, Scope};
use super::place::Placed;
use super::product::{Path, Product};
use super::triples::Types;
use super::usage::Usage;
use crate::contract::Fault;
use rigel_numerics::block::NoPlanes;
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape, Time};

/// Distances in bytes, the widest last.
pub const STRIDES: [usize; 9] = [80, 96, 112, 128, 144, 160, 192, 320, 512];

/// From which ratio of times on a distance is slow.
pub const SLOW: f64 = 1.5;

/// What a distance came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The host's or the device's words.
    Refused(String),
    /// Another product.
    Wrong,
    /// The product, late.
    Slow,
    /// The product.
    Fine,
}

/// The bytes of C and the time, or what went wrong.
type Run = Result<(Vec<u8>, Time), Fault>;

/// The product that is made: 24 values of k, so that the narrowest distance holds a row of half elements.
const SHAPE: Shape = Shape { m: 32, n: 24, k: 24 };

/// Every distance of the sweep and what it came to, for tensors made by the kernel (`Path::Inline`) or by the host for a use.
///
/// # Errors
/// That nothing compiles, or that even the widest distance gives no product.
pub fn sweep(gpu: &mut dyn Gpu, path: Path, types: Types, usage: Usage) -> Result<Vec<(usize, Outcome)>, String> {
    let bytes = |e: super::element::Element| e.bits() as usize / 8;
    if bytes(types.left) == 0 || bytes(types.right) == 0 {
        return Err("the sweep needs elements of whole bytes".into());
    }
    let [a, b, c] = [types.left, types.right, types.dest].map(super::element::Element::format);
    let operation = Operation { scope: Scope::SimdGroups(1), ..Operation::new(types, 32, 32) };
    let product = Product { path, operation, shape: SHAPE };
    let (kernel, entry) = product.kernel()?;
    let language = gpu.sdk().map_or(kernel.language(), Sdk::language);
    let library = gpu.compile(&kernel.source(language)).map_err(|e| e.to_string())?;
    let pipeline = gpu.pipeline(library, entry).map_err(|e| e.to_string())?;
    let (left, right) = (numbers(a, SHAPE.m, SHAPE.k, 5), numbers(b, SHAPE.k, SHAPE.n, 3));
    let mut seen: Vec<(usize, Run)> = Vec::new();
    // Rows that lie closer than they are long would be no rows.
    let longest = (SHAPE.k * bytes(types.left)).max(SHAPE.n * bytes(types.right));
    for stride in STRIDES.into_iter().filter(|stride| *stride >= longest) {
        let placed = Placed::of(&operation, SHAPE);
        let pitch = [stride / bytes(types.left), stride / bytes(types.right), 512 / bytes(types.dest)];
        let placed = Placed { pitch, ..placed };
        let out = vec![0; SHAPE.m * 512];
        let text = |e: NoPlanes| e.to_string();
        let stored =
            [placed.left(&operation, &left).map_err(text)?, placed.right(&operation, &right).map_err(text)?, out];
        let mut buffers = Vec::new();
        let mut run = || {
            for bytes in &stored {
                buffers.push(gpu.buffer(bytes)?);
            }
            let launch = usage.of(product.launch(pipeline, &placed, [buffers[0], buffers[1], buffers[2]]));
            let time = gpu.launch(&launch, 1)?;
            Ok((gpu.read(buffers[2])?, time))
        };
        let outcome = run();
        buffers.into_iter().for_each(|buffer| gpu.free(buffer));
        seen.push((stride, outcome));
    }
    let widest = seen.last().and_then(|(_, outcome)| outcome.as_ref().ok()).ok_or("no distance gives a product")?;
    let usual = widest.1;
    let expected = product_of(&left, &right, c);
    let judge = |outcome: &Run| match outcome {
        Err(fault) => Outcome::Refused(fault.to_string()),
        Ok((bytes, _)) if !holds(bytes, &expected) => Outcome::Wrong,
        Ok((_, time)) if time.0 as f64 > SLOW * usual.0 as f64 => Outcome::Slow,
        Ok(_) => Outcome::Fine,
    };
    Ok(seen.iter().map(|(stride, outcome)| (*stride, judge(outcome))).collect())
}

/// Whole numbers from 0 to 4 that differ from row to row and from column to column, and at every distance that is a power of two.
pub(super) fn numbers(format: Format, rows: usize, cols: usize, factor: usize) -> Matrix {
    let mut x = Matrix::zeroed(format, rows, cols);
    for r in 0..rows {
        for c in 0..cols {
            let value = ((r * factor + c * 7 + r * c) % 5) as f64;
            x.set(r, c, format.encode(value, Rounding::NearestEven, Overflow::Ieee));
        }
    }
    x
}

pub(super) fn product_of(a: &Matrix, b: &Matrix, format: Format) -> Matrix {
    let mut c = Matrix::zeroed(format, a.rows, b.cols);
    for r in 0..a.rows {
        for col in 0..b.cols {
            let sum = (0..a.cols).map(|k| a.value(r, k) * b.value(k, col)).sum();
            c.set(r, col, format.encode(sum, Rounding::NearestEven, Overflow::Ieee));
        }
    }
    c
}

/// Whether rows of 512 bytes begin with the rows of a matrix.
fn holds(bytes: &[u8], c: &Matrix) -> bool {
    (0..c.rows).all(|r| bytes[r * 512..].starts_with(c.row(r)))
}
