//! How does a random word become a code, one element or a whole matrix at a time?

use crate::bell::{Bell, LANE, three_lanes, three_words, uses_one_word};
use crate::block::{ScaleGroups, seed_of_scales};
use crate::codec::Layout;
use crate::format::Specials;
use crate::recipe::{Ladder, small_integers, windowed};
use crate::words::{Line, LineWords, Words};
use crate::{Format, Matrix, Operand, Overflow, Recipe, Rounding};
use rayon::prelude::*;

/// Elements that one task of the thread pool makes at least.
const TASK: usize = 1 << 14;

impl Recipe {
    /// The code of element (row, col) of an operand, by integer arithmetic alone, as [`crate::recipe::RECIPE_TEXT`]
    /// states.
    ///
    /// Rows and columns lie below 2^32 − 2. A pair that [`Recipe::supports`] refuses gives code 0 everywhere:
    /// ask before.
    pub fn element(self, format: Format, seed: u64, operand: Operand, row: u64, col: u64) -> u64 {
        let mut code = 0;
        self.visit(format, seed, operand, Line::Row(row), One { place: col, code: &mut code });
        code
    }

    /// The first `codes.len()` elements of a row or a column, equal to [`Recipe::element`] and faster: what one dot
    /// product needs.
    pub fn line(self, format: Format, seed: u64, operand: Operand, line: Line, codes: &mut [u64]) {
        self.visit(format, seed, operand, line, Codes(codes));
    }

    /// The whole operand, `rows × cols`, on all threads of the current rayon pool. Equal to [`Recipe::element`]
    /// everywhere.
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
                self.visit(format, seed, operand, Line::Row(row), Packed { format, cols, bytes });
            }
        });
        matrix
    }

    /// Hands the function from place in a line to code, specialised for this recipe and format, to a visitor.
    #[inline]
    fn visit(self, format: Format, seed: u64, operand: Operand, line: Line, visitor: impl Visitor) {
        match format.scale_groups() {
            None => self.visit_numbers(format, seed, operand, line, visitor),
            Some(groups) => {
                let scales = Scales::along(self, groups, seed, operand, line);
                self.visit_numbers(groups.element, seed, operand, line, Scaled { groups, scales, visitor });
            }
        }
    }

    /// The same for formats whose codes are numbers of their own.
    #[inline]
    fn visit_numbers(self, format: Format, seed: u64, operand: Operand, line: Line, visitor: impl Visitor) {
        if self.supports(format).is_err() {
            return visitor.visit(|_| 0);
        }
        let all = Words::new(seed, self, operand);
        let words = all.along(line);
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
                visitor.visit(|i| codes[below(words.word(i), choices) as usize]);
            }
            Recipe::Uniform => match Layout::of(format) {
                None => {
                    let drop = 64 - format.bits();
                    visitor.visit(|i| words.word(i) >> drop);
                }
                Some(layout) if windowed(format) => visitor.visit(|i| in_window(&layout, words.word(i))),
                Some(layout) => {
                    let draw = FiniteCodes::of(&layout);
                    visitor.visit(|i| draw.code(&layout, words.word(i)));
                }
            },
            Recipe::NearNormal => match Bell::of(format) {
                Some(bell) if uses_one_word(format) => visitor.visit(|i| bell.narrow(three_lanes(words.word(i)))),
                Some(bell) => visitor.visit(|i| bell.wide(three_words(words.word(i)))),
                None if uses_one_word(format) => {
                    // Every sum lies inside the range, so nothing saturates.
                    let mask = format.code_mask();
                    let centre = if format.is_signed() { 0 } else { 1 << (LANE + 2) };
                    let places = LANE + 3 - format.bits();
                    visitor.visit(|i| {
                        let sum = three_lanes(words.word(i)) + centre;
                        ((sum + (1 << (places - 1)) - 1 + (sum >> places & 1)) >> places) as u64 & mask
                    });
                }
                None => visitor.visit(|i| code(three_words(words.word(i)), format.bits() as i32 - 3 - 64)),
            },
            Recipe::HostileLadder => {
                let Some(ladder) = Ladder::of(format) else { return visitor.visit(|_| 0) };
                let large = code(1, ladder.top);
                let tiny = |row| code(1, ladder.top - ladder.rung(row) as i32);
                let position = |draw: u64| (draw & 127) & ((1 << (draw >> 61)) - 1);
                let signs = if format.is_signed() { 2 } else { 0 };
                let factors = [1, 2, -1, -2].map(|value| code(value, 0));
                let factor = |draw: u64| factors[(draw >> 62 & 1 | draw >> 62 & signs) as usize];
                let whole_rows = all.along(Line::Column(Words::WHOLE));
                let whole_columns = all.along(Line::Row(Words::WHOLE));
                match (operand, line) {
                    (Operand::A, Line::Row(row)) => {
                        let (position, tiny) = (position(whole_rows.word(row)), tiny(row));
                        visitor.visit(|col| if col == position { large } else { tiny });
                    }
                    (Operand::A, Line::Column(col)) => {
                        visitor.visit(|row| if col == position(whole_rows.word(row)) { large } else { tiny(row) });
                    }
                    (Operand::B, Line::Row(_)) => visitor.visit(|col| factor(whole_columns.word(col))),
                    (Operand::B, Line::Column(col)) => {
                        let factor = factor(whole_columns.word(col));
                        visitor.visit(|_| factor);
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

/// The codes of the scales along a line of a block-scaled operand.
struct Scales {
    /// How they are drawn; `None` where all of them are 1.
    drawn: Option<(Layout, FiniteCodes)>,
    windowed: bool,
    words: LineWords,
    /// Elements of the line that share a scale.
    run: u64,
}

impl Scales {
    fn along(recipe: Recipe, groups: ScaleGroups, seed: u64, operand: Operand, line: Line) -> Scales {
        let size = groups.size as u64;
        let (line, run) = match (operand, line) {
            (Operand::A, Line::Row(_)) | (Operand::B, Line::Column(_)) => (line, size),
            (Operand::A, Line::Column(col)) => (Line::Column(col / size), 1),
            (Operand::B, Line::Row(row)) => (Line::Row(row / size), 1),
        };
        let recipe = recipe.of_scales();
        let drawn = Layout::of(groups.scale).filter(|_| recipe == Recipe::Uniform);
        Scales {
            drawn: drawn.map(|layout| (layout, FiniteCodes::of(&layout))),
            windowed: windowed(groups.scale),
            words: Words::new(seed_of_scales(seed), recipe, operand).along(line),
            run,
        }
    }

    #[inline]
    fn code(&self, groups: ScaleGroups, element: u64, place: u64) -> u64 {
        let Some((layout, finite)) = &self.drawn else { return groups.under_one(element) };
        let word = self.words.word(place / self.run);
        groups.code(element, if self.windowed { in_window(layout, word) } else { finite.code(layout, word) })
    }
}

/// Takes the function from place in a line to code.
trait Visitor {
    fn visit(self, code: impl Fn(u64) -> u64);
}

/// One element.
struct One<'a> {
    place: u64,
    code: &'a mut u64,
}

impl Visitor for One<'_> {
    #[inline]
    fn visit(self, code: impl Fn(u64) -> u64) {
        *self.code = code(self.place);
    }
}

/// Codes, one a word.
struct Codes<'a>(&'a mut [u64]);

