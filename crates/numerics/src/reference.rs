//! What should a product be, computed in float64 from the very bytes that the device consumed?
//!
//! Σa·b and Σ|a||b| come out together, from operands that are decoded panel by panel: 8 MiB of panels where both sums are
//! plain f64 (`both_sums`), 48 MiB for f64 operands. Memory is that of the encoded inputs, the two f64 outputs (three for
//! f64 operands) and less than 64 MiB. The bits of every sum depend neither on the threads nor on the processor.
//!
//! Whose error is how large, with u = 2^-53 and γ_K = K·u / (1 − K·u):
//! - operands of at most 26 significant bits (f32 and narrower): their products are exact in f64, only additions round.
//!   Both sums are within γ_K · Σ|a||b|, whatever the order of the terms: 2^-37 of it at K = 2^16. Where all terms are
//!   multiples of some q and Σ|a||b| ≤ 2^53·q, every partial sum is representable and the error is 0.
//! - f64 operands: [`double_double`](crate::double_double), Σa·b within γ_K² · Σ|a||b|.
//! - integers: exact. A term is at most 2^8·2^8 and K at most 2^20, so every partial sum is an integer below 2^53.
//!
//! Speed is compared with OpenBLAS, interleaved in one run, by `integrations/python/against_openblas.py`.

use crate::both_sums::both_sums;
use crate::double_double::{Sums, add_product};
use crate::epilogue::Activation;
use crate::exact::{Dot, NotFinite, dot};
use crate::plane::Plane;
use crate::{Format, Matrix, Operand, Shape, Triple, decode_row};
use rayon::prelude::*;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Rows of a panel of A, columns of a panel of B.
const EDGE: usize = 2048;
/// Columns of a panel of A, rows of a panel of B.
const DEPTH: usize = 1024;

/// The reference of a product, with the operands it was computed from: borrowed (`&Matrix`) or shared (`Arc<Matrix>`).
#[derive(Debug)]
pub struct Reference<M = Arc<Matrix>> {
    /// The triple that was asked for.
    pub triple: Triple,
    /// Extents.
    pub shape: Shape,
    /// The left operand, m × k.
    pub a: M,
    /// The right operand, k × n.
    pub b: M,
    /// The sums, or what an activation made of them.
    pub values: Values,
    /// The activation that the sums went through, if any: the last column of A is then 1 and the last row of B the bias.
    pub activation: Option<Activation>,
    pub(crate) quantum: OnceLock<f64>,
}

/// The sums of a reference, all row-major, m × n.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Floating operands that are narrower than f64.
    Single {
        /// Σ a·b.
        sum: Plane<f64>,
        /// Σ |a|·|b|.
        magnitude: Plane<f64>,
    },
    /// At least one operand of f64: Σ a·b is high + low.
    Double {
        /// High parts of Σ a·b.
        high: Plane<f64>,
        /// Low parts of Σ a·b.
        low: Plane<f64>,
        /// Σ |a|·|b|.
        magnitude: Plane<f64>,
    },
    /// Integer operands.
    Integer {
        /// Σ a·b, exactly; outputs are compared with it modulo 2^width.
        sum: Plane<i64>,
        /// Σ |a|·|b|, exactly.
        magnitude: Plane<u64>,
    },
}

