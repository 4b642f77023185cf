//! How is a sum of products of any two f64 values held exactly?
//!
//! As one two's complement fixed-point number (Kulisch's long accumulator). Bit 0 has weight 2^-2148, the square of
//! f64's least subnormal; 68 limbs reach 2^2204, so 2^150 of the largest products fit.

use crate::nearest::{nearest_f64, top_exponent};

const LIMBS: usize = 68;
/// Exponent of bit 0.
const LEAST: i32 = -2148;

/// An exact sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superaccumulator {
    limbs: [u64; LIMBS],
}

impl Superaccumulator {
    pub(crate) const ZERO: Superaccumulator = Superaccumulator { limbs: [0; LIMBS] };

    /// Adds ±(magnitude · 2^exponent). Bits below 2^-2148 must be zero: no product of two f64 values has any.
    pub(crate) fn add(&mut self, negative: bool, magnitude: u128, exponent: i32) {
        let zeros = magnitude.trailing_zeros().min(127) as i32;
        let (magnitude, exponent) = (magnitude >> zeros, exponent + zeros);
        if magnitude == 0 {
            return;
        }
        let position = (exponent - LEAST) as usize;
        let (first, shift) = (position / 64, (position % 64) as u32);
        let low = magnitude << shift;
        let high = if shift == 0 { 0 } else { (magnitude >> (128 - shift)) as u64 };
        let parts = [low as u64, (low >> 64) as u64, high];
        let mut carry = false;
        for (i, limb) in self.limbs[first..].iter_mut().enumerate() {
            let part = parts.get(i).copied().unwrap_or(0);
            if i >= parts.len() && !carry {
                break;
            }
            (*limb, carry) = step(negative, *limb, part, carry);
        }
    }

    /// Adds ±other.
    pub(crate) fn add_sum(&mut self, negative: bool, other: &Superaccumulator) {
        let mut carry = false;
        for (limb, &part) in self.limbs.iter_mut().zip(&other.limbs) {
            (*limb, carry) = step(negative, *limb, part, carry);
        }
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.limbs[LIMBS - 1] >> 63 == 1
    }

    /// (sum · 2^scale) rounded to f64.
    pub(crate) fn to_f64(&self, scale: i32) -> f64 {
        let (magnitude, sticky, exponent) = self.leading();
        nearest_f64(self.is_negative(), magnitude, sticky, exponent + scale)
    }

    /// The exponent of the top bit of |sum|, `None` for zero.
    pub(crate) fn top_exponent(&self) -> Option<i32> {
        let (magnitude, _, exponent) = self.leading();
        top_exponent(magnitude, exponent)
    }

    /// The sum modulo 2^64 when it is an integer.
    pub(crate) fn integer(&self) -> Option<u64> {
        let (first, shift) = (-LEAST as usize / 64, (-LEAST % 64) as u32);
        let fraction = self.limbs[..first].iter().any(|&l| l != 0) || self.limbs[first] << (64 - shift) != 0;
        (!fraction).then(|| self.limbs[first] >> shift | self.limbs[first + 1] << (64 - shift))
    }

    /// |sum| as its leading 128 bits, whether nonzero bits were cut below them, and the exponent of the last one kept.
    pub(crate) fn leading(&self) -> (u128, bool, i32) {
        let mut absolute = self.clone();
        if self.is_negative() {
            absolute = Superaccumulator::ZERO;
            absolute.add_sum(true, self);
        }
        let limbs = &absolute.limbs;
        let Some(top) = limbs.iter().rposition(|&l| l != 0) else { return (0, false, 0) };
        let limb = |i: usize| top.checked_sub(i).map_or(0, |i| limbs[i]);
        let zeros = limbs[top].leading_zeros();
        let mut magnitude = (u128::from(limb(0)) << 64 | u128::from(limb(1))) << zeros;
        let mut sticky = limb(2) << zeros != 0;
        if zeros > 0 {
            magnitude |= u128::from(limb(2) >> (64 - zeros));
        }
        sticky |= limbs[..top.saturating_sub(2)].iter().any(|&l| l != 0);
        (magnitude, sticky, LEAST + 64 * (top as i32 - 1) - zeros as i32)
    }
}

/// One limb of a long addition (or subtraction): the limb and the carry (or borrow) out of it.
#[inline]
fn step(negative: bool, limb: u64, part: u64, carry: bool) -> (u64, bool) {
    let add = if negative { u64::overflowing_sub } else { u64::overflowing_add };
    let (sum, first) = add(limb, part);
    let (sum, second) = add(sum, u64::from(carry));
    (sum, first | second)
}
