//! How does a sum of three uniform terms become the code of a near-normal element, fast?
//!
//! The sum S is odd, so it has a top bit; from the position of that bit a small table knows every shift of the
//! rounding. There are no branches on random data, which would cost more than all the arithmetic.

use crate::Format;
use crate::codec::Layout;
use crate::words::further;
use std::sync::OnceLock;

/// Bits of each of the three terms when one word gives all of them.
pub(crate) const LANE: u32 = 21;

/// Sums of more bits than this are cut by [`CUT`] bits, of which a sticky one is kept.
const WHOLE_BITS: u32 = 62;
const CUT: u32 = 4;

/// Sum of three odd lanes 2u + 1 − 2^21 with 21-bit u: standard deviation 2^21 up to 2^−43 of it, never 0.
#[inline]
pub(crate) fn three_lanes(word: u64) -> i64 {
    const MASK: u64 = (1 << LANE) - 1;
    let sum = (word & MASK) + (word >> LANE & MASK) + (word >> (2 * LANE) & MASK);
    2 * sum as i64 + 3 - 3 * (1 << LANE)
}

/// The same with 64-bit u, for formats whose significand 21-bit lanes would not fill.
#[inline]
pub(crate) fn three_words(word: u64) -> i128 {
    let second = further(word);
    2 * (i128::from(word) + i128::from(second) + i128::from(further(second))) + 3 - 3 * (1 << 64)
}

/// Shifts that round a sum to nearest even, given the position of its top bit.
#[derive(Clone, Copy, Default)]
struct Step {
    left: u32,
    right: u32,
    below_half: u64,
    base: u64,
}

/// Rounds S / 2^L to nearest even, saturating, for one floating format: [`Format::encode_scaled`] by table.
pub(crate) struct Bell {
    steps: [Step; 66],
    layout: Layout,
}

impl Bell {
    /// The table of a floating format that has fraction bits, made once; `None` for integers and E8M0.
    pub(crate) fn of(format: Format) -> Option<&'static Bell> {
        static TABLES: [OnceLock<Bell>; Format::ALL.len()] = [const { OnceLock::new() }; Format::ALL.len()];
        let layout = Layout::of(format).filter(|layout| layout.fields.fraction_bits > 0)?;
        let lane = if uses_one_word(format) { LANE } else { 64 } as i32;
        let step = |top: u32| {
            let fraction_bits = layout.fields.fraction_bits as i32;
            let exponent = if top < WHOLE_BITS { -lane } else { CUT as i32 - lane };
            let last_place = (top as i32 - lane).max(layout.min_exponent) - fraction_bits;
            let places = last_place - exponent;
            // At least one place is always cut, so that nothing depends on whether the sum is exact.
            let (left, right) = if places < 1 { (1 - places, 1) } else { (0, places) };
            let base = ((last_place + fraction_bits + layout.fields.bias - 1) as u64) << fraction_bits;
            Step { left: left as u32, right: right as u32, below_half: (1 << (right - 1)) - 1, base }
        };
        Some(
            TABLES[format as usize].get_or_init(|| Bell { steps: std::array::from_fn(|top| step(top as u32)), layout }),
        )
    }

    /// The code of a sum of three lanes.
    #[inline]
    pub(crate) fn narrow(&self, sum: i64) -> u64 {
        let magnitude = sum.unsigned_abs() | 1;
        self.round(sum < 0, magnitude, 63 - magnitude.leading_zeros())
    }

    /// The code of a sum of three words: of up to 66 bits.
    #[inline]
    pub(crate) fn wide(&self, sum: i128) -> u64 {
        let magnitude = sum.unsigned_abs() | 1;
        let top = 127 - magnitude.leading_zeros();
        let whole = u64::from(top >= WHOLE_BITS).wrapping_sub(1);
        let cut = (magnitude >> CUT) as u64 | 1;
        self.round(sum < 0, magnitude as u64 & whole | cut & !whole, top)
    }

    #[inline]
    fn round(&self, negative: bool, value: u64, top: u32) -> u64 {
        let step = self.steps[top as usize];
        let value = value << step.left;
        let kept = (value + step.below_half + (value >> step.right & 1)) >> step.right;
        let magnitude = (step.base + kept).min(self.layout.max_magnitude);
        self.layout.join(negative & ((magnitude != 0) | self.layout.has_negative_zero()), magnitude)
    }
}

/// Whether one word fills the significand: formats of up to 11 significant bits.
pub(crate) const fn uses_one_word(format: Format) -> bool {
    format.precision() <= 11
}
