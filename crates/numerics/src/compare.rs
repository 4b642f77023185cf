//! Which element of a device's output lies farthest from the reference, and how many lie outside the tolerance?
//!
//! The answer does not depend on the rounding of the reference, hence neither on threads nor on the library that
//! multiplied: wherever the reference's own error could decide, the element's dot product is computed again exactly. The
//! count is over elements with |ĉ − c| ≤ [`Tolerance::allowed`] of Σ|a||b|, both rounded to f64 as in [`exact`](crate::exact).

use crate::bound::Tolerance;
use crate::double_double::two_sum;
use crate::epilogue;
use crate::exact::{Dot, NotFinite, Residual};
use crate::reference::{Reference, Values, exact_element};
use crate::{Format, Matrix, Shape, Triple, decode_row};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::ops::Deref;

/// Unit roundoff of f64.
const U: f64 = f64::EPSILON / 2.0;

/// How an output compares with its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Row of the worst element: the largest exact relative residual, the first in row-major order among equals.
    pub row: usize,
    /// Column of the worst element.
    pub col: usize,
    /// Its residual, computed exactly.
    pub residual: Residual,
    /// How many elements lie outside the tolerance.
    pub outside: usize,
}

/// Why an output cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// The output is not of the triple's output format.
    #[error("the output holds {found} codes but the triple says {expected}")]
    Format {
        /// What the output says.
        found: Format,
        /// What the triple says.
        expected: Format,
    },
    /// The output has other extents than the reference, or too few or too many bytes for its extents.
    #[error("the output is {rows} x {cols} in {bytes} bytes, which does not fit the product {shape}")]
    Extents {
        /// Rows of the output.
        rows: usize,
        /// Columns of the output.
        cols: usize,
        /// Bytes of the output.
        bytes: usize,
        /// The product's extents.
        shape: Shape,
    },
}

impl<M: Deref<Target = Matrix> + Sync> Reference<M> {
    /// The exact dot product of element (row, col).
    ///
    /// # Errors
    /// None for a reference made by [`reference`](crate::reference::reference), which refuses infinite and NaN inputs.
    ///
    /// # Panics
    /// When the element lies outside the product.
    pub fn exact(&self, row: usize, col: usize) -> Result<Dot, NotFinite> {
        let Some(activation) = self.activation else { return exact_element(&self.a, &self.b, row, col) };
        let last = self.shape.k - 1;
        let terms = (0..last).map(|k| (self.a.get(row, k), self.b.get(k, col)));
        epilogue::dot(self.triple, activation, terms, self.b.get(last, col))
    }

    /// Compares a device's output with the reference.
    ///
    /// # Errors
    /// [`CompareError`] when the output is not of the triple's output format or of the product's extents.
    pub fn compare(&self, output: &Matrix, tolerance: Tolerance) -> Result<Comparison, CompareError> {
        check_output(self.triple, self.shape, output)?;
        let exact_below = self.exact_below();
        let scan = Scan { reference: self, output, tolerance, slack: self.slack(), exact_below };
        Ok(scan.compare())
    }

    /// The elements outside the tolerance, in row-major order; for outputs that [`Reference::compare`] takes.
    pub(crate) fn outside(&self, output: &Matrix, tolerance: Tolerance) -> Vec<(usize, usize)> {
        let exact_below = self.exact_below();
        let scan = Scan { reference: self, output, tolerance, slack: self.slack(), exact_below };
        (0..self.shape.m)
            .into_par_iter()
            .map_init(Vec::new, |device, row| {
                scan.decode(device, row);
                let outside = |col: &usize| scan.is_outside(row, *col, device[*col]);
                (0..self.shape.n).filter(outside).map(|col| (row, col)).collect::<Vec<_>>()
            })
            .flatten_iter()
            .collect()
    }

    /// A bound on the error of either sum relative to Σ|a||b|: γ_K with room for the roundings of its own use.
    fn slack(&self) -> f64 {
        let gamma = self.shape.k as f64 * U;
        let sums = gamma / (1.0 - gamma) * (1.0 + 8.0 * U) + 8.0 * U;
        // An activation stretches the error of its sum and has one of its own, relative to a sum no larger than Σ|a||b|.
        if self.activation.is_some() { epilogue::LIPSCHITZ * sums + 64.0 * U } else { sums }
    }

    /// Sums whose Σ|a||b| lies below this are exact; what an activation made of one never counts as exact.
    fn exact_below(&self) -> f64 {
        if self.activation.is_some() { 0.0 } else { self.quantum() * 2f64.powi(53) }
    }

