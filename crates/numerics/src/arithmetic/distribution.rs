//! Which inputs bring out every part of an arithmetic?
//!
//! Random bits alone leave most of a model untested: sums rarely cancel, subnormals never matter, and in formats of a wide
//! range one product hides all others. Each distribution here aims at one kind of behaviour; together they reach all.

use super::evaluator::Inputs;
use super::intake::Scales;
use super::model::Model;
use crate::codec::Layout;
use crate::random::{below, draw};
use crate::{Format, Overflow, Rounding, Triple};

/// How the operands of one dot product are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Exponents within a few of that of 1, random signs and significands: what matrices mostly hold.
    Normal,
    /// Every code alike, infinities and NaN included.
    RandomBits,
    /// Pairs of products that cancel but for their last places, in random positions, and c with them.
    Cancellation,
    /// One large product, the others smaller by up to the width of an accumulator: what alignment cuts.
    Ladder,
    /// Values near the least normal one and below, zeros of both signs, products that leave the output's range below.
    Subnormal,
    /// Infinities, NaN, zeros and largest finite values among ordinary ones.
    Specials,
}

/// Operands of one dot product, as codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DotInputs {
    /// A row of A.
    pub a: Vec<u64>,
    /// A column of B.
    pub b: Vec<u64>,
    /// c.
    pub c: u64,
    /// Scales of the row; empty without scales.
    pub a_scales: Vec<u64>,
    /// Scales of the column.
    pub b_scales: Vec<u64>,
}

impl DotInputs {
    /// What an evaluator takes.
    pub fn codes(&self) -> Inputs<'_> {
        Inputs { a: &self.a, b: &self.b, c: self.c, a_scales: &self.a_scales, b_scales: &self.b_scales }
    }
}

impl Distribution {
    /// Its name as it stands in files: `random_bits`.
    pub const fn name(self) -> &'static str {
        match self {
            Distribution::Normal => "normal",
            Distribution::RandomBits => "random_bits",
            Distribution::Cancellation => "cancellation",
            Distribution::Ladder => "ladder",
            Distribution::Subnormal => "subnormal",
            Distribution::Specials => "specials",
        }
    }

    /// Every distribution.
    pub const ALL: [Distribution; 6] = [
        Distribution::Normal,
        Distribution::RandomBits,
        Distribution::Cancellation,
        Distribution::Ladder,
        Distribution::Subnormal,
        Distribution::Specials,
    ];

    /// Inputs number `index` of a stream ([`crate::random::stream`]) for rows of k elements of a model: its triple and
    /// scales are all that matters.
    pub fn inputs(self, model: &Model, k: usize, stream: u64, index: u64) -> DotInputs {
        self.scaled(model.triple, model.scales, k, stream, index)
    }

    /// The same for a triple and scales of which no model is known.
    pub fn scaled(self, triple: Triple, scales: Option<Scales>, k: usize, stream: u64, index: u64) -> DotInputs {
        let mut inputs = self.unscaled(triple, k, stream, index);
        if let Some(scales) = scales {
            let mut dice = Dice { stream: draw(!stream, index), thrown: 0 };
            let groups = k.div_ceil(scales.group.max(1));
            let mut of = |format| (0..groups).map(|_| scale(&mut dice, format)).collect();
            (inputs.a_scales, inputs.b_scales) = (of(scales.a), of(scales.b));
        }
        inputs
    }

    /// Inputs number `index` of a stream for rows of k elements of a triple. Integer formats have random codes and their
    /// extremes in every distribution.
    pub fn unscaled(self, triple: Triple, k: usize, stream: u64, index: u64) -> DotInputs {
        let mut dice = Dice { stream: draw(stream, index), thrown: 0 };
        let mut of =
            |format: Format, operand| (0..k).map(|_| self.code(&mut dice, format, operand)).collect::<Vec<_>>();
        let (mut a, mut b) = (of(triple.a, 0), of(triple.b, 1));
        let mut c = self.code(&mut dice, triple.c, 2);
        if triple.is_integer() || k == 0 {
            return DotInputs { a, b, c, a_scales: Vec::new(), b_scales: Vec::new() };
        }
        match self {
            Distribution::Cancellation => cancel(&mut dice, triple, &mut a, &mut b, &mut c),
            Distribution::Ladder => {
                let large = dice.below(k as u64 + 1) as usize;
                if let (Some(x), Some(y)) = (a.get_mut(large), b.get_mut(large)) {
                    (*x, *y) = (near(&mut dice, triple.a, 6, 3), near(&mut dice, triple.b, 6, 3));
                }
            }
            _ => {}
        }
        // A row of zeros here and there, so that sums have few terms.
        if dice.below(4) == 0 {
            let kept = 1 + dice.below(3);
            for x in &mut a {
                if dice.below(k as u64) >= kept {
                    *x = if dice.below(2) == 0 { 0 } else { triple.a.encode(-0.0, ROUNDING, OVERFLOW) };
                }
            }
        }
        DotInputs { a, b, c, a_scales: Vec::new(), b_scales: Vec::new() }
    }

    /// One code for operand A (0), B (1) or C (2).
    fn code(self, dice: &mut Dice, format: Format, operand: u64) -> u64 {
        let random = dice.word() & format.code_mask();
        let Some(layout) = Layout::of(format) else {
            let ends = [format.max_finite_code(), format.min_finite_code(), 0, format.code_mask()];
            return if dice.below(4) == 0 { ends[dice.below(4) as usize] } else { random };
        };
        match self {
            Distribution::RandomBits => random,
            Distribution::Normal | Distribution::Cancellation => near(dice, format, 0, 3),
            Distribution::Ladder => near(dice, format, if operand == 2 { -6 } else { -8 }, 10),
            Distribution::Subnormal => {
                // Two operands near the square root of the least value, or one tiny and one near 1.
                let tiny = layout.min_exponent;
                match (dice.below(4), operand) {
                    (0, _) => layout.join(random & 1 == 1, 0),
                    (1, 0 | 1) => near(dice, format, tiny / 2, 2 + layout.fields.fraction_bits as i32),
                    (1 | 2, _) => near(dice, format, tiny, 2 + layout.fields.fraction_bits as i32),
                    _ => near(dice, format, 0, 4),
                }
            }
            Distribution::Specials => match dice.below(12) {
                0 => {
                    format.infinity_code(random & 1 == 1).unwrap_or(layout.join(random & 1 == 1, layout.max_magnitude))
                }
                1 => layout.join(random & 1 == 1, layout.max_magnitude),
                2 => layout.join(random & 1 == 1, 0),
                3 if dice.below(4) == 0 => random | format.nan_code().unwrap_or(0),
                _ => near(dice, format, 0, 6),
            },
        }
    }
}

