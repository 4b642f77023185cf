//! What becomes of a tensor's scales when a tile is cut out of it, and how far apart are its rows of scales?
//!
//! A tag of scales holds a pointer and no distance, and readers disagree on whether a slice moves it. So a product of several tiles and
//! steps is made with tiles cut out as slices and with tiles made anew, and one whose rows are further apart than they are long with
//! scales laid out by either.

use super::alignment::product_of;
use super::element::Element::{Float, Mxe4m3};
use super::gpu::Gpu;
use super::operation::{Mode, Operation, Scope};
use super::place::Placed;
use super::product::{Path, Product};
use super::text::{Kernel, Placement};
use super::triples::Types;
use crate::contract::Fault;
use rigel_numerics::block::MX_GROUP;
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};

/// What became of a product of operands with scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It is the product.
    Right,
    /// It is another one.
    Wrong,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cut::Right => "right",
            Cut::Wrong => "wrong product",
        })
    }
}

/// How far apart rows of scales are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// As many as a row of elements has groups.
    ByExtent,
    /// As many as fit between the beginnings of two rows of elements.
    ByStride,
    /// Neither.
    Neither,
}

impl std::fmt::Display for Apart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Apart::ByExtent => "as far apart as rows are long",
            Apart::ByStride => "as far apart as rows of elements",
            Apart::Neither => "neither as far apart as rows are long, nor as rows of elements",
        })
    }
}

const TYPES: Types = Types::new(Mxe4m3, Mxe4m3, Float);

/// Three tiles of rows and two of columns, in four steps.
const SHAPE: Shape = Shape { m: 48, n: 64, k: 128 };

/// One tile, whose rows end before the next 128 bytes do.
const SHORT: Shape = Shape { m: 16, n: 32, k: 96 };

fn operation(step: u32) -> Operation {
    let mode = Mode::MultiplyAccumulate;
    let (scope, transpose_right) = (Scope::SimdGroups(1), true);
    Operation { step, scope, transpose_right, mode, ..Operation::new(TYPES, 16, 32) }
}

/// Small whole numbers under scales of 1 and 2 that differ from group to group: sums are whole and below 2^13.
fn operands(shape: Shape) -> [Matrix; 2] {
    let mut a = Matrix::zeroed(Format::Mxe4m3, shape.m, shape.k);
    let mut b = Matrix::zeroed(Format::Mxe4m3, shape.k, shape.n);
    let code = |value: usize, scale: usize| {
        let element = Format::E4m3.encode(value as f64, Rounding::NearestEven, Overflow::Saturate);
        (127 + scale as u64 % 2) << 8 | element
    };
    for k in 0..shape.k {
        let group = k / MX_GROUP;
        for row in 0..shape.m {
            a.set(row, k, code((row * 3 + k * 5 + row * k) % 5, row / 3 + group + row / 16));
        }
        for column in 0..shape.n {
            b.set(k, column, code((column * 7 + k * 3 + column * k) % 5, column / 5 + group * 3 + column / 32));
        }
    }
    [a, b]
}

/// The bytes of C.
fn run(
    gpu: &mut dyn Gpu,
    product: Product,
    placed: Placed,
    slices: bool,
    bytes: [Vec<u8>; 2],
) -> Result<Vec<u8>, String> {
    let placement = Placement { scaled: (true, true), slices_scales: slices, ..Placement::default() };
    let kernel = Kernel::Matmul2d(product.operation, placement);
    let library = gpu.compile(&kernel.source(kernel.language())).map_err(|e| e.to_string())?;
    let pipeline = gpu.pipeline(library, "matmul2d_gemm").map_err(|e| e.to_string())?;
    let Shape { m, n, .. } = product.shape;
    let [left, right] = bytes;
    let stored = [left, right, vec![0; 4 * m * n]];
    let mut buffers = Vec::new();
    let mut launch = || -> Result<Vec<u8>, Fault> {
        for bytes in &stored {
            buffers.push(gpu.buffer(bytes)?);
        }
        gpu.launch(&product.launch(pipeline, &placed, [buffers[0], buffers[1], buffers[2]]), 1)?;
        gpu.read(buffers[2])
    };
    let found = launch();
    buffers.into_iter().for_each(|buffer| gpu.free(buffer));
    found.map_err(|e| e.to_string())
}

/// Whether a product is right whose tiles are cut out as slices, or made anew.
///
/// # Errors
/// What the compiler or the device says.
pub fn product(gpu: &mut dyn Gpu, slices: bool) -> Result<Cut, String> {
    let operation = operation(32);
    let product = Product { path: Path::Inline, operation, shape: SHAPE };
    let [a, b] = operands(SHAPE);
    let placed = Placed::of(&operation, SHAPE);
    let text = |e: rigel_numerics::block::NoPlanes| e.to_string();
    let bytes = [placed.left(&operation, &a).map_err(text)?, placed.right(&operation, &b).map_err(text)?];
    let found = run(gpu, product, placed, slices, bytes)?;
    Ok(if found == product_of(&a, &b, Float.format()).bytes { Cut::Right } else { Cut::Wrong })
}

/// How far apart rows of scales are.
///
/// # Errors
/// What the compiler or the device says.
pub fn distance(gpu: &mut dyn Gpu) -> Result<Apart, String> {
    let operation = operation(0);
    let product = Product { path: Path::Inline, operation, shape: SHORT };
    let [a, b] = operands(SHORT);
    let expected = product_of(&a, &b, Float.format()).bytes;
    let whole = Placed::of(&operation, SHORT);
    let text = |e: rigel_numerics::block::NoPlanes| e.to_string();
    let filled = [whole.left(&operation, &a).map_err(text)?, whole.right(&operation, &b).map_err(text)?];
    // Rows are declared as long as they are; the plane of the whole has its rows as far apart as the elements have theirs.
    let short = Placed { k: SHORT.k, ..whole };
    for (apart, across) in [(Apart::ByExtent, SHORT.k / MX_GROUP), (Apart::ByStride, whole.k / MX_GROUP)] {
        let mut bytes = filled.clone();
        for (bytes, plane) in bytes.iter_mut().zip(whole.scales) {
            let at = plane.ok_or("an operand without scales")?;
            let rows: Vec<u8> =
                bytes[at..].chunks(whole.k / MX_GROUP).flat_map(|row| &row[..across]).copied().collect();
            // What lies behind the rows is the scale of 1, and not the end of memory.
            bytes[at..].fill(127);
            bytes[at..at + rows.len()].copy_from_slice(&rows);
        }
        if run(gpu, product, short, false, bytes)? == expected {
            return Ok(apart);
        }
    }
    Ok(Apart::Neither)
}
