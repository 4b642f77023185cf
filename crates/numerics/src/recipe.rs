//! What is input element (row, column) of operand A or B, for a given seed and recipe?

use serde::{Deserialize, Serialize};

/// Which operand of C = A·B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operand {
    /// The left operand, m × k: row = m index, column = k index.
    A,
    /// The right operand, k × n: row = k index, column = n index.
    B,
}

/// How input bit patterns are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Uniform over the finite codes of the format (wide formats: over a window of exponents).
    Uniform,
    /// Bell-shaped, standard deviation near 1 for floats; scaled to the range for integers.
    NearNormal,
    /// Every element is 1.
    Constant,
    /// Every element is +0.
    Zeros,
    /// Small integers: products and partial sums are exact in every format that holds them.
    SmallIntegers,
    /// One large term among many tiny ones in every dot product, at rungs that grow with the row.
    HostileLadder,
}

impl Recipe {
    /// Every recipe.
    pub const ALL: [Recipe; 6] = [
        Recipe::Uniform,
        Recipe::NearNormal,
        Recipe::Constant,
        Recipe::Zeros,
        Recipe::SmallIntegers,
        Recipe::HostileLadder,
    ];

    /// The stable name, as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Recipe::Uniform => "uniform",
            Recipe::NearNormal => "near-normal",
            Recipe::Constant => "constant",
            Recipe::Zeros => "zeros",
            Recipe::SmallIntegers => "small-integers",
            Recipe::HostileLadder => "hostile-ladder",
        }
    }
}