const ROUNDING: Rounding = Rounding::NearestEven;
const OVERFLOW: Overflow = Overflow::Saturate;

struct Dice {
    stream: u64,
    thrown: u64,
}

impl Dice {
    fn word(&mut self) -> u64 {
        self.thrown += 1;
        draw(self.stream, self.thrown)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.thrown += 1;
        below(self.stream, self.thrown, bound)
    }
}

/// A scale: mostly near 1, now and then any code.
fn scale(dice: &mut Dice, format: Format) -> u64 {
    match dice.below(8) {
        0 => dice.word() & format.code_mask(),
        _ if format == Format::E8m0 => 119 + dice.below(16),
        _ => 0x28 + dice.below(0x20),
    }
}

/// A code of random sign and significand whose exponent lies within `spread` of `exponent`, as far as the format reaches;
/// some have few significant bits.
fn near(dice: &mut Dice, format: Format, exponent: i32, spread: i32) -> u64 {
    let Some(layout) = Layout::of(format) else { return dice.word() & format.code_mask() };
    let bits = layout.fields.fraction_bits;
    let exponent = exponent - spread + dice.below(2 * spread as u64 + 1) as i32;
    let mut fraction = dice.word() & ((1 << bits) - 1);
    if dice.below(3) == 0 {
        fraction &= (u64::MAX << dice.below(u64::from(bits) + 1)) & ((1 << bits) - 1);
    }
    let significand = i128::from(fraction | 1 << bits);
    let signed = if dice.below(2) == 0 { significand } else { -significand };
    format.encode_scaled(signed, exponent - bits as i32, ROUNDING, OVERFLOW)
}

/// Makes products cancel in pairs, all or most: position j becomes position i with the sign of b turned and, often, a last
/// place moved.
fn cancel(dice: &mut Dice, triple: Triple, a: &mut [u64], b: &mut [u64], c: &mut u64) {
    let k = a.len();
    let sign = 1u64 << (triple.b.bits() - 1);
    let last = if triple.b == Format::Tf32 { 1 << 13 } else { 1 };
    let (whole, turn) = (dice.below(2) == 0, dice.below(k as u64) as usize);
    for i in 0..k / 2 {
        let j = k / 2 + (i + turn) % (k - k / 2);
        if !whole && dice.below(4) == 0 {
            continue;
        }
        a[j] = a[i];
        b[j] = b[i] ^ sign;
        match dice.below(3) {
            0 => b[j] ^= last,
            1 => a[j] ^= if triple.a == Format::Tf32 { 1 << 13 } else { 1 },
            _ => {}
        }
    }
    if dice.below(2) == 0 {
        let i = dice.below(k as u64) as usize;
        let product = -(triple.a.decode(a[i]) * triple.b.decode(b[i]));
        if product.is_finite() {
            *c = triple.c.encode(product, ROUNDING, OVERFLOW);
        }
    }
}