    /// A power of two of which every product is a multiple, ∞ when all are zero, 0 for none; computed once.
    fn quantum(&self) -> f64 {
        *self.quantum.get_or_init(|| {
            let product = least_bit(&self.a) * least_bit(&self.b);
            if product >= f64::MIN_POSITIVE { product } else { 0.0 }
        })
    }
}

/// Some rows of a matrix, in the order given.
///
/// What [`Reference::compare`] says of an element depends on no other element: a fault in these rows is seen in an output of
/// these rows alone exactly if it is seen in the whole.
///
/// # Panics
/// When a row lies outside the matrix.
pub fn rows_of(matrix: &Matrix, rows: &[usize]) -> Matrix {
    let bytes = rows.iter().flat_map(|&row| matrix.row(row)).copied().collect();
    Matrix { rows: rows.len(), bytes, ..Matrix::zeroed(matrix.format, 0, matrix.cols) }
}

/// Some columns of a matrix, in the order given.
pub(crate) fn columns_of(matrix: &Matrix, columns: &[usize]) -> Matrix {
    let mut out = Matrix::zeroed(matrix.format, matrix.rows, columns.len());
    for row in 0..matrix.rows {
        columns.iter().enumerate().for_each(|(i, &column)| out.set(row, i, matrix.get(row, column)));
    }
    out
}

/// Whether an output has the format and the extents of a product.
pub(crate) fn check_output(triple: Triple, shape: Shape, output: &Matrix) -> Result<(), CompareError> {
    if output.format != triple.c {
        return Err(CompareError::Format { found: output.format, expected: triple.c });
    }
    let needed = output.rows.saturating_mul(Matrix::row_bytes(output.format, output.cols));
    if (output.rows, output.cols) != (shape.m, shape.n) || output.bytes.len() != needed {
        let (rows, cols, bytes) = (output.rows, output.cols, output.bytes.len());
        return Err(CompareError::Extents { rows, cols, bytes, shape });
    }
    Ok(())
}

/// What the float64 sums prove about the exact residual of one element.
#[derive(Clone, Copy)]
struct Bracket {
    /// Bounds on the relative residual; equal where it is known.
    low: f64,
    high: f64,
    /// Whether the element lies outside the tolerance, where that is certain.
    outside: Option<bool>,
}

impl Bracket {
    const UNKNOWN: Bracket = Bracket { low: 0.0, high: f64::INFINITY, outside: None };

    fn known(relative: f64, outside: bool) -> Bracket {
        Bracket { low: relative, high: relative, outside: Some(outside) }
    }
}

/// The summary of a row, or of all rows.
#[derive(Clone, Copy)]
struct Summary {
    /// The largest lower bound on a residual, and the largest upper one.
    low: f64,
    high: f64,
    outside: usize,
}

struct Scan<'s, M> {
    reference: &'s Reference<M>,
    output: &'s Matrix,
    tolerance: Tolerance,
    /// Relative error bound of Σ|a||b|.
    slack: f64,
    /// Sums whose Σ|a||b| lies below this are exact.
    exact_below: f64,
}

