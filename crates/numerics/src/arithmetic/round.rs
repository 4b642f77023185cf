//! How does an exact sum become a rounded value, and that a code, by integer arithmetic?

use super::output::{IntegerOutput, IntegerOverflow, OverflowTo, Rounded, Subnormals, Vanished};
use super::value::{Class, Total, Value};
use crate::codec::Layout;
use crate::format::Specials;
use crate::{Format, Rounding};

/// A [`Rounded`] with everything that depends on it alone worked out.
#[derive(Debug, Clone)]
pub(super) struct Rounder {
    form: Rounded,
    precision: i32,
    least_exponent: i32,
    /// Exponent of the largest finite value and its significand.
    top_exponent: i32,
    top_significand: u64,
    infinity: Value,
}

impl Rounder {
    /// `None` for formats that are not signed floating ones.
    pub(super) fn new(form: &Rounded) -> Option<Rounder> {
        let layout = Layout::of(form.format).filter(|l| l.fields.sign_bits == 1)?;
        let precision = form.significant_bits();
        let own = form.format.precision();
        let field = (layout.max_magnitude >> layout.fields.fraction_bits) as i32;
        let fraction = layout.max_magnitude & ((1 << layout.fields.fraction_bits) - 1);
        let top_significand =
            if precision == own { fraction | 1 << layout.fields.fraction_bits } else { u64::MAX >> (64 - precision) };
        let infinity = match layout.fields.specials {
            Specials::Ieee => Value::infinite(false),
            Specials::AllOnesNan | Specials::NegativeZeroNan => Value::nan(false, 1 << 63),
            // Neither: see `beyond`.
            Specials::None => Value::ZERO,
        };
        Some(Rounder {
            form: *form,
            precision: precision as i32,
            least_exponent: layout.min_exponent,
            top_exponent: field - layout.fields.bias,
            top_significand,
            infinity,
        })
    }

    /// The rounded value. A total of zero keeps its sign.
    #[inline]
    pub(super) fn round(&self, total: &Total) -> Value {
        let zero = Value { negative: total.negative, exponent: self.least_exponent, ..Value::ZERO };
        if total.magnitude == 0 {
            return zero;
        }
        let zero = Value { negative: zero.negative && self.form.vanished == Vanished::KeepsSign, ..zero };
        let lead = total.place + 127 - total.magnitude.leading_zeros() as i32;
        let tiny = lead < self.least_exponent;
        let (mut kept, mut place) = self.cut(total, lead.max(self.least_exponent) - self.precision + 1);
        if tiny {
            let flushed = match self.form.subnormals {
                Subnormals::Keep => false,
                Subnormals::FlushBefore => true,
                Subnormals::FlushAfter => {
                    let (kept, place) = self.cut(total, lead - self.precision + 1);
                    place + 63 - (kept.leading_zeros() as i32) < self.least_exponent
                }
                Subnormals::FlushStored => kept >> (self.precision - 1) == 0,
            };
            if flushed || kept == 0 {
                return zero;
            }
        }
        if kept >> self.precision != 0 {
            (kept, place) = (kept >> 1, place + 1);
        }
        let exponent = place + self.precision - 1;
        if exponent > self.top_exponent || (exponent == self.top_exponent && kept > self.top_significand) {
            return self.overflowed(total.negative);
        }
        Value { class: Class::Finite, negative: total.negative, magnitude: kept, place, exponent }
    }

    /// |total| in units of 2^place, rounded.
    #[inline]
    fn cut(&self, total: &Total, place: i32) -> (u64, i32) {
        let shift = place - total.place;
        if shift <= 0 {
            // A sticky total has 128 bits, more than any precision: it never comes here.
            return ((total.magnitude << -shift) as u64, place);
        }
        let kept = match (shift, u64::try_from(total.magnitude)) {
            (1..=63, Ok(short)) => shift_cut_64(short, shift as u32, total.negative, self.form.rounding),
            _ => shift_cut(total.magnitude, shift as u32, total.sticky, total.negative, self.form.rounding) as u64,
        };
        (kept, place)
    }

    /// What a finite sum beyond the largest finite value becomes.
    fn overflowed(&self, negative: bool) -> Value {
        let away = match (self.form.overflow, self.form.rounding) {
            (OverflowTo::Infinity, _) => true,
            (OverflowTo::Largest, _) => false,
            (OverflowTo::Directed, Rounding::NearestEven | Rounding::NearestAway) => true,
            (OverflowTo::Directed, Rounding::TowardZero) => false,
            (OverflowTo::Directed, Rounding::Up) => !negative,
            (OverflowTo::Directed, Rounding::Down) => negative,
            (OverflowTo::Directed, Rounding::Odd) => self.top_significand & 1 == 0,
        };
        if away { self.beyond(negative) } else { self.largest(negative) }
    }

