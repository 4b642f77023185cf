//! How does a value that lies between two codes become one of them?

use serde::{Deserialize, Serialize};

/// Rounding of a value that is not representable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// To nearest, ties to the even code (RNE).
    NearestEven,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Toward zero (RZ, truncation).
    TowardZero,
    /// Toward plus infinity.
    Up,
    /// Toward minus infinity.
    Down,
    /// To odd: an inexact result takes the neighbour whose last bit is 1. Makes a later second rounding innocuous.
    Odd,
}

impl Rounding {
    /// Every mode.
    pub const ALL: [Rounding; 6] = [
        Rounding::NearestEven,
        Rounding::NearestAway,
        Rounding::TowardZero,
        Rounding::Up,
        Rounding::Down,
        Rounding::Odd,
    ];
}

/// What becomes of a value beyond the largest finite code.
///
/// OCP OFP8 1.0 asks for both behaviours of every conversion to an 8-bit float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The largest finite code of that sign (`satfinite`); infinities too. Integers clamp to their range.
    Saturate,
    /// Infinity where the format has one, else NaN, each only where the rounding direction points away from the
    /// largest finite code, as IEEE 754 has it; formats with neither saturate. Integers wrap modulo 2^bits.
    Ieee,
}

impl Overflow {
    /// Both behaviours.
    pub const ALL: [Overflow; 2] = [Overflow::Saturate, Overflow::Ieee];
}
