//! How does a random word become a code, one element or a whole matrix at a time?

use crate::codec::Layout;
use crate::format::Specials;
use crate::packing::set_bits;
use crate::recipe::{Ladder, small_integers, windowed};
use crate::words::{Words, further};
use crate::{Format, Matrix, Operand, Overflow, Recipe, Rounding};
use rayon::prelude::*;

/// Elements that one task of the thread pool makes at least.
const TASK: usize = 1 << 14;

impl Recipe {
    /// The code of element (row, col) of an operand, by integer arithmetic alone, as [`crate::recipe::RECIPE_TEXT`] states.
    ///
    /// Rows and columns lie below 2^32 − 2. A pair that [`Recipe::supports`] refuses gives code 0 everywhere:
    /// ask before.
    pub fn element(self, format: Format, seed: u64, operand: Operand, row: u64, col: u64) -> u64 {
        let mut code = 0;
        self.visit_row(format, seed, operand, row, One { col, code: &mut code });
        code
    }

    /// The whole operand, `rows × cols`, on all threads of the current rayon pool. Equal to [`Recipe::element`] everywhere.
    pub fn matrix(self, format: Format, seed: u64, operand: Operand, rows: usize, cols: usize) -> Matrix {
        let mut matrix = Matrix::zeroed(format, rows, cols);
        let row_bytes = Matrix::row_bytes(format, cols);
        if row_bytes == 0 {
            return matrix;
        }
        let rows_at_once = (TASK / cols).max(1);
        matrix.bytes.par_chunks_mut(row_bytes * rows_at_once).enumerate().for_each(|(task, bytes)| {
            for (i, bytes) in bytes.chunks_mut(row_bytes).enumerate() {
                let row = (task * rows_at_once + i) as u64;
                self.visit_row(format, seed, operand, row, Packed { format, cols, bytes });
            }
        });
        matrix
    }

    /// Hands the function from column to code, specialised for this recipe and format, to a visitor.
    #[inline]
    fn visit_row(self, format: Format, seed: u64, operand: Operand, row: u64, visitor: impl Visitor) {
        if self.supports(format).is_err() {
            return visitor.visit(|_| 0);
        }
        let all = Words::new(seed, self, operand);
        let words = all.row(row);
        let code = |significand: i128, exponent| {
            format.encode_scaled(significand, exponent, Rounding::NearestEven, Overflow::Saturate)
        };
        match self {
            Recipe::Zeros => visitor.visit(|_| 0),
            Recipe::Constant => {
                let one = code(1, 0);
                visitor.visit(|_| one);
            }
            Recipe::SmallIntegers => {
                let (least, most) = small_integers(format);
                let codes: [u64; 9] = std::array::from_fn(|i| code(i128::from(least) + i as i128, 0));
                let choices = (most - least + 1) as u64;
                visitor.visit(|col| codes[below(words.word(col), choices) as usize]);
            }
            Recipe::Uniform => match Layout::of(format) {
                None => {
                    let drop = 64 - format.bits();
                    visitor.visit(|col| words.word(col) >> drop);
                }
                Some(layout) if windowed(format) => visitor.visit(|col| in_window(&layout, words.word(col))),
                Some(layout) => {
                    let draw = FiniteCodes::of(&layout);
                    visitor.visit(|col| draw.code(&layout, words.word(col)));
                }
            },
            Recipe::NearNormal => match Layout::of(format) {
                Some(layout) if format.precision() <= 11 => visitor.visit(|col| {
                    let sum = three_lanes(words.word(col));
                    layout.nearest(sum < 0, sum.unsigned_abs(), -21)
                }),
                Some(_) => visitor.visit(|col| code(three_words(words.word(col)), -64)),
                None => {
                    let scale = format.bits() as i32 - 3;
                    let wide = format.precision() > 11;
                    let lane = if wide { 64 } else { 21 };
                    let centre = if format.is_signed() { 0 } else { 1i128 << (lane + 2) };
                    visitor.visit(|col| {
                        let word = words.word(col);
                        let sum = if wide { three_words(word) } else { i128::from(three_lanes(word)) };
                        code(sum + centre, scale - lane)
                    });
                }
            },
            Recipe::HostileLadder => {
                let Some(ladder) = Ladder::of(format) else { return visitor.visit(|_| 0) };
                match operand {
                    Operand::A => {
                        let draw = words.word(Words::WHOLE);
                        let position = (draw & 127) & ((1 << (draw >> 61)) - 1);
                        let (large, tiny) = (code(1, ladder.top), code(1, ladder.top - ladder.rung(row) as i32));
                        visitor.visit(|col| if col == position { large } else { tiny });
                    }
                    Operand::B => {
                        let draws = all.row(Words::WHOLE);
                        let signed = format.is_signed();
                        let codes = [1, 2, -1, -2].map(|value| code(value, 0));
                        visitor.visit(|col| {
                            let draw = draws.word(col);
                            codes[(draw >> 62 & 1 | if signed { draw >> 63 << 1 } else { 0 }) as usize]
                        });
                    }
                }
            }
        }
    }
}