    /// What an infinite sum becomes.
    pub(super) fn infinite(&self, negative: bool) -> Value {
        if self.form.overflow == OverflowTo::Largest { self.largest(negative) } else { self.beyond(negative) }
    }

    fn beyond(&self, negative: bool) -> Value {
        if self.infinity == Value::ZERO { self.largest(negative) } else { Value { negative, ..self.infinity } }
    }

    fn largest(&self, negative: bool) -> Value {
        Value {
            class: Class::Finite,
            negative,
            magnitude: self.top_significand,
            place: self.top_exponent - self.precision + 1,
            exponent: self.top_exponent,
        }
    }
}

/// A magnitude without its low `shift` > 0 bits, rounded. `sticky`: there was a little more than the magnitude.
#[inline]
pub(super) fn shift_cut(magnitude: u128, shift: u32, sticky: bool, negative: bool, rounding: Rounding) -> u128 {
    let (kept, rest, half) = match shift {
        ..=127 => (magnitude >> shift, magnitude & ((1 << shift) - 1), 1u128 << (shift - 1)),
        // Only whether the rest is zero, below, at or above half matters; beyond 128 places it is below.
        128 => (0, magnitude, 1 << 127),
        _ => (0, magnitude.min(1), 2),
    };
    let inexact = rest != 0 || sticky;
    let up = match rounding {
        Rounding::TowardZero => false,
        Rounding::NearestEven => rest > half || rest == half && (sticky || kept & 1 == 1),
        Rounding::NearestAway => rest >= half,
        Rounding::Up => inexact && !negative,
        Rounding::Down => inexact && negative,
        Rounding::Odd => inexact && kept & 1 == 0,
    };
    kept + u128::from(up)
}

/// As [`shift_cut`], for 1 ≤ `shift` ≤ 63 and nothing below the magnitude.
#[inline]
pub(super) fn shift_cut_64(magnitude: u64, shift: u32, negative: bool, rounding: Rounding) -> u64 {
    let (kept, rest, half) = (magnitude >> shift, magnitude & ((1 << shift) - 1), 1u64 << (shift - 1));
    let up = match rounding {
        Rounding::TowardZero => false,
        Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
        Rounding::NearestAway => rest >= half,
        Rounding::Up => rest != 0 && !negative,
        Rounding::Down => rest != 0 && negative,
        Rounding::Odd => rest != 0 && kept & 1 == 0,
    };
    kept + u64::from(up)
}

/// An integer sum in its width.
pub(super) fn integer(output: &IntegerOutput, sum: i128) -> Value {
    let bits = output.bits;
    let (least, most) =
        if output.signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    let kept = match output.overflow {
        IntegerOverflow::Saturate => sum.clamp(least, most),
        IntegerOverflow::Wrap => {
            let residue = sum & ((1i128 << bits) - 1);
            if residue > most { residue - (1i128 << bits) } else { residue }
        }
    };
    Value { class: Class::Finite, negative: kept < 0, magnitude: kept.unsigned_abs() as u64, place: 0, exponent: 0 }
}

/// The code of a value in a format that holds it exactly; a NaN keeps the leading bits of its fraction.
pub(super) fn code(format: Format, value: &Value) -> u64 {
    let Some(layout) = Layout::of(format) else {
        let magnitude = value.magnitude;
        return if value.negative { magnitude.wrapping_neg() } else { magnitude } & format.code_mask();
    };
    let bits = layout.fields.fraction_bits;
    match value.class {
        Class::Infinite => {
            format.infinity_code(value.negative).unwrap_or(layout.join(value.negative, layout.max_magnitude))
        }
        Class::Nan => match layout.fields.specials {
            Specials::Ieee => {
                let quiet = value.magnitude | 1 << 63;
                layout.join(value.negative, layout.max_magnitude + 1 + (quiet >> (64 - bits)))
            }
            Specials::AllOnesNan => layout.join(value.negative, layout.max_magnitude + 1),
            Specials::NegativeZeroNan | Specials::None => format.nan_code().unwrap_or(layout.max_magnitude),
        },
        Class::Finite | Class::Unrounded if value.magnitude == 0 => {
            layout.join(value.negative && layout.has_negative_zero(), 0)
        }
        Class::Finite | Class::Unrounded => {
            let last = value.exponent.max(layout.min_exponent) - bits as i32;
            let shift = value.place - last;
            let significand = if shift >= 0 { value.magnitude << shift } else { value.magnitude >> -shift };
            let steps = (value.exponent.max(layout.min_exponent) - layout.min_exponent) as u64;
            layout.join(value.negative, (steps << bits) + significand)
        }
    }
}
