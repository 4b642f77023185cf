//! What does a planted wrong output look like?

use super::fault::Wrong;
use super::product::Products;
use super::random::Stream;
use super::truth::PlantedTriple;
use rigel_numerics::{Format, Matrix, Overflow, Rounding};

/// The right output of a cell, and what is needed to spoil it.
pub struct Spoiled<'a> {
    /// Triple and arithmetic of the cell.
    pub triple: &'a PlantedTriple,
    /// Left operand.
    pub a: &'a Matrix,
    /// Right operand.
    pub b: &'a Matrix,
    /// The right output.
    pub right: &'a Matrix,
    /// Draws the places and bits of the fault; the same for every process.
    pub stream: Stream,
}

impl Spoiled<'_> {
    /// The output as `wrong` leaves it, over what lay in `before`.
    pub fn output(mut self, wrong: &Wrong, products: &mut Products, before: &Matrix) -> Matrix {
        let (rows, cols) = (self.right.rows, self.right.cols);
        let format = self.right.format;
        let mut out = self.right.clone();
        match *wrong {
            Wrong::Zeros => out = Matrix::zeroed(format, rows, cols),
            Wrong::DroppedStep { step } => {
                let mut a = self.a.clone();
                for r in 0..a.rows {
                    for c in a.cols.saturating_sub(step)..a.cols {
                        a.set(r, c, 0);
                    }
                }
                out = (*products.of(self.triple.arithmetic, self.triple.triple, &a, self.b)).clone();
            }
            Wrong::Swapped => {
                let (r, c) = self.place();
                // The other place is the nearest one, in row order, that holds another code: swapping equals is no fault.
                let code = out.get(r, c);
                let other = (1..rows * cols).map(|d| (r * cols + c + d) % (rows * cols));
                if let Some(p) = other.into_iter().find(|p| out.get(p / cols, p % cols) != code) {
                    out.set(r, c, out.get(p / cols, p % cols));
                    out.set(p / cols, p % cols, code);
                }
            }
            Wrong::TransposedB => {
                let b = reread(self.b);
                out = (*products.of(self.triple.arithmetic, self.triple.triple, self.a, &b)).clone();
            }
            Wrong::Perturbed { by } => {
                let (r, c) = self.place();
                let terms = (0..self.a.cols).map(|k| (self.a.value(r, k) * self.b.value(k, c)).abs());
                let amount = by * terms.sum::<f64>();
                let code = if format.is_integer() {
                    let whole = amount.signum() * amount.abs().ceil().max(1.0);
                    format.encode(out.value(r, c) + whole, Rounding::NearestEven, Overflow::Ieee)
                } else {
                    format.encode(out.value(r, c) + amount, Rounding::NearestEven, Overflow::Ieee)
                };
                out.set(r, c, code);
            }
            Wrong::TileEdge { tile } => {
                let (whole_rows, whole_cols) = (rows / tile * tile, cols / tile * tile);
                for r in 0..rows {
                    for c in if r < whole_rows { whole_cols..cols } else { 0..cols } {
                        out.set(r, c, self.stream.word() & format.code_mask());
                    }
                }
            }
            Wrong::Unwritten { rows: unwritten } => {
                for r in rows.saturating_sub(unwritten)..rows {
                    out.row_mut(r).copy_from_slice(before.row(r));
                }
            }
            Wrong::NotANumber => {
                let (r, c) = self.place();
                out.set(r, c, format.nan_code().unwrap_or(format.code_mask()));
            }
        }
        out
    }

    fn place(&mut self) -> (usize, usize) {
        let (rows, cols) = (self.right.rows as u64, self.right.cols as u64);
        (self.stream.below(rows) as usize, self.stream.below(cols) as usize)
    }
}

/// A k × n matrix whose elements, taken row by row, are read as an n × k matrix and that one transposed.
fn reread(b: &Matrix) -> Matrix {
    let (k, n) = (b.rows, b.cols);
    let mut out = Matrix::zeroed(b.format, k, n);
    for r in 0..k {
        for c in 0..n {
            let flat = c * k + r;
            out.set(r, c, b.get(flat / n, flat % n));
        }
    }
    out
}

/// Bytes of a poisoned matrix.
pub fn poisoned(format: Format, rows: usize, cols: usize) -> Matrix {
    let mut m = Matrix::zeroed(format, rows, cols);
    m.bytes.fill(crate::contract::POISON);
    m
}
