//! What is computed of two operands, how large are these, and how far may it be off?

use crate::bound::{self, Tolerance};
use crate::epilogue::{self, Activation};
use crate::{Recipe, Shape, Triple, attention, recipe};

/// What is computed of A and B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Calculation {
    /// A·B.
    Product,
    /// An activation of A·B and a bias, the last row of B ([`epilogue`]).
    Finished(Activation),
    /// softmax(Q·Kᵀ / √d)·V, Q in A, K and V in B ([`attention`]).
    Attention,
}

impl Calculation {
    /// Rows and columns of A.
    pub const fn a(self, shape: Shape) -> (usize, usize) {
        match self {
            Calculation::Attention => (shape.m, shape.n),
            _ => (shape.m, shape.k),
        }
    }

    /// Rows and columns of B.
    pub const fn b(self, shape: Shape) -> (usize, usize) {
        match self {
            Calculation::Product => (shape.k, shape.n),
            Calculation::Finished(_) => (shape.k + 1, shape.n),
            Calculation::Attention => (2 * shape.m, shape.n),
        }
    }

    /// Multiplications and additions of the products in it.
    pub const fn operations(self, shape: Shape) -> u64 {
        match self {
            Calculation::Attention => 2 * shape.operations(),
            _ => shape.operations(),
        }
    }

    /// How far an output may be off.
    pub fn tolerance(self, triple: Triple, shape: Shape, recipe: Recipe) -> Tolerance {
        match self {
            Calculation::Product => bound::tolerance(triple, shape.k, recipe),
            Calculation::Finished(_) => epilogue::tolerance(triple, shape.k),
            Calculation::Attention => attention::tolerance(triple, shape, recipe),
        }
    }

    /// Whether a gate may use a recipe for it.
    ///
    /// # Errors
    /// Why not.
    pub fn fits(self, triple: Triple, shape: Shape, recipe: Recipe) -> Result<(), String> {
        if self != Calculation::Product && triple.is_integer() {
            return Err(format!("no activation follows a product of {triple}"));
        }
        let fits = |k| recipe::fits(recipe, triple, k).map_err(|e| e.to_string());
        match self {
            Calculation::Attention => {
                attention::misfit(shape).map_or(Ok(()), Err)?;
                // Scores have N terms; outputs are means of values.
                fits(shape.n)
            }
            _ => fits(self.b(shape).0),
        }
    }
}
