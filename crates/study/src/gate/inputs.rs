//! Which operands, and which sums and bounds, does a product have to be judged by?

use super::View;
use rigel_ledger::gate::FaultTrial;
use rigel_numerics::attention::Attention;
use rigel_numerics::bound::Tolerance;
use rigel_numerics::checksum::Checksums;
use rigel_numerics::compare::rows_of;
use rigel_numerics::epilogue::{self, Activation, with_ones};
use rigel_numerics::exact::{self, Dot};
use rigel_numerics::reference::{Reference, reference};
use rigel_numerics::{Calculation, Matrix, Shape, Triple};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Inputs of cells that share them, with what is known of their product.
pub struct Inputs {
    /// The left operand.
    pub a: Arc<Matrix>,
    /// The right operand.
    pub b: Arc<Matrix>,
    /// Limit of `right`.
    pub tolerance: Tolerance,
    pub(super) triple: Triple,
    pub(super) shape: Shape,
    pub(super) calculation: Calculation,
    /// What its witness elements follow from.
    pub(super) seed: u64,
    /// Whether the recipe hides planted faults, so that none are planted.
    pub(super) blind: bool,
    /// Whether every element stands in the witness.
    pub(super) whole: bool,
    pub(super) against: Against,
    /// What a full check of a few rows says of faults planted into the right product, once it was asked.
    pub(super) sizes: OnceCell<Result<Rc<[FaultTrial]>, String>>,
    /// What a sampled check saw of outputs, faults planted into them included: equal bytes, looked at under an equal tile, need no
    /// second look.
    pub(super) seen: RefCell<HashMap<Looked, View>>,
}

/// What outputs are checked against.
pub(super) enum Against {
    /// Every element.
    Whole(Reference<Arc<Matrix>>),
    /// Sums and a sample of elements, above the size of a full check.
    Sums(Checksums<Arc<Matrix>>),
    /// Every element of some rows, above that size behind an activation, through which no sum goes.
    Rows(Vec<usize>, Reference<Arc<Matrix>>),
    /// Every element of these rows, all or some, of an attention.
    Attention(Vec<usize>, Attention),
}

impl Inputs {
    /// The exact dot product of an element.
    pub(super) fn exact(&self, row: usize, col: usize) -> Option<Dot> {
        if let Against::Attention(_, attention) = &self.against {
            return attention.line(row).dot(col);
        }
        let terms = (0..self.shape.k).map(|k| (self.a.get(row, k), self.b.get(k, col)));
        match self.activation() {
            None => exact::dot(self.triple.a, self.triple.b, terms).ok(),
            Some(activation) => epilogue::dot(self.triple, activation, terms, self.b.get(self.shape.k, col)).ok(),
        }
    }

    /// What follows the product; the last row of `b` is the bias then.
    pub(super) fn activation(&self) -> Option<Activation> {
        match self.calculation {
            Calculation::Finished(activation) => Some(activation),
            Calculation::Product | Calculation::Attention => None,
        }
    }

    /// The float64 reference of some rows, before an activation.
    pub(super) fn sums_of(&self, rows: &[usize]) -> Result<Reference<Arc<Matrix>>, String> {
        let a = rows_of(&self.a, rows);
        let a = Arc::new(if self.activation().is_some() { with_ones(&a) } else { a });
        reference(self.triple, a, Arc::clone(&self.b)).map_err(|e| e.to_string())
    }

    /// Some rows of the product, checked element by element.
    pub(super) fn rows(&self, rows: &[usize]) -> Result<Inputs, String> {
        let part = self.sums_of(rows)?;
        Ok(Inputs {
            a: Arc::new(rows_of(&self.a, rows)),
            b: Arc::clone(&self.b),
            tolerance: self.tolerance,
            triple: self.triple,
            shape: Shape { m: rows.len(), ..self.shape },
            calculation: self.calculation,
            seed: self.seed,
            blind: self.blind,
            whole: false,
            against: Against::Whole(through(part, self.activation())),
            sizes: OnceCell::new(),
            seen: RefCell::default(),
        })
    }
}

/// A reference through an activation, where there is one.
pub(super) fn through(reference: Reference<Arc<Matrix>>, activation: Option<Activation>) -> Reference<Arc<Matrix>> {
    match activation {
        None => reference,
        Some(activation) => epilogue::activated(reference, activation),
    }
}

/// An output's bytes, hashed, and the launch tile whose edges are looked at.
pub(super) type Looked = (blake3::Hash, (usize, usize));
