//! How does a software unit compute an element of D by its model?

use super::unit_choice::{column, row};
use super::unit_truth::EvaluatedBy;
use crate::contract::Fault;
use crate::unit::Operands;
use rayon::prelude::*;
use rigel_numerics::arithmetic::{DotInputs, Evaluator, Inputs, Model, ModelError, Scratch, slow};
use rigel_numerics::{Matrix, packing};

/// A model made ready for rows of one length.
#[derive(Debug, Clone)]
pub(super) enum Engine {
    Fast(Box<Evaluator>),
    Slow(Box<Model>),
}

impl Engine {
    /// # Errors
    /// What makes it impossible to evaluate the model at this K by either evaluator.
    pub(super) fn new(model: &Model, k: usize, by: EvaluatedBy) -> Result<Engine, ModelError> {
        let evaluator = Evaluator::new(model, k)?;
        Ok(match by {
            EvaluatedBy::Fast => Engine::Fast(Box::new(evaluator)),
            EvaluatedBy::Slow => Engine::Slow(Box::new(model.clone())),
        })
    }

    /// Memory that one element leaves to the next; the slow evaluator keeps none.
    pub(super) fn scratch(&self) -> Option<Scratch> {
        match self {
            Engine::Fast(evaluator) => Some(evaluator.scratch()),
            Engine::Slow(_) => None,
        }
    }

    /// The code of one element.
    pub(super) fn dot(&self, scratch: &mut Option<Scratch>, inputs: Inputs<'_>) -> Result<u64, Fault> {
        match self {
            Engine::Fast(evaluator) => Ok(evaluator.dot(scratch.get_or_insert_with(|| evaluator.scratch()), inputs)),
            Engine::Slow(model) => slow::dot(model, inputs).map_err(|e| Fault::Failed(e.to_string())),
        }
    }

    /// D of one tile.
    pub(super) fn tile(&self, tile: &Tile) -> Result<Matrix, Fault> {
        let evaluator = match self {
            Engine::Fast(evaluator) => evaluator,
            Engine::Slow(_) => return self.element_by_element(tile),
        };
        let d = match &tile.scales {
            None => evaluator.tile(&tile.a, &tile.b, &tile.c),
            Some((a, b)) => evaluator.scaled_tile(&tile.a, &tile.b, &tile.c, a, b),
        };
        d.map_err(|e| Fault::Failed(e.to_string()))
    }

    fn element_by_element(&self, tile: &Tile) -> Result<Matrix, Fault> {
        let mut d = tile.c.clone();
        let (format, n) = (d.format, d.cols);
        let width = Matrix::row_bytes(format, n);
        d.bytes.par_chunks_mut(width).enumerate().try_for_each(|(i, row)| {
            let mut scratch = self.scratch();
            for j in 0..n {
                let code = self.dot(&mut scratch, tile.inputs(i, j).codes())?;
                packing::set(format, row, j, code);
            }
            Ok::<(), Fault>(())
        })?;
        Ok(d)
    }
}

/// The operands of one tile.
#[derive(Debug, Clone)]
pub(super) struct Tile {
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
    pub scales: Option<(Matrix, Matrix)>,
}

impl Tile {
    /// Tile `t` of a batch of tiles of m rows of A and k of B, with `groups` scales along k.
    pub(super) fn of(operands: Operands<'_>, t: usize, (m, k, groups): (usize, usize, usize)) -> Tile {
        Tile {
            a: rows(operands.a, t * m, m),
            b: rows(operands.b, t * k, k),
            c: rows(operands.c, t * m, m),
            scales: operands.scales.map(|(a, b)| (rows(a, t * m, m), rows(b, t * groups, groups))),
        }
    }

    /// What goes into element (i, j).
    pub(super) fn inputs(&self, i: usize, j: usize) -> DotInputs {
        let (a_scales, b_scales) = match &self.scales {
            Some((a, b)) => (row(a, i), column(b, j)),
            None => (Vec::new(), Vec::new()),
        };
        DotInputs { a: row(&self.a, i), b: column(&self.b, j), c: self.c.get(i, j), a_scales, b_scales }
    }
}

/// Some rows of a matrix.
fn rows(matrix: &Matrix, from: usize, count: usize) -> Matrix {
    let width = Matrix::row_bytes(matrix.format, matrix.cols);
    let bytes = matrix.bytes[from * width..(from + count) * width].to_vec();
    Matrix { format: matrix.format, rows: count, cols: matrix.cols, bytes }
}
