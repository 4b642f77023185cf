//! What need evaluators of many similar models not do again?
//!
//! A search compares thousands of models with the same inputs. Most of them read their operands alike and differ in what
//! follows; then rows and columns are decoded once for all.

use super::error::ModelError;
use super::evaluator::{Evaluator, Scratch};
use super::model::Model;
use super::operand::Row;
use std::sync::Arc;

/// A row of A or a column of B with its scales, decoded. It is of use to the evaluator that made it and to all that
/// [decode alike](Evaluator::decodes_like).
#[derive(Debug, Clone)]
pub struct Line(Row);

impl Evaluator {
    /// A row of A, decoded.
    ///
    /// # Panics
    /// When there are not K codes.
    pub fn line_of_a(&self, codes: &[u64], scales: &[u64]) -> Line {
        assert_eq!(codes.len(), self.k, "a row of {} codes", self.k);
        let mut row = self.row();
        self.decode_a(codes, scales, &mut row);
        Line(row)
    }

    /// A column of B, decoded.
    ///
    /// # Panics
    /// When there are not K codes.
    pub fn line_of_b(&self, codes: &[u64], scales: &[u64]) -> Line {
        assert_eq!(codes.len(), self.k, "a column of {} codes", self.k);
        let mut row = self.row();
        self.decode_b(codes, scales, &mut row);
        Line(row)
    }

    /// The code of d for a decoded row, a decoded column and c: what [`Evaluator::dot`] gives for their codes.
    #[inline]
    pub fn dot_lines(&self, scratch: &mut Scratch, a: &Line, b: &Line, c: u64) -> u64 {
        self.run(&a.0, &b.0, c, &mut scratch.values, &mut scratch.terms)
    }

    /// Whether lines of one of two evaluators serve the other.
    pub fn decodes_like(&self, other: &Evaluator) -> bool {
        let scales = |e: &Evaluator| e.model.scales;
        self.a.reads_like(&other.a)
            && self.b.reads_like(&other.b)
            && scales(self) == scales(other)
            && (Arc::ptr_eq(&self.program.outline, &other.program.outline)
                || self.program.outline.order == other.program.outline.order)
    }

    /// Another model made ready for the same K; quicker than [`Evaluator::new`] where both read their operands alike.
    ///
    /// # Errors
    /// What [`Model::check`] says, for this K.
    pub fn remade(&self, model: &Model) -> Result<Evaluator, ModelError> {
        Evaluator::made(model, self.k, Some(self))
    }

    /// Memory for [`Evaluator::dot_lines`] alone.
    pub fn light_scratch(&self) -> Scratch {
        Scratch {
            a: Row::default(),
            b: Row::default(),
            values: vec![super::value::Value::ZERO; self.program.outline.slots],
            terms: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Distribution, draw_model};
    use super::*;

    #[test]
    fn lines_give_what_codes_give_and_remade_evaluators_what_new_ones_give() {
        let triple = "e4m3,e4m3->f16".parse().expect("a triple");
        let models: Vec<Model> =
            (0..40).filter_map(|seed| draw_model(seed, triple)).filter(|m| m.scales.is_none()).collect();
        for pair in models.windows(2) {
            let [first, second] = [&pair[0], &pair[1]].map(|model| Evaluator::new(model, 8).expect("an evaluator"));
            let remade = first.remade(second.model()).expect("an evaluator");
            for index in 0..60 {
                let inputs = Distribution::ALL[index % 6].inputs(second.model(), 8, 5, index as u64);
                let d = second.dot(&mut second.scratch(), inputs.codes());
                let (a, b) = (remade.line_of_a(&inputs.a, &[]), remade.line_of_b(&inputs.b, &[]));
                assert_eq!(remade.dot_lines(&mut remade.light_scratch(), &a, &b, inputs.c), d);
                if first.decodes_like(&second) {
                    let (a, b) = (first.line_of_a(&inputs.a, &[]), first.line_of_b(&inputs.b, &[]));
                    assert_eq!(second.dot_lines(&mut second.scratch(), &a, &b, inputs.c), d);
                }
            }
        }
    }
}
