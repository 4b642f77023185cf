//! What does a unit make of an operand's code before it multiplies or adds it?

use super::output::Rounded;
use super::sum::is_default;
use crate::Format;
use serde::{Deserialize, Serialize};

/// How the codes of one operand become values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intake {
    /// What becomes of subnormal codes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subnormals: Flush,
    /// The form that values are converted to after that: tf32 for f32 operands that are cut, f16 for fp8 ones that are
    /// multiplied by half-precision instructions. `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convert: Option<Rounded>,
}

/// What becomes of subnormal codes of an operand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// They stand for their values.
    #[default]
    Keep,
    /// They stand for a zero of their sign (denormals are zeros, as x86 has it).
    ToSignedZero,
    /// They stand for +0.
    ToPositiveZero,
}

impl Flush {
    /// Every rule.
    pub const ALL: [Flush; 3] = [Flush::Keep, Flush::ToSignedZero, Flush::ToPositiveZero];
}

/// Scale factors: one code of A's and one of B's scales for each scale group, a run of consecutive k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    /// Format of the scales of A: e8m0 or ue4m3.
    pub a: Format,
    /// Format of the scales of B.
    pub b: Format,
    /// Indices of k that share a scale.
    pub group: usize,
    /// What is multiplied by both scales.
    pub on: ScaledPart,
}

/// What scale factors multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaledPart {
    /// Each product: significands multiply, exponents add, before alignment.
    Products,
    /// The sum of each step, which must lie inside one scale group and take no c. What leaves the step unrounded has the
    /// sum of the scales' exponents as its exponent.
    Sums,
}
