//! In what form does a value pass from one step to the next?

/// A value between steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub class: Class,
    pub negative: bool,
    /// Finite: the significand. NaN: its fraction, left-aligned.
    pub magnitude: u64,
    /// Exponent of the last place of the magnitude.
    pub place: i32,
    /// Exponent as the hardware counts it: of the leading place for rounded values, η for unrounded sums.
    pub exponent: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Finite,
    /// Finite, and its exponent takes part in alignment even where it is zero.
    Unrounded,
    Infinite,
    Nan,
}

/// The exponent of what takes no part in alignment; sums of a few of them stay within i32.
pub(super) const NO_EXPONENT: i32 = -100_000;

impl Value {
    pub(super) const ZERO: Value =
        Value { class: Class::Finite, negative: false, magnitude: 0, place: 0, exponent: NO_EXPONENT };

    pub(super) const fn infinite(negative: bool) -> Value {
        Value { class: Class::Infinite, negative, ..Value::ZERO }
    }

    pub(super) const fn nan(negative: bool, fraction: u64) -> Value {
        Value { class: Class::Nan, negative, magnitude: fraction, ..Value::ZERO }
    }

    #[inline]
    pub(super) const fn is_finite(&self) -> bool {
        matches!(self.class, Class::Finite | Class::Unrounded)
    }
}

/// An exact sum before its output is rounded: ±(magnitude · 2^place), plus less than one unit of magnitude away from zero
/// where `sticky` (then the magnitude has its top bit set).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Total {
    pub negative: bool,
    pub magnitude: u128,
    pub place: i32,
    pub sticky: bool,
    /// η of the step.
    pub exponent: i32,
}
