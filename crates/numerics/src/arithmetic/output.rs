//! What leaves a step, and how is it rounded?

use super::sum::is_default;
use crate::{Format, Rounding};
use serde::{Deserialize, Serialize};

/// What leaves a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// The sum as it is, with η as its exponent.
    Unrounded,
    /// A rounded floating value.
    Rounded(Rounded),
    /// An integer of fixed width.
    Integer(IntegerOutput),
}

/// A floating value: whose exponent range, how many significant bits, and how it gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounded {
    /// The format whose exponent range it has.
    pub format: Format,
    /// Significant bits of a normal value, hidden one included; `None`: those of the format. Fewer leave low bits of
    /// the code zero (14 in f32 is E8M13); more are bits that only steps see. At most 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<u32>,
    /// Rounding.
    pub rounding: Rounding,
    /// What a value beyond the largest finite one becomes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overflow: OverflowTo,
    /// What a value below the least normal one becomes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subnormals: Subnormals,
    /// Sign of a zero that a nonzero value becomes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vanished: Vanished,
}

impl Rounded {
    /// Rounded to a format, overflowing to infinity, subnormals kept.
    pub const fn to(format: Format, rounding: Rounding) -> Rounded {
        let (overflow, subnormals) = (OverflowTo::Infinity, Subnormals::Keep);
        Rounded { format, precision: None, rounding, overflow, subnormals, vanished: Vanished::KeepsSign }
    }

    /// Significant bits of a normal value.
    pub const fn significant_bits(&self) -> u32 {
        match self.precision {
            Some(bits) => bits,
            None => self.format.precision(),
        }
    }
}

/// What a value beyond the largest finite one becomes. Formats without infinity give NaN in its place, those without
/// NaN the largest finite value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverflowTo {
    /// Infinity, whatever the rounding.
    #[default]
    Infinity,
    /// Infinity or the largest finite value, by the direction of the rounding, as IEEE 754 §7.4 has it.
    Directed,
    /// The largest finite value of that sign; infinite sums too.
    Largest,
}

impl OverflowTo {
    /// Every rule.
    pub const ALL: [OverflowTo; 3] = [OverflowTo::Infinity, OverflowTo::Directed, OverflowTo::Largest];
}

/// What a value below the least normal one becomes on its way out of a step; [`Vanished`] has the sign of a flushed one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subnormals {
    /// A subnormal, rounded once.
    #[default]
    Keep,
    /// Zero where the exact sum lies below the least normal value (tininess before rounding).
    FlushBefore,
    /// Zero where the sum, rounded as if exponents had no lower end, lies below the least normal value (tininess after
    /// rounding, as x86 has it).
    FlushAfter,
    /// Zero where the rounded result is subnormal.
    FlushStored,
}

impl Subnormals {
    /// Every rule.
    pub const ALL: [Subnormals; 4] =
        [Subnormals::Keep, Subnormals::FlushBefore, Subnormals::FlushAfter, Subnormals::FlushStored];
}

/// Sign of the zero that a nonzero value becomes by rounding or flushing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vanished {
    /// That of the value, as IEEE 754 has it.
    #[default]
    KeepsSign,
    /// +0.
    Positive,
}

impl Vanished {
    /// Both rules.
    pub const ALL: [Vanished; 2] = [Vanished::KeepsSign, Vanished::Positive];
}

/// An integer of fixed width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegerOutput {
    /// Width in bits, 2 … 63.
    pub bits: u32,
    /// Two's complement, or unsigned.
    pub signed: bool,
    /// What a sum beyond the width becomes.
    pub overflow: IntegerOverflow,
}

/// What an integer beyond its width becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegerOverflow {
    /// Its residue modulo 2^bits.
    Wrap,
    /// The nearest end of the range.
    Saturate,
}

impl IntegerOverflow {
    /// Both rules.
    pub const ALL: [IntegerOverflow; 2] = [IntegerOverflow::Wrap, IntegerOverflow::Saturate];
}
