//! What does an attention cost on a planted device, and what does it leave?
//!
//! Both forms take two products. A score costs a pass of `1 / pass_rate` seconds: decomposed it is paid whole, with the launches of three
//! kernels; fused a share of it is, with one launch.

use super::truth::PlantedTriple;
use rigel_numerics::attention::Attention;
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an attention costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedAttention {
    /// Scores a second that a kernel of its own goes over.
    pub pass_rate: f64,
    /// Part of that time that scores in a fused kernel cost.
    pub fused_share: f64,
    /// Whether there is no decomposed form.
    #[serde(default)]
    pub fused_only: bool,
    /// Whether fused kernels forget the scale of the scores.
    #[serde(default)]
    pub forgets_scale: bool,
}

impl PlantedAttention {
    /// Seconds, where one product of this shape takes `product` with its launch.
    pub fn seconds(&self, triple: &PlantedTriple, shape: Shape, product: f64, fused: bool) -> f64 {
        let pass = shape.m as f64 * shape.k as f64 / self.pass_rate;
        let launch = triple.launch.seconds();
        if fused { 2.0 * product - launch + self.fused_share * pass } else { 2.0 * product + launch + pass }
    }

    /// The output: every element rounded to nearest; the reason why there is none.
    pub fn output(
        &self,
        triple: &PlantedTriple,
        shape: Shape,
        fused: bool,
        a: &Matrix,
        b: &Matrix,
    ) -> Result<Matrix, String> {
        let triple = triple.triple;
        let attention = Attention::new(triple, shape, Arc::new(a.clone()), Arc::new(b.clone()))?;
        let factor = if self.forgets_scale && fused { (shape.n as f64).sqrt() } else { 1.0 };
        let mut output = Matrix::zeroed(triple.c, shape.m, shape.n);
        for row in 0..shape.m {
            let query: Vec<f64> = attention.query(row).into_iter().map(|q| q * factor).collect();
            let line = attention.head(row).line(triple, shape, &query);
            for (column, &value) in line.sums.iter().enumerate() {
                output.set(row, column, encoded(triple.c, value));
            }
        }
        Ok(output)
    }
}

fn encoded(format: Format, value: f64) -> u64 {
    format.encode(value, Rounding::NearestEven, Overflow::Ieee)
}
