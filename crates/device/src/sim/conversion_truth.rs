//! Which conversions of single codes are planted in a software device?
//!
//! TOML key `conversion`. A code becomes its value, subnormals perhaps flushed; the value is rounded to the other
//! format. Quirks come on top: the order of nibbles, and codes that are no conversion's.
//!
//! ```toml
//! [[conversion]]
//! name = "cvt.rn.satfinite.e4m3"
//! from = "f32"
//! to = "e4m3"
//! overflow = "saturate"
//! nan = { word = 127 }
//! ```

use super::unit_truth::{is_default, is_planted, planted};
use rigel_numerics::arithmetic::{Flush, Subnormals};
use rigel_numerics::{Format, Overflow, Rounding};
use serde::{Deserialize, Serialize};

/// One conversion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedConversion {
    /// Name, unique on the device (required).
    pub name: String,
    /// Format of what it takes (required).
    pub from: Format,
    /// Format of what it gives (required).
    pub to: Format,
    /// Document and section, or what it is.
    #[serde(default = "planted", skip_serializing_if = "is_planted")]
    pub source: String,
    /// Why it cannot be had; empty when it can.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub absent: String,
    /// What becomes of subnormal codes that it takes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subnormals_in: Flush,
    /// Rounding.
    #[serde(default = "nearest_even", skip_serializing_if = "is_nearest_even")]
    pub rounding: Rounding,
    /// What becomes of values beyond the largest finite one, and of infinities.
    #[serde(default = "ieee", skip_serializing_if = "is_ieee")]
    pub overflow: Overflow,
    /// What becomes of values below the least normal one. A flushed value keeps its sign where the format has −0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subnormals_out: Subnormals,
    /// What becomes of NaN.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nan: NanTo,
    /// Which of two codes in a byte comes first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nibbles: Nibbles,
    /// Codes that become something else: from, to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<(u64, u64)>,
}

/// What becomes of NaN.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NanTo {
    /// What [`Format::encode`] makes of it.
    #[default]
    Canonical,
    /// Always this word.
    Word(u64),
    /// The NaN of the same sign whose fraction starts with the same bits, made quiet; for formats whose NaN have a
    /// fraction.
    Payload,
}

/// Which of the two 4-bit codes in a byte comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nibbles {
    /// The low one, as everywhere in this project.
    #[default]
    LowFirst,
    /// The high one: of every two codes given in turn, the results change places. A last one without partner keeps its
    /// own.
    HighFirst,
}

fn nearest_even() -> Rounding {
    Rounding::NearestEven
}

fn is_nearest_even(rounding: &Rounding) -> bool {
    *rounding == Rounding::NearestEven
}

fn ieee() -> Overflow {
    Overflow::Ieee
}

fn is_ieee(overflow: &Overflow) -> bool {
    *overflow == Overflow::Ieee
}