/// Why there is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// An operand's format is not the triple's.
    #[error("operand {operand:?} holds {found} codes but the triple {triple} says {expected}")]
    Format {
        /// The operand.
        operand: Operand,
        /// What its matrix says.
        found: Format,
        /// What the triple says.
        expected: Format,
        /// The triple.
        triple: Triple,
    },
    /// A has not as many columns as B has rows, or an extent lies outside 1 … 2^20.
    #[error(
        "A is {m} x {k} and B is {rows} x {n}: A needs as many columns as B has rows, and every extent lies in 1..=1048576"
    )]
    Shape {
        /// Rows of A.
        m: usize,
        /// Columns of A.
        k: usize,
        /// Rows of B.
        rows: usize,
        /// Columns of B.
        n: usize,
    },
    /// A matrix whose bytes are not rows × row bytes.
    #[error("operand {operand:?} has {found} bytes but its extents need {expected}")]
    Bytes {
        /// The operand.
        operand: Operand,
        /// Bytes there.
        found: usize,
        /// Bytes needed.
        expected: usize,
    },
    /// An infinity or NaN among the inputs.
    #[error(
        "operand {operand:?} holds code {code:#x} at row {row}, column {col}, which is not finite: only finite inputs have a reference"
    )]
    NotFinite {
        /// The operand.
        operand: Operand,
        /// Row of the first such element.
        row: usize,
        /// Column of it.
        col: usize,
        /// Its code.
        code: u64,
    },
    /// Operands of i32, whose sums do not fit 64 bits.
    #[error("i32 is an output format of integer products, not an operand format: {triple}")]
    WideInteger {
        /// The triple.
        triple: Triple,
    },
}

/// The reference of A · B, on all threads of the current pool.
///
/// # Errors
/// [`ReferenceError`] when the operands do not fit the triple or each other, or hold an infinity or NaN.
pub fn reference<M: Deref<Target = Matrix>>(triple: Triple, a: M, b: M) -> Result<Reference<M>, ReferenceError> {
    let shape = check(triple, &a, &b)?;
    let length = shape.m * shape.n;
    let values = if triple.a == Format::F64 || triple.b == Format::F64 {
        let [mut high, mut low, mut magnitude] = [(); 3].map(|()| Plane::zeroed(length));
        for_panels(shape, &a, &b, |block, a, b| {
            let rows = block.row * shape.n..(block.row + block.rows) * shape.n;
            let sums = Sums {
                high: &mut high[rows.clone()],
                low: &mut low[rows.clone()],
                magnitude: &mut magnitude[rows],
                stride: shape.n,
            };
            add_product(sums, block.col, a, b, block.depth, block.cols);
        })?;
        Values::Double { high, low, magnitude }
    } else {
        let [mut sum, mut magnitude] = [(); 2].map(|()| Plane::zeroed(length));
        both_sums(shape, &a, &b, &mut sum, &mut magnitude)
            .map_err(|operand| first_not_finite(operand, if operand == Operand::A { &a } else { &b }))?;
        if triple.is_integer() {
            let (sum, magnitude) = (sum.convert(|x: f64| x as i64), magnitude.convert(|x: f64| x as u64));
            Values::Integer { sum, magnitude }
        } else {
            Values::Single { sum, magnitude }
        }
    };
    Ok(Reference { triple, shape, a, b, values, activation: None, quantum: OnceLock::new() })
}

impl<M> Reference<M> {
    /// Σ a·b of element (row, col), rounded to f64.
    ///
    /// # Panics
    /// When the element lies outside the product.
    pub fn value(&self, row: usize, col: usize) -> f64 {
        let at = row * self.shape.n + col;
        match &self.values {
            Values::Single { sum, .. } => sum[at],
            Values::Double { high, .. } => high[at],
            Values::Integer { sum, .. } => sum[at] as f64,
        }
    }

    /// Σ |a||b| of element (row, col), rounded to f64.
    ///
    /// # Panics
    /// When the element lies outside the product.
    pub fn magnitude(&self, row: usize, col: usize) -> f64 {
        let at = row * self.shape.n + col;
        match &self.values {
            Values::Single { magnitude, .. } | Values::Double { magnitude, .. } => magnitude[at],
            Values::Integer { magnitude, .. } => magnitude[at] as f64,
        }
    }
}