/// ⌊word · n / 2^64⌋: uniform below n up to a bias of n · 2^−64.
#[inline]
fn below(word: u64, n: u64) -> u64 {
    ((u128::from(word) * u128::from(n)) >> 64) as u64
}

/// Sum of three odd lanes 2u + 1 − 2^21 with 21-bit u: standard deviation 2^21 up to 2^−43 of it, never 0.
#[inline]
fn three_lanes(word: u64) -> i64 {
    const MASK: u64 = (1 << 21) - 1;
    let sum = (word & MASK) + (word >> 21 & MASK) + (word >> 42 & MASK);
    2 * sum as i64 + 3 - 3 * (1 << 21)
}

/// The same with 64-bit u, for formats whose significand 21-bit lanes would not fill.
#[inline]
fn three_words(word: u64) -> i128 {
    let (second, third) = (further(word), further(further(word)));
    2 * (i128::from(word) + i128::from(second) + i128::from(third)) + 3 - 3 * (1 << 64)
}

/// Sign, one of 16 exponents around 1, and fraction.
#[inline]
fn in_window(layout: &Layout, word: u64) -> u64 {
    let fraction_bits = layout.fields.fraction_bits;
    let exponent = (word >> 59 & 15) + layout.fields.bias as u64 - 8;
    let fraction = (word << 5).checked_shr(64 - fraction_bits).unwrap_or(0);
    layout.join(word >> 63 == 1, exponent << fraction_bits | fraction)
}

/// The finite codes of a format in a row: positive ones, then negative ones.
struct FiniteCodes {
    count: u64,
    positive: u64,
    first_negative: u64,
}

impl FiniteCodes {
    fn of(layout: &Layout) -> FiniteCodes {
        let positive = layout.max_magnitude + 1;
        let first_negative = u64::from(matches!(layout.fields.specials, Specials::NegativeZeroNan));
        let negative = if layout.fields.sign_bits == 1 { positive - first_negative } else { 0 };
        FiniteCodes { count: positive + negative, positive, first_negative }
    }

    #[inline]
    fn code(&self, layout: &Layout, word: u64) -> u64 {
        let i = below(word, self.count);
        let negative = i >= self.positive;
        layout.join(negative, if negative { i - self.positive + self.first_negative } else { i })
    }
}

/// Takes the function from column to code.
trait Visitor {
    fn visit(self, code: impl Fn(u64) -> u64);
}

/// One element.
struct One<'a> {
    col: u64,
    code: &'a mut u64,
}

impl Visitor for One<'_> {
    #[inline]
    fn visit(self, code: impl Fn(u64) -> u64) {
        *self.code = code(self.col);
    }
}

/// A packed row.
struct Packed<'a> {
    format: Format,
    cols: usize,
    bytes: &'a mut [u8],
}

impl Visitor for Packed<'_> {
    #[inline]
    fn visit(self, code: impl Fn(u64) -> u64) {
        match self.format.bits() {
            64 => whole_bytes(self.bytes, |col| code(col).to_le_bytes()),
            32 => whole_bytes(self.bytes, |col| (code(col) as u32).to_le_bytes()),
            16 => whole_bytes(self.bytes, |col| (code(col) as u16).to_le_bytes()),
            8 => whole_bytes(self.bytes, |col| [code(col) as u8]),
            bits => {
                for col in 0..self.cols {
                    set_bits(self.bytes, col * bits as usize, bits, code(col as u64));
                }
            }
        }
    }
}

#[inline]
fn whole_bytes<const N: usize>(bytes: &mut [u8], code: impl Fn(u64) -> [u8; N]) {
    for (col, element) in bytes.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *element = code(col as u64);
    }
}
