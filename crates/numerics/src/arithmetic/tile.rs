//! What does a model make of whole matrices?

use super::decoder::Decoder;
use super::evaluator::{Evaluator, Scratch};
use super::operand::Row;
use crate::{Format, Matrix, packing};
use rayon::prelude::*;

/// Matrices that do not make the tile of an evaluator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {rows} x {cols} of {format}; this evaluator takes {expected}")]
pub struct TileError {
    what: &'static str,
    rows: usize,
    cols: usize,
    format: Format,
    expected: String,
}

impl Evaluator {
    /// D of m × n from A (m × K), B (K × n) and C (m × n), over all cores. Rows and columns are decoded once each.
    ///
    /// # Errors
    /// [`TileError`] where a format or an extent does not fit, and for a model with scales: those take
    /// [`Evaluator::dot`].
    pub fn tile(&self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Matrix, TileError> {
        let t = self.model.triple;
        let expect = |what, x: &Matrix, format: Format, rows: usize, cols: usize| {
            let (Matrix { rows: r, cols: s, format: f, .. }, expected) = (x, format!("{rows} x {cols} of {format}"));
            let fits = (*f, *r, *s) == (format, rows, cols) && x.bytes.len() == rows * Matrix::row_bytes(format, cols);
            if fits { Ok(()) } else { Err(TileError { what, rows: *r, cols: *s, format: *f, expected }) }
        };
        expect("A", a, t.a, a.rows, self.k)?;
        expect("B", b, t.b, self.k, b.cols)?;
        expect("C", c, t.c, a.rows, b.cols)?;
        if self.scales.is_some() {
            let expected = "rows with their scales: use `dot`".to_owned();
            return Err(TileError { what: "A", rows: a.rows, cols: a.cols, format: a.format, expected });
        }
        let decoded = |decoder: &Decoder, codes: Vec<u64>| {
            let mut row = Row::default();
            row.resize(self.program.order.len());
            self.decode(decoder, &codes, &[], &mut row);
            row
        };
        let columns: Vec<Row> =
            (0..b.cols).into_par_iter().map(|j| decoded(&self.b, (0..self.k).map(|i| b.get(i, j)).collect())).collect();
        let mut d = Matrix::zeroed(t.c, a.rows, b.cols);
        let row_bytes = Matrix::row_bytes(t.c, b.cols);
        if row_bytes > 0 {
            d.bytes.par_chunks_mut(row_bytes).enumerate().for_each_init(
                || self.scratch(),
                |scratch, (i, bytes)| {
                    let row = decoded(&self.a, (0..self.k).map(|j| a.get(i, j)).collect());
                    for (j, column) in columns.iter().enumerate() {
                        let Scratch { values, terms, .. } = scratch;
                        packing::set(t.c, bytes, j, self.run(&row, column, c.get(i, j), [&[], &[]], values, terms));
                    }
                },
            );
        }
        Ok(d)
    }
}
