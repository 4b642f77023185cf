//! Which code does a conversion between two formats make of a code?

use crate::{Format, Overflow, Rounding};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule of conversion. NaN codes may become any NaN under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedConversion {
    /// What the codes that it takes stand for.
    pub from: Format,
    /// What the codes that it gives stand for.
    pub to: Format,
    /// Rounding.
    pub rounding: Rounding,
    /// What lies beyond the largest finite value.
    pub overflow: Overflow,
    /// Subnormals that it takes count as zeros.
    pub flushes_in: bool,
    /// Subnormals that it would give become zeros.
    pub flushes_out: bool,
}

impl NamedConversion {
    /// The code that the rule makes of a code; of a NaN the usual one.
    pub fn of(&self, code: u64) -> u64 {
        let value = self.from.decode(code);
        let subnormal = |format: Format, value: f64| value != 0.0 && value.abs() < format.min_normal();
        let flushed = if self.flushes_in && subnormal(self.from, value) { 0.0_f64.copysign(value) } else { value };
        let converted = self.to.encode(flushed, self.rounding, self.overflow);
        let result = self.to.decode(converted);
        if self.flushes_out && subnormal(self.to, result) {
            return self.to.encode(0.0_f64.copysign(result), self.rounding, self.overflow);
        }
        converted
    }

    /// Whether the rule gives this code; a NaN may become any NaN.
    pub fn explains(&self, code: u64, found: u64) -> bool {
        let rule = self.of(code);
        rule == found || self.from.is_nan(code) && self.to.is_nan(found)
    }
}

impl fmt::Display for NamedConversion {
    /// `f16 to e4m3, to nearest even, saturating, subnormal results flushed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounding = match self.rounding {
            Rounding::NearestEven => "to nearest even",
            Rounding::NearestAway => "to nearest, ties away",
            Rounding::TowardZero => "toward zero",
            Rounding::Up => "up",
            Rounding::Down => "down",
            Rounding::Odd => "to odd",
        };
        let overflow = match self.overflow {
            Overflow::Saturate => ", saturating",
            Overflow::Ieee => "",
        };
        let flushed = match (self.flushes_in, self.flushes_out) {
            (false, false) => "",
            (true, false) => ", subnormal operands flushed",
            (false, true) => ", subnormal results flushed",
            (true, true) => ", subnormal operands and results flushed",
        };
        f.pad(&format!("{} to {}, {rounding}{overflow}{flushed}", self.from, self.to))
    }
}
