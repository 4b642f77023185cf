//! How far may a right output lie from the exact one?
//!
//! The gate calls an output right when |ĉ − c| ≤ relative · Σ|a||b| + absolute for every element. The bound follows
//! from the declared types and K alone and holds for every order of summation, with or without fused products: a term
//! passes through at most K roundings of the accumulate type, each of relative error at most u = 2^−p, so the sum is
//! off by at most γ_K · Σ|a||b| with γ_K = K·u / (1 − K·u) (Higham, *Accuracy and Stability of Numerical Algorithms*,
//! 2nd ed., §3.1 and §4.2); storing it in a narrower output adds u_out · (1 + γ_K).
//!
//! Declaring an accumulate type is read as IEEE 754 arithmetic in it: rounding to nearest, u = 2^−p. A unit that
//! truncates has u = 2^(1−p), yet seldom reaches the worst case: it is called right as long as its errors stay inside
//! the bound, and `imprecise` when they do not. The bound is what the declaration promises, not a claim about the
//! means.
//!
//! It misleads where K·u is no longer small: at K = 2048 a declared f16 accumulator promises nothing
//! ([`Tolerance::is_vacuous`]), and a gate with such a tolerance cannot fail.

use crate::fits::max_sum;
use crate::{Format, Recipe, Triple};

/// The bound of one triple, K and recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Bound on |ĉ − c| / Σ|a||b|; ∞ when the declared types promise nothing at this K.
    pub relative: f64,
    /// What underflow may add, in the output's unit: subnormal results may be flushed.
    pub absolute: f64,
    /// Whether every bit must be right: integers, and integer-valued recipes whose sums fit every significand.
    pub exact: bool,
}

impl Tolerance {
    /// Every bit must be right.
    pub const EXACT: Tolerance = Tolerance { relative: 0.0, absolute: 0.0, exact: true };

    /// The largest allowed |ĉ − c| for an element with the given Σ|a||b|.
    pub fn allowed(self, sum_of_magnitudes: f64) -> f64 {
        if self.exact { 0.0 } else { self.relative * sum_of_magnitudes + self.absolute }
    }

    /// Whether an output of zeros would pass: such a check could not fail.
    pub fn is_vacuous(self) -> bool {
        self.relative >= 1.0
    }
}

/// The tolerance of a triple at K for a recipe.
pub fn tolerance(triple: Triple, k: usize, recipe: Recipe) -> Tolerance {
    if triple.is_integer() {
        return Tolerance::EXACT;
    }
    let bits = triple.acc.precision().min(triple.c.precision());
    if recipe.is_integral() && max_sum(recipe, triple, k) <= unit_roundoff_inverse(bits) {
        return Tolerance::EXACT;
    }
    rounding(triple, k)
}

/// What rounding in the declared floating types may cost a sum of `k` terms, whatever the terms are.
pub(crate) fn rounding(triple: Triple, k: usize) -> Tolerance {
    let terms = k as f64;
    let accumulated = terms / unit_roundoff_inverse(triple.acc.precision());
    let gamma = if accumulated < 1.0 { accumulated / (1.0 - accumulated) } else { f64::INFINITY };
    let stored = if triple.c.precision() < triple.acc.precision() {
        (1.0 + gamma) / unit_roundoff_inverse(triple.c.precision())
    } else {
        0.0
    };
    let absolute = terms * triple.acc.min_normal() + triple.c.min_normal();
    Tolerance { relative: gamma + stored, absolute, exact: false }
}

/// 1 / u = 2^p for rounding to nearest with p significant bits.
fn unit_roundoff_inverse(precision: u32) -> f64 {
    (1u64 << precision) as f64
}

/// The unit roundoff u = 2^−p of a floating format under rounding to nearest; 0 for integers, whose sums are exact.
pub fn unit_roundoff(format: Format) -> f64 {
    if format.is_integer() { 0.0 } else { 1.0 / unit_roundoff_inverse(format.precision()) }
}

/// The smallest number of three significant decimal digits whose `f64` is not below `x`: how errors are stored.
///
/// So a stored error never understates, and does not depend on the last bits of a sum. Storing is idempotent.
/// 0, negative and non-finite arguments come back as they are; above 1.79e308 the result is ∞.
pub fn round_up_3(x: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return x;
    }
    let nearest = format!("{x:.2e}");
    let parsed = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    if parsed(&nearest) >= x {
        return parsed(&nearest);
    }
    let (digits, exponent) = nearest.split_once('e').unwrap_or((&nearest, "0"));
    let digits: u32 = digits.bytes().filter(u8::is_ascii_digit).fold(0, |n, d| n * 10 + u32::from(d - b'0'));
    parsed(&format!("{}e{}", digits + 1, exponent.parse::<i32>().unwrap_or(0) - 2))
}
