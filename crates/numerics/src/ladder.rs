//! How far apart are the large and the tiny terms of a hostile ladder?
//!
//! A dot product of one large term L and many tiny ones L·2^−s is exact only in an accumulator of at least s bits or
//! so; the order of the terms and the rounding decide what a narrower one returns. The idea is that of the study's
//! cell 448 + 127 × 1/16 (Rigel, arXiv 2606.12765), which ends at 13 bits; the ladder goes as far as each format
//! allows.

use crate::Format;
use crate::codec::power_of_two;

/// The ladder of a format: row r has one element 2^top and otherwise 2^(top − s) with s = 1 + r mod rungs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    /// log2 of the large term L.
    pub top: i32,
    /// The number of rungs; every L · 2^−s up to the last is a value of the format.
    pub rungs: u64,
}

impl Ladder {
    /// The ladder of a format, `None` where it has no rung (i2), is no operand (E8M0), or was none when the recipes' text was written
    /// that every run holds by its digest (i16, u2).
    ///
    /// L is 1 where 2^−24 is representable, which keeps Σ|a||b| small enough for every output; narrower formats
    /// start from their largest power of two. Block-scaled formats have the ladder of their elements, under scales of 1. 32 rungs pass every accumulator of f32; f64 has 60.
    pub const fn of(format: Format) -> Option<Ladder> {
        let (top, rungs) = match format {
            Format::F64 => (0, 60),
            Format::F32 | Format::Tf32 | Format::Bf16 => (0, 32),
            Format::F16 => (0, 24),
            Format::E5m2 => (15, 31),
            Format::E5m2Fnuz => (15, 32),
            Format::E4m3 | Format::Ue4m3 | Format::Mxe4m3 => (8, 17),
            Format::E4m3Fnuz => (7, 17),
            Format::E3m2 => (4, 8),
            Format::E2m3 => (2, 5),
            Format::E2m1 | Format::Mxe2m1 | Format::Nve2m1 => (2, 3),
            Format::I32 => (30, 30),
            Format::I8 => (6, 6),
            Format::U8 => (7, 7),
            Format::I4 => (2, 2),
            Format::U4 => (3, 3),
            Format::I2 | Format::U2 | Format::I16 | Format::E8m0 => return None,
        };
        Some(Ladder { top, rungs })
    }

    /// L, the large term.
    pub fn large(self) -> f64 {
        power_of_two(self.top)
    }

    /// s of a row: its tiny terms are L · 2^−s.
    pub const fn rung(self, row: u64) -> u64 {
        1 + row % self.rungs
    }
}
