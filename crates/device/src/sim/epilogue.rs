//! What does an epilogue cost on a planted device, and what does it leave?
//!
//! An element costs a pass over C `1 / pass_rate` seconds. A kernel of its own pays that and the launch; fused it pays a share of it. So the
//! planted gain falls with K, as it does on devices.

use super::product::Products;
use super::truth::PlantedTriple;
use crate::contract::Epilogue;
use rigel_numerics::epilogue::{Activation, with_ones};
use rigel_numerics::{Matrix, Overflow, Rounding, Shape};
use serde::{Deserialize, Serialize};

/// What an epilogue costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedEpilogue {
    /// Elements a second that a kernel of its own goes over.
    pub pass_rate: f64,
    /// Part of that time that a fused epilogue costs.
    pub fused_share: f64,
    /// Whether fused kernels forget the bias.
    #[serde(default)]
    pub forgets_bias: bool,
}

impl PlantedEpilogue {
    /// Seconds on top of the product's own.
    pub fn seconds(&self, triple: &PlantedTriple, shape: Shape, epilogue: Epilogue) -> f64 {
        let pass = shape.m as f64 * shape.n as f64 / self.pass_rate;
        if epilogue.fused { self.fused_share * pass } else { triple.launch.seconds() + pass }
    }

    /// The output of a product with this epilogue; B has the bias below it.
    pub fn output(
        &self,
        products: &mut Products,
        planted: &PlantedTriple,
        epilogue: Epilogue,
        a: &Matrix,
        b: &Matrix,
    ) -> Matrix {
        let mut b = b.clone();
        if self.forgets_bias && epilogue.fused {
            let last = b.rows - 1;
            b.row_mut(last).fill(0);
        }
        let sums = products.of(planted.arithmetic, planted.triple, &with_ones(a), &b);
        activated(&sums, epilogue.activation)
    }
}

/// Every element through the activation, rounded to nearest.
fn activated(sums: &Matrix, activation: Activation) -> Matrix {
    let mut output = Matrix::zeroed(sums.format, sums.rows, sums.cols);
    for row in 0..sums.rows {
        for column in 0..sums.cols {
            let value = activation.of(sums.value(row, column));
            output.set(row, column, sums.format.encode(value, Rounding::NearestEven, Overflow::Ieee));
        }
    }
    output
}