/// Whether operands fit a triple and each other; their extents.
pub(crate) fn check(triple: Triple, a: &Matrix, b: &Matrix) -> Result<Shape, ReferenceError> {
    for (operand, matrix, expected) in [(Operand::A, a, triple.a), (Operand::B, b, triple.b)] {
        if matrix.format != expected {
            return Err(ReferenceError::Format { operand, found: matrix.format, expected, triple });
        }
    }
    if triple.a == Format::I32 || triple.b == Format::I32 {
        return Err(ReferenceError::WideInteger { triple });
    }
    let (m, k, rows, n) = (a.rows, a.cols, b.rows, b.cols);
    if k != rows || [m, n, k].iter().any(|x| !(1..=Shape::MAX).contains(x)) {
        return Err(ReferenceError::Shape { m, k, rows, n });
    }
    for (operand, matrix) in [(Operand::A, a), (Operand::B, b)] {
        let (found, expected) = (matrix.bytes.len(), matrix.rows * Matrix::row_bytes(matrix.format, matrix.cols));
        if found != expected {
            return Err(ReferenceError::Bytes { operand, found, expected });
        }
    }
    Ok(Shape { m, n, k })
}

/// One step of the product: a block of C and the depth of its panels.
#[derive(Clone, Copy)]
struct Block {
    row: usize,
    rows: usize,
    col: usize,
    cols: usize,
    depth: usize,
}

/// Calls `step` with every pair of decoded panels, A's (rows × depth) and B's (depth × cols), in a fixed order.
fn for_panels(
    shape: Shape,
    a: &Matrix,
    b: &Matrix,
    mut step: impl FnMut(Block, &mut [f64], &mut [f64]),
) -> Result<(), ReferenceError> {
    let mut panel_a = vec![0.0; EDGE.min(shape.m) * DEPTH.min(shape.k)];
    let mut panel_b = vec![0.0; DEPTH.min(shape.k) * EDGE.min(shape.n)];
    for row in (0..shape.m).step_by(EDGE) {
        for col in (0..shape.n).step_by(EDGE) {
            for start in (0..shape.k).step_by(DEPTH) {
                let (rows, cols) = (EDGE.min(shape.m - row), EDGE.min(shape.n - col));
                let depth = DEPTH.min(shape.k - start);
                let block = Block { row, rows, col, cols, depth };
                let (a_panel, b_panel) = (&mut panel_a[..rows * depth], &mut panel_b[..depth * cols]);
                if !decode_panel(a, row, start, depth, a_panel) {
                    return Err(first_not_finite(Operand::A, a));
                }
                if !decode_panel(b, start, col, cols, b_panel) {
                    return Err(first_not_finite(Operand::B, b));
                }
                step(block, a_panel, b_panel);
            }
        }
    }
    Ok(())
}

/// Decodes the block that starts at (row, col) and is `cols` wide; says whether all of it is finite.
fn decode_panel(matrix: &Matrix, row: usize, col: usize, cols: usize, panel: &mut [f64]) -> bool {
    let decode = |(r, out): (usize, &mut [f64])| {
        decode_row::decode_span(matrix.format, matrix.row(row + r), col, out);
        out.iter().fold(true, |finite, x| finite & x.is_finite())
    };
    panel.par_chunks_mut(cols).with_min_len(16).enumerate().map(decode).reduce(|| true, |x, y| x & y)
}

/// The error for a matrix that was found to hold an infinity or NaN.
pub(crate) fn first_not_finite(operand: Operand, matrix: &Matrix) -> ReferenceError {
    let places = (0..matrix.rows).flat_map(|row| (0..matrix.cols).map(move |col| (row, col)));
    let mut codes = places.map(|(row, col)| (row, col, matrix.get(row, col)));
    let (row, col, code) = codes.find(|&(_, _, code)| !matrix.format.is_finite(code)).unwrap_or_default();
    ReferenceError::NotFinite { operand, row, col, code }
}

/// The exact dot product of element (row, col) of A · B.
pub(crate) fn exact_element(a: &Matrix, b: &Matrix, row: usize, col: usize) -> Result<Dot, NotFinite> {
    dot(a.format, b.format, (0..a.cols).map(|k| (a.get(row, k), b.get(k, col))))
}
