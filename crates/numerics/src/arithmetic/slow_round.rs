//! How is an exact value rounded by comparing it with its neighbours?

use super::dyadic::Dyadic;
use super::output::{IntegerOutput, IntegerOverflow, OverflowTo, Rounded, Subnormals, Vanished};
use super::slow_operand::Held;
use crate::format::Specials;
use crate::{Format, Rounding};
use std::cmp::Ordering;

/// |value| as a multiple of 2^unit, rounded, with the sign of `value`.
pub(super) fn to_multiple(value: &Dyadic, unit: i32, rounding: Rounding) -> Dyadic {
    let negative = value.is_negative();
    let (below, rest) = value.abs().div_floor(unit);
    let goes_up = !rest.is_zero()
        && match rounding {
            Rounding::TowardZero => false,
            Rounding::Up => !negative,
            Rounding::Down => negative,
            Rounding::Odd => !below.is_odd(),
            Rounding::NearestEven | Rounding::NearestAway => match rest.compare(&Dyadic::new(1, unit - 1)) {
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal => rounding == Rounding::NearestAway || below.is_odd(),
            },
        };
    let chosen = if goes_up { below.plus(&Dyadic::new(1, 0)) } else { below };
    let magnitude = chosen.times_power(unit);
    if negative { magnitude.negated() } else { magnitude }
}

/// ⌊log2⌋ of the least normal value of a format.
pub(super) fn least_exponent(format: Format) -> i32 {
    field_of(format.min_normal())
}

/// ⌊log2⌋ of a positive value that is normal in f64, as every least normal and largest value is.
fn field_of(value: f64) -> i32 {
    (value.to_bits() >> 52) as i32 - 1023
}

/// The largest finite value of a form, and the exponent of its last place.
fn largest(form: &Rounded) -> (Dyadic, i32) {
    let own = Dyadic::of(form.format.max_finite());
    let top = own.floor_log2().unwrap_or(0);
    let last = top - form.significant_bits() as i32 + 1;
    if form.significant_bits() == form.format.precision() {
        (own, last)
    } else {
        (Dyadic::new(1, top + 1).minus(&Dyadic::new(1, last)), last)
    }
}

/// A finite value (with the sign it has if it is zero) in a form.
pub(super) fn rounded(form: &Rounded, value: &Dyadic, negative: bool) -> Held {
    let least = least_exponent(form.format);
    let zero = |negative| Held::Finite { value: Dyadic::zero(), negative, exponent: None, unrounded: false };
    let Some(lead) = value.floor_log2() else { return zero(negative) };
    let negative = value.is_negative();
    let precision = form.significant_bits() as i32;
    let result = to_multiple(value, lead.max(least) - precision + 1, form.rounding);
    let least_normal = Dyadic::new(1, least);
    let below = |x: &Dyadic| x.abs().compare(&least_normal) == Ordering::Less;
    let flushed = match form.subnormals {
        Subnormals::Keep => false,
        Subnormals::FlushBefore => below(value),
        Subnormals::FlushAfter => below(&to_multiple(value, lead - precision + 1, form.rounding)),
        Subnormals::FlushStored => below(&result),
    };
    let Some(result_lead) = result.floor_log2().filter(|_| !flushed) else {
        return zero(negative && form.vanished == Vanished::KeepsSign);
    };
    // Far below the largest value nothing can overflow.
    if result_lead < field_of(form.format.max_finite()) {
        return Held::Finite { value: result, negative, exponent: Some(result_lead.max(least)), unrounded: false };
    }
    let (most, last) = largest(form);
    if result.abs().compare(&most) != Ordering::Greater {
        return Held::Finite { value: result, negative, exponent: Some(result_lead.max(least)), unrounded: false };
    }
    let away = match (form.overflow, form.rounding) {
        (OverflowTo::Infinity, _) => true,
        (OverflowTo::Largest, _) => false,
        (OverflowTo::Directed, Rounding::NearestEven | Rounding::NearestAway) => true,
        (OverflowTo::Directed, Rounding::TowardZero) => false,
        (OverflowTo::Directed, Rounding::Up) => !negative,
        (OverflowTo::Directed, Rounding::Down) => negative,
        (OverflowTo::Directed, Rounding::Odd) => !most.div_floor(last).0.is_odd(),
    };
    if away { beyond(form, negative) } else { at_most(form, negative) }
}

/// An infinity in a form.
pub(super) fn infinite(form: &Rounded, negative: bool) -> Held {
    if form.overflow == OverflowTo::Largest { at_most(form, negative) } else { beyond(form, negative) }
}

fn beyond(form: &Rounded, negative: bool) -> Held {
    match form.format.floating().map(|f| f.specials) {
        Some(Specials::Ieee) => Held::Infinite(negative),
        Some(Specials::AllOnesNan | Specials::NegativeZeroNan) => Held::Nan { negative, fraction: 1 << 63 },
        _ => at_most(form, negative),
    }
}

fn at_most(form: &Rounded, negative: bool) -> Held {
    let (most, _) = largest(form);
    let exponent = most.floor_log2();
    Held::Finite { value: if negative { most.negated() } else { most }, negative, exponent, unrounded: false }
}

/// A whole number in its width.
pub(super) fn integer(form: &IntegerOutput, value: &Dyadic) -> Held {
    let bits = form.bits as i32;
    let power = |e: i32| Dyadic::new(1, e);
    let (least, past) =
        if form.signed { (power(bits - 1).negated(), power(bits - 1)) } else { (Dyadic::zero(), power(bits)) };
    let inside = |x: &Dyadic| x.compare(&least) != Ordering::Less && x.compare(&past) == Ordering::Less;
    let kept = match form.overflow {
        _ if inside(value) => value.clone(),
        IntegerOverflow::Saturate if value.is_negative() => least.clone(),
        IntegerOverflow::Saturate => past.minus(&power(0)),
        IntegerOverflow::Wrap => wrapped(value, &least, bits),
    };
    let negative = kept.is_negative();
    Held::Finite { value: kept, negative, exponent: Some(0), unrounded: false }
}

/// The value that differs from `value` by a multiple of 2^width and lies within 2^width above `least`.
pub(super) fn wrapped(value: &Dyadic, least: &Dyadic, width: i32) -> Dyadic {
    let above = value.minus(least);
    let (_, rest) = above.abs().div_floor(width);
    let rest = match above.is_negative() && !rest.is_zero() {
        true => Dyadic::new(1, width).minus(&rest),
        false => rest,
    };
    least.plus(&rest)
}
