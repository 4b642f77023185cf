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

/// What becomes of a finite value beyond the largest finite code after rounding, and of infinities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The largest finite code of that sign (`satfinite`); infinities too.
    Saturate,
    /// Infinity where the format has one (subject to the rounding direction, as IEEE 754), else NaN; formats with neither saturate.
    Ieee,
}