impl Visitor for Codes<'_> {
    #[inline]
    fn visit(self, code: impl Fn(u64) -> u64) {
        for (i, element) in self.0.iter_mut().enumerate() {
            *element = code(i as u64);
        }
    }
}

/// Codes of elements, to which those of their scales are added for another visitor.
struct Scaled<V> {
    groups: ScaleGroups,
    scales: Scales,
    visitor: V,
}

impl<V: Visitor> Visitor for Scaled<V> {
    #[inline]
    fn visit(self, code: impl Fn(u64) -> u64) {
        self.visitor.visit(|i| self.scales.code(self.groups, code(i), i));
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
            6 => sub_byte::<6>(self.bytes, self.cols, code),
            4 => sub_byte::<4>(self.bytes, self.cols, code),
            _ => sub_byte::<2>(self.bytes, self.cols, code),
        }
    }
}

/// Elements of 2, 4 or 6 bits, three bytes at a time: all of these divide 24.
#[inline]
fn sub_byte<const BITS: usize>(bytes: &mut [u8], cols: usize, code: impl Fn(u64) -> u64) {
    for (i, group) in bytes.chunks_mut(3).enumerate() {
        let first = i * (24 / BITS);
        let count = (24 / BITS).min(cols - first);
        let packed = (0..count).fold(0, |bits, j| bits | (code((first + j) as u64) as u32) << (j * BITS));
        group.copy_from_slice(&packed.to_le_bytes()[..group.len()]);
    }
}

#[inline]
fn whole_bytes<const N: usize>(bytes: &mut [u8], code: impl Fn(u64) -> [u8; N]) {
    for (col, element) in bytes.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *element = code(col as u64);
    }
}
