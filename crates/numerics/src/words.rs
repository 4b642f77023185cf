//! Which random word belongs to input element (row, column)?
//!
//! A counter-based generator: word n is a function of (key, n) alone, so every element can be made on its own, in
//! any order, in any language with 64-bit integers. The function is the output step of SplitMix64 (Steele, Lea and
//! Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of Stafford's variant 13): two
//! multiplications and three shifts, good avalanche, and a bijection of 64-bit words.
//!
//! Its limits: it is no cipher, so inputs can be predicted and chosen; within one operand no two elements share a
//! word, a bias of order 2^−64 · elements that no test here could see; and the counters of two operands or seeds lie
//! on the same orbit, so two matrices of n × n share a shifted block with probability below n² · 2^−62.

use crate::random::{GOLDEN, mix};
use crate::{Operand, Recipe};

/// The words of one operand of one recipe and seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    key: u64,
}

/// A row or a column of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// The row of this index; element i of it is column i.
    Row(u64),
    /// The column of this index; element i of it is row i.
    Column(u64),
}

/// The words of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineWords {
    start: u64,
    stride: u64,
}

impl Words {
    /// A column that no matrix has: its word belongs to the row as a whole. Likewise a row for a column as a whole.
    pub const WHOLE: u64 = u32::MAX as u64 - 1;

    /// The words of an operand.
    #[inline]
    pub const fn new(seed: u64, recipe: Recipe, operand: Operand) -> Words {
        let tag = 1 + 2 * recipe as u64 + operand as u64;
        Words { key: mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(GOLDEN.wrapping_mul(tag))) }
    }

    /// The words of a line. Rows and columns below [`Words::WHOLE`] never share a word.
    #[inline]
    pub const fn along(self, line: Line) -> LineWords {
        let (first, stride) = match line {
            Line::Row(row) => (row << 32, GOLDEN),
            Line::Column(col) => (col, GOLDEN << 32),
        };
        LineWords { start: self.key.wrapping_add(GOLDEN.wrapping_mul(first.wrapping_add(1))), stride }
    }
}

impl LineWords {
    /// The word of element i of the line.
    #[inline]
    pub const fn word(self, i: u64) -> u64 {
        mix(self.start.wrapping_add(self.stride.wrapping_mul(i)))
    }
}

/// A further word for an element that needs more than one.
#[inline]
pub const fn further(word: u64) -> u64 {
    mix(word.wrapping_add(GOLDEN))
}
