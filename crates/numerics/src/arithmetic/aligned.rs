//! What do the terms of a step come to when they are aligned to the largest exponent and cut there?

use super::operand::Row;
use super::round::{shift_cut, shift_cut_64};
use super::sum::{Alignment, CAlignment, ProductExponent, ValueExponent, ZeroProducts};
use super::value::{Class, NO_EXPONENT, Total, Value};
use crate::Rounding;
use std::ops::Range;

/// An [`Alignment`] for terms of known widths.
#[derive(Debug, Clone)]
pub(super) struct Aligner {
    rule: Alignment,
    c: CAlignment,
    /// Fraction bits of the finest grid: units of the sum are 2^(η − finest).
    finest: u32,
    /// Places of a product below its leading one.
    product_places: i32,
    /// Whether every aligned product and their sum fit i64.
    narrow: bool,
}

/// A value that is a term of a step, and whether it is c.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    pub value: Value,
    pub is_c: bool,
}

impl Aligner {
    pub(super) fn new(rule: &Alignment, product_places: i32, narrow: bool) -> Aligner {
        let c = rule.c.unwrap_or(CAlignment { fraction_bits: rule.fraction_bits, cut: rule.cut, reach: None });
        let finest = rule.fraction_bits.max(c.fraction_bits);
        let narrow = narrow && rule.products != ProductExponent::Normalised;
        Aligner { rule: rule.clone(), c, finest, product_places, narrow }
    }

    /// The exact sum of the cut terms. Its sign is false where it is zero.
    #[inline]
    pub(super) fn sum(&self, a: &Row, b: &Row, at: Range<usize>, terms: &[Term]) -> Total {
        let largest = self.largest(a, b, at.clone(), terms);
        let mut total = Total { negative: false, magnitude: 0, place: 0, sticky: false, exponent: largest };
        if largest <= NO_EXPONENT / 2 {
            total.exponent = NO_EXPONENT;
            return total;
        }
        let products = if self.narrow {
            i128::from(self.narrow_products(a, b, at, largest))
        } else {
            self.wide_products(a, b, at, largest)
        };
        let mut sum = products << (self.finest - self.rule.fraction_bits);
        for term in terms {
            sum += self.value(term, largest);
        }
        if let Some(bits) = self.rule.carry_bits {
            let unused = 127 - self.finest - bits;
            sum = sum << unused >> unused;
        }
        total.negative = sum < 0;
        total.magnitude = sum.unsigned_abs();
        total.place = largest - self.finest as i32;
        total
    }

    /// η; at most half of [`NO_EXPONENT`] where no term has an exponent.
    #[inline]
    fn largest(&self, a: &Row, b: &Row, at: Range<usize>, terms: &[Term]) -> i32 {
        let (sa, sb) = (&a.significand[at.clone()], &b.significand[at.clone()]);
        let (ea, eb) = (&a.exponent[at.clone()], &b.exponent[at]);
        let mut largest = 2 * NO_EXPONENT;
        if self.rule.products == ProductExponent::Normalised {
            for (((&x, &y), &e), &f) in sa.iter().zip(sb).zip(ea).zip(eb) {
                let magnitude = i128::from(x) * i128::from(y);
                let lead = 127 - magnitude.unsigned_abs().leading_zeros() as i32 - self.product_places;
                largest = largest.max(if magnitude == 0 { e + f } else { e + f + lead });
            }
        } else {
            for (&e, &f) in ea.iter().zip(eb) {
                largest = largest.max(e + f);
            }
        }
        if let ZeroProducts::Product(e) = self.rule.zero_products
            && sa.iter().zip(sb).any(|(&x, &y)| x == 0 || y == 0)
        {
            largest = largest.max(e);
        }
        for term in terms {
            largest = largest.max(self.value_exponent(&term.value));
        }
        self.rule.floor.map_or(largest, |floor| largest.max(floor))
    }

    fn value_exponent(&self, value: &Value) -> i32 {
        match (self.rule.values, value.class) {
            (ValueExponent::Raw, Class::Unrounded) => value.exponent,
            _ if value.magnitude == 0 => self.rule.zero_values.unwrap_or(NO_EXPONENT),
            (ValueExponent::Raw, _) => value.exponent,
            (ValueExponent::Normalised, _) => value.place + 63 - value.magnitude.leading_zeros() as i32,
        }
    }

    /// Σ of the cut products in units of 2^(η − F).
    #[inline]
    fn narrow_products(&self, a: &Row, b: &Row, at: Range<usize>, largest: i32) -> i64 {
        let (sa, sb) = (&a.significand[at.clone()], &b.significand[at.clone()]);
        let (ea, eb) = (&a.exponent[at.clone()], &b.exponent[at]);
        // A product of the largest exponent moves left by this; every other one less, down to the right.
        let left = self.rule.fraction_bits as i32 - self.product_places;
        let (up, down) = (left.max(0) as u32, (-left).max(0));
        let each = sa.iter().zip(sb).zip(ea.iter().zip(eb));
        let moved = each.map(|((&x, &y), (&e, &f))| ((x * y) << up, (largest - e - f + down).min(63) as u32));
        match self.rule.cut {
            Rounding::TowardZero => moved
                .map(|(v, s)| {
                    let sign = v >> 63;
                    (((v ^ sign) - sign) >> s ^ sign) - sign
                })
                .sum(),
            Rounding::Down => moved.map(|(v, s)| v >> s).sum(),
            cut => moved
                .map(|(v, s)| {
                    let magnitude = v.unsigned_abs();
                    let kept = if s == 0 { magnitude } else { shift_cut_64(magnitude, s, v < 0, cut) };
                    if v < 0 { -(kept as i64) } else { kept as i64 }
                })
                .sum(),
        }
    }

    #[cold]
    fn wide_products(&self, a: &Row, b: &Row, at: Range<usize>, largest: i32) -> i128 {
        let grid = largest - self.rule.fraction_bits as i32;
        at.map(|i| {
            let product = i128::from(a.significand[i]) * i128::from(b.significand[i]);
            let place = a.exponent[i] + b.exponent[i] - self.product_places;
            on_grid(product < 0, product.unsigned_abs(), place, grid, self.rule.cut)
        })
        .sum()
    }

    /// A value in units of the finest grid.
    #[inline]
    fn value(&self, term: &Term, largest: i32) -> i128 {
        let value = &term.value;
        if value.magnitude == 0 {
            return 0;
        }
        let (bits, cut) =
            if term.is_c { (self.c.fraction_bits, self.c.cut) } else { (self.rule.fraction_bits, self.rule.cut) };
        if term.is_c
            && let Some(reach) = self.c.reach
            && self.value_exponent(value) < largest - reach as i32
        {
            return 0;
        }
        let grid = largest - bits as i32;
        on_grid(value.negative, u128::from(value.magnitude), value.place, grid, cut) << (self.finest - bits)
    }
}

/// ±magnitude · 2^place in units of 2^grid, cut.
#[inline]
fn on_grid(negative: bool, magnitude: u128, place: i32, grid: i32, cut: Rounding) -> i128 {
    if magnitude == 0 {
        return 0;
    }
    let shift = grid - place;
    let kept = match (shift, u64::try_from(magnitude)) {
        (..=0, _) => magnitude << -shift,
        (1..=63, Ok(short)) => u128::from(shift_cut_64(short, shift as u32, negative, cut)),
        _ => shift_cut(magnitude, shift as u32, false, negative, cut),
    };
    if negative { -(kept as i128) } else { kept as i128 }
}
