//! What does a model make of whole matrices?

use super::evaluator::{Evaluator, Scratch};
use super::operand::Row;
use crate::{Format, Matrix, packing};
use rayon::prelude::*;

/// A matrix that is not what a tile takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {rows} x {cols} of {format} in {bytes} bytes; this evaluator takes {expected}")]
pub struct TileError {
    what: &'static str,
    rows: usize,
    cols: usize,
    format: Format,
    bytes: usize,
    expected: String,
}

/// Products below which one core is quicker than several.
const SMALL: usize = 1 << 15;

impl Evaluator {
    /// D of m × n from A (m × K), B (K × n) and C (m × n), over all cores. Rows and columns are decoded once each.
    ///
    /// # Errors
    /// [`TileError`] where a format or an extent does not fit, and for a model with scales.
    pub fn tile(&self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Matrix, TileError> {
        self.any_tile(a, b, c, None)
    }

    /// As [`Evaluator::tile`], for a model with scales: those of A are m × groups, those of B groups × n.
    ///
    /// # Errors
    /// [`TileError`] where a format or an extent does not fit, and for a model without scales.
    pub fn scaled_tile(
        &self,
        a: &Matrix,
        b: &Matrix,
        c: &Matrix,
        a_scales: &Matrix,
        b_scales: &Matrix,
    ) -> Result<Matrix, TileError> {
        self.any_tile(a, b, c, Some((a_scales, b_scales)))
    }

    fn any_tile(
        &self,
        a: &Matrix,
        b: &Matrix,
        c: &Matrix,
        scales: Option<(&Matrix, &Matrix)>,
    ) -> Result<Matrix, TileError> {
        let (t, k, m, n) = (self.model.triple, self.k, a.rows, b.cols);
        expect("A", a, t.a, m, k)?;
        expect("B", b, t.b, k, n)?;
        expect("C", c, t.c, m, n)?;
        match (self.model.scales, scales) {
            (None, None) => {}
            (Some(s), Some((x, y))) => {
                let groups = self.model.scale_groups(k);
                expect("the scales of A", x, s.a, m, groups)?;
                expect("the scales of B", y, s.b, groups, n)?;
            }
            (Some(_), None) => return Err(refused("A", a, "a matrix of scales beside each operand".to_owned())),
            (None, Some((x, _))) => return Err(refused("the scales of A", x, "no scales".to_owned())),
        }
        let row_of = |x: &Matrix, i: usize| (0..x.cols).map(|j| x.get(i, j)).collect::<Vec<u64>>();
        let column_of = |x: &Matrix, j: usize| (0..x.rows).map(|i| x.get(i, j)).collect::<Vec<u64>>();
        let columns: Vec<Row> = (0..n)
            .into_par_iter()
            .with_min_len(1 + SMALL / k)
            .map(|j| {
                let mut column = self.row();
                self.decode_b(&column_of(b, j), &scales.map_or(Vec::new(), |s| column_of(s.1, j)), &mut column);
                column
            })
            .collect();
        let mut d = Matrix::zeroed(t.c, m, n);
        let row_bytes = Matrix::row_bytes(t.c, n);
        if row_bytes > 0 {
            d.bytes.par_chunks_mut(row_bytes).enumerate().with_min_len(1 + SMALL / (n * k)).for_each_init(
                || self.scratch(),
                |Scratch { a: row, values, terms, .. }, (i, bytes)| {
                    self.decode_a(&row_of(a, i), &scales.map_or(Vec::new(), |s| row_of(s.0, i)), row);
                    for (j, column) in columns.iter().enumerate() {
                        packing::set(t.c, bytes, j, self.run(row, column, c.get(i, j), values, terms));
                    }
                },
            );
        }
        Ok(d)
    }
}

fn expect(what: &'static str, x: &Matrix, format: Format, rows: usize, cols: usize) -> Result<(), TileError> {
    let bytes = rows * Matrix::row_bytes(format, cols);
    if (x.format, x.rows, x.cols, x.bytes.len()) == (format, rows, cols, bytes) {
        return Ok(());
    }
    Err(refused(what, x, format!("{rows} x {cols} of {format} in {bytes} bytes")))
}

fn refused(what: &'static str, x: &Matrix, expected: String) -> TileError {
    TileError { what, rows: x.rows, cols: x.cols, format: x.format, bytes: x.bytes.len(), expected }
}