impl<M: Deref<Target = Matrix> + Sync> Scan<'_, M> {
    fn compare(&self) -> Comparison {
        let rows = self.reference.shape.m;
        let summaries: Vec<Summary> =
            (0..rows).into_par_iter().map_init(Vec::new, |device, row| self.summary(device, row)).collect();
        let low = summaries.iter().fold(0.0, |low, s| s.low.max(low));
        let worst = (0..rows)
            .into_par_iter()
            .filter(|&row| summaries[row].high >= low)
            .map_init(Vec::new, |device, row| self.worst_of_row(device, row, low))
            .flatten_iter()
            .reduce_with(|x, y| if later_is_worse(x, y) { y } else { x });
        let (row, col, _) = worst.unwrap_or((0, 0, 0.0));
        let residual = self.exact_residual(row, col).0;
        Comparison { row, col, residual, outside: summaries.iter().map(|s| s.outside).sum() }
    }

    fn summary(&self, device: &mut Vec<f64>, row: usize) -> Summary {
        self.decode(device, row);
        let mut summary = Summary { low: 0.0, high: 0.0, outside: 0 };
        for (col, &value) in device.iter().enumerate() {
            let bracket = self.bracket(row, col, value);
            summary.low = summary.low.max(bracket.low);
            summary.high = summary.high.max(bracket.high);
            summary.outside += usize::from(self.decided(bracket, row, col));
        }
        summary
    }

    fn is_outside(&self, row: usize, col: usize, device: f64) -> bool {
        self.decided(self.bracket(row, col, device), row, col)
    }

    /// Whether an element lies outside the tolerance, computed exactly where its bracket does not say.
    fn decided(&self, bracket: Bracket, row: usize, col: usize) -> bool {
        bracket.outside.unwrap_or_else(|| self.exact_residual(row, col).1)
    }

    /// The worst element of a row among those that may reach `low`, with its exact relative residual.
    fn worst_of_row(&self, device: &mut Vec<f64>, row: usize, low: f64) -> Option<(usize, usize, f64)> {
        self.decode(device, row);
        let candidates = device.iter().enumerate().filter_map(|(col, &value)| {
            let bracket = self.bracket(row, col, value);
            let exact =
                || if bracket.low == bracket.high { bracket.low } else { self.exact_residual(row, col).0.relative };
            (bracket.high >= low).then(|| (row, col, exact()))
        });
        candidates.reduce(|x, y| if later_is_worse(x, y) { y } else { x })
    }

    fn decode(&self, device: &mut Vec<f64>, row: usize) {
        device.resize(self.output.cols, 0.0);
        decode_row::decode_row(self.output.format, self.output.row(row), device);
    }

    /// The exact residual of an element, and whether it lies outside the tolerance.
    fn exact_residual(&self, row: usize, col: usize) -> (Residual, bool) {
        let (format, code) = (self.output.format, self.output.get(row, col));
        let Ok(dot) = self.reference.exact(row, col) else { return (Residual::INFINITE, true) };
        let difference = dot.sum.difference(format, code);
        let outside = difference > self.tolerance.allowed(dot.magnitude.to_f64()) || difference.is_infinite();
        (dot.residual(format, code), outside)
    }

    fn bracket(&self, row: usize, col: usize, device: f64) -> Bracket {
        let at = row * self.reference.shape.n + col;
        let (difference, magnitude, error) = match &self.reference.values {
            Values::Single { sum, magnitude } => ((device - sum[at]).abs(), magnitude[at], self.slack),
            Values::Double { high, low, magnitude } => {
                let (difference, cut) = two_sum(device, -high[at]);
                ((difference + (cut - low[at])).abs(), magnitude[at], self.slack * self.slack)
            }
            Values::Integer { sum, .. } => {
                // Every integer output decodes to itself.
                let equal = (device as i64 ^ sum[at]) as u64 & self.output.format.code_mask() == 0;
                return Bracket::known(f64::from(u8::from(!equal)), !equal);
            }
        };
        if !device.is_finite() {
            return Bracket::known(f64::INFINITY, true);
        }
        if magnitude < self.exact_below {
            let relative = if difference == 0.0 { 0.0 } else { difference / magnitude };
            return Bracket::known(relative, difference > self.tolerance.allowed(magnitude));
        }
        // Below this, bounds themselves would underflow; only f64 operands get there.
        if !(magnitude > 1e-280 && magnitude.is_finite() && difference.is_finite()) {
            return Bracket::UNKNOWN;
        }
        let error = error * magnitude + 4.0 * U * difference;
        let (least, most) = ((difference - error).max(0.0), (difference + error) * (1.0 + U));
        let (smaller, larger) = (magnitude * (1.0 - self.slack), magnitude * (1.0 + self.slack));
        let outside = if most <= self.tolerance.allowed(smaller) * (1.0 - 4.0 * U) {
            Some(false)
        } else if least > self.tolerance.allowed(larger) * (1.0 + 4.0 * U) {
            Some(true)
        } else {
            None
        };
        Bracket { low: least / larger * (1.0 - 2.0 * U), high: most / smaller * (1.0 + 2.0 * U), outside }
    }
}

/// Whether the second of two elements (row, column, residual) is the worse one; equals go to the first in row-major order.
fn later_is_worse(x: (usize, usize, f64), y: (usize, usize, f64)) -> bool {
    match y.2.total_cmp(&x.2) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => (y.0, y.1) < (x.0, x.1),
    }
}

/// The largest power of two of which every element of a matrix is a multiple; ∞ when all are zero.
fn least_bit(matrix: &Matrix) -> f64 {
    let of_row = |row: &mut Vec<f64>, r: usize| {
        row.resize(matrix.cols, 0.0);
        decode_row::decode_row_abs(matrix.format, matrix.row(r), row);
        row.iter().fold(f64::INFINITY, |least, &x| {
            let bits = x.to_bits();
            // Clearing the lowest bit of a power of two would change its exponent.
            let power = bits << 12 == 0;
            let bit = if power { x } else { x - f64::from_bits(bits & (bits - 1)) };
            if bit == 0.0 { least } else { least.min(bit) }
        })
    };
    (0..matrix.rows).into_par_iter().map_init(Vec::new, of_row).reduce(|| f64::INFINITY, f64::min)
}
