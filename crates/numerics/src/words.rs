//! Which random word belongs to input element (row, column)?
//!
//! A counter-based generator: word n is a function of (key, n) alone, so every element can be made on its own, in
//! any order, in any language with 64-bit integers. The function is the output step of SplitMix64 (Steele, Lea and
//! Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of Stafford's variant 13): two
//! multiplications and three shifts, good avalanche, and a bijection of 64-bit words.
//!
//! Its limits: it is no cipher, so inputs can be predicted and chosen; within one operand no two elements share a
//! word, a bias of order 2^−64 · elements that no test here could see; and the counters of two operands or seeds lie on the
//! same orbit, so two matrices of n × n share a shifted block with probability below n² · 2^−62.

use crate::{Operand, Recipe};

/// 2^64 divided by the golden ratio, odd: the stride of SplitMix64.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The bijection of 64-bit words that ends SplitMix64.
#[inline]
const fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// The words of one operand of one recipe and seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    key: u64,
}

/// The words of one row, column by column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowWords {
    start: u64,
}

impl Words {
    /// A column that no matrix has: its word belongs to the row as a whole. Likewise a row for a column as a whole.
    pub const WHOLE: u64 = u32::MAX as u64 - 1;

    /// The words of an operand.
    #[inline]
    pub const fn new(seed: u64, recipe: Recipe, operand: Operand) -> Words {
        let tag = 1 + 2 * recipe as u64 + operand as u64;
        Words { key: mix(mix(seed.wrapping_add(STRIDE)).wrapping_add(STRIDE.wrapping_mul(tag))) }
    }

    /// The words of a row. Rows and columns below [`Words::WHOLE`] never share a word.
    #[inline]
    pub const fn row(self, row: u64) -> RowWords {
        RowWords { start: self.key.wrapping_add(STRIDE.wrapping_mul(row << 32)) }
    }
}

impl RowWords {
    /// The word of a column.
    #[inline]
    pub const fn word(self, col: u64) -> u64 {
        mix(self.start.wrapping_add(STRIDE.wrapping_mul(col + 1)))
    }
}

/// A further word for an element that needs more than one.
#[inline]
pub const fn further(word: u64) -> u64 {
    mix(word.wrapping_add(STRIDE))
}
