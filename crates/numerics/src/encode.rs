//! Which code of a format does a value become?
//!
//! One integer-only core rounds every format: [`Format::encode_scaled`]. Rounding acts as if the exponent
//! range had no upper end; what then lies beyond the largest finite code is handled by [`Overflow`].

use crate::codec::Layout;
use crate::{Format, Overflow, Rounding};

impl Format {
    /// The code that a value becomes.
    ///
    /// * Zero keeps its sign where the format has −0 (FNUZ and integers have none). A negative value that rounds
    ///   to zero likewise.
    /// * Unsigned floating formats clamp negative values, −∞ and −0 to their least code. OCP MX 1.0 gives E8M0 neither
    ///   zero nor sign, so zero and all below 2^−127 become 2^−127, the nearest value, in every mode.
    /// * NaN becomes [`Format::nan_code`]. Without a NaN, a floating format gives its largest finite code (a choice of
    ///   this crate: an error that large is seen, a zero might not be), an integer format gives 0.
    /// * ±∞ saturates under [`Overflow::Saturate`]; under [`Overflow::Ieee`] it becomes ∞, else NaN, else saturates.
    /// * Integers round, then clamp under [`Overflow::Saturate`] and wrap modulo 2^bits under
    ///   [`Overflow::Ieee`]; ±∞ clamps under both.
    /// * Block-scaled formats encode the element under a scale of 1; NaN becomes a NaN scale.
    pub fn encode(self, value: f64, rounding: Rounding, overflow: Overflow) -> u64 {
        if value.is_nan() {
            return self.nan_code().unwrap_or(if self.is_integer() { 0 } else { self.max_finite_code() });
        }
        if let Some(groups) = self.scale_groups() {
            return groups.under_one(groups.element.encode(value, rounding, overflow));
        }
        let negative = value.is_sign_negative();
        if value.is_infinite() {
            if negative && !self.is_signed() || overflow == Overflow::Saturate || self.is_integer() {
                return if negative { self.min_finite_code() } else { self.max_finite_code() };
            }
            return self.beyond(negative);
        }
        if value == 0.0 && negative {
            return self.negative_zero();
        }
        let bits = value.to_bits();
        let field = (bits >> 52 & 0x7FF) as i32;
        let fraction = i128::from(bits & ((1 << 52) - 1));
        let (significand, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        self.encode_scaled(if negative { -significand } else { significand }, exponent, rounding, overflow)
    }

    /// The code that significand · 2^exponent becomes, by integer arithmetic alone.
    ///
    /// Rules as for [`Format::encode`]; a significand of 0 is +0. Correct for every i128 and i32 (the magnitude of
    /// `i128::MIN` included).
    #[inline]
    pub fn encode_scaled(self, significand: i128, exponent: i32, rounding: Rounding, overflow: Overflow) -> u64 {
        let negative = significand < 0;
        let magnitude = significand.unsigned_abs();
        match Layout::of(self) {
            Some(layout) => self.encode_floating(&layout, negative, magnitude, exponent, rounding, overflow),
            None => match self.scale_groups() {
                Some(groups) => {
                    groups.under_one(groups.element.encode_scaled(significand, exponent, rounding, overflow))
                }
                None => self.encode_integer(negative, magnitude, exponent, rounding, overflow),
            },
        }
    }

    #[inline]
    fn encode_floating(
        self,
        layout: &Layout,
        negative: bool,
        value: u128,
        exponent: i32,
        rounding: Rounding,
        overflow: Overflow,
    ) -> u64 {
        if negative && layout.fields.sign_bits == 0 || value == 0 {
            return 0;
        }
        let fraction_bits = i64::from(layout.fields.fraction_bits);
        let exponent = i64::from(exponent);
        let top = exponent + i64::from(127 - value.leading_zeros());
        if top > 2 + (layout.max_magnitude >> layout.fields.fraction_bits) as i64 - i64::from(layout.fields.bias) {
            return self.overflowed(layout, negative, rounding, overflow);
        }
        // The exponent of the last place at this magnitude, subnormals included.
        let last_place = top.max(i64::from(layout.min_exponent)) - fraction_bits;
        let cut = Cut::at(value, last_place - exponent);
        let base = (last_place + fraction_bits + i64::from(layout.fields.bias) - 1) << fraction_bits;
        let below = base + cut.kept as i64;
        // Below its least value E8M0 has no neighbour: `below` is −1 there.
        let rounded = (below + i64::from(cut.rounds_up(below & 1 == 1, negative, rounding))).max(0) as u64;
        if rounded > layout.max_magnitude {
            return self.overflowed(layout, negative, rounding, overflow);
        }
        if rounded == 0 && negative { self.negative_zero() } else { layout.join(negative, rounded) }
    }

    #[inline]
    fn encode_integer(self, negative: bool, value: u128, exponent: i32, rounding: Rounding, overflow: Overflow) -> u64 {
        let limit = if negative { self.min_finite_code() } else { self.max_finite_code() };
        let lost = value != 0 && i64::from(exponent) > i64::from(value.leading_zeros()) - 1;
        let rounded = if lost {
            // Beyond 2^127: only the residue matters, and only when wrapping.
            if overflow == Overflow::Saturate {
                return limit;
            }
            value.checked_shl(exponent as u32).unwrap_or(0)
        } else {
            let cut = Cut::at(value, -i64::from(exponent));
            cut.kept + u128::from(cut.rounds_up(cut.kept & 1 == 1, negative, rounding))
        };
        let code = if negative { (rounded as u64).wrapping_neg() } else { rounded as u64 } & self.code_mask();
        let most = match (self.is_signed(), negative) {
            (true, true) => 1u128 << (self.bits() - 1),
            (false, true) => 0,
            _ => u128::from(self.max_finite_code()),
        };
        if overflow == Overflow::Saturate && rounded > most { limit } else { code }
    }

    /// What a finite value that rounds beyond the largest finite code becomes.
    fn overflowed(self, layout: &Layout, negative: bool, rounding: Rounding, overflow: Overflow) -> u64 {
        // Between the largest finite code and what lies beyond it, the rounding direction decides as between
        // any two neighbours; NaN takes the place of infinity where there is none.
        let away = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::TowardZero => false,
            Rounding::Up => !negative,
            Rounding::Down => negative,
            Rounding::Odd => layout.max_magnitude & 1 == 0,
        };
        if overflow == Overflow::Ieee && away {
            self.beyond(negative)
        } else {
            layout.join(negative, layout.max_magnitude)
        }
    }

    /// Infinity, else NaN, else the largest finite code of that sign.
    fn beyond(self, negative: bool) -> u64 {
        let last = if negative { self.min_finite_code() } else { self.max_finite_code() };
        self.infinity_code(negative).or(self.nan_code()).unwrap_or(last)
    }

    fn negative_zero(self) -> u64 {
        match Layout::of(self) {
            Some(layout) if layout.has_negative_zero() => layout.join(true, 0),
            _ => 0,
        }
    }
}

/// A magnitude cut at a bit position: what is kept, and how the rest compares with half of the last kept place.
struct Cut {
    kept: u128,
    above_half: bool,
    half: bool,
    inexact: bool,
}

impl Cut {
    /// Drops `places` low bits of `value`; negative `places` append zeros (the caller makes sure that they fit).
    #[inline]
    fn at(value: u128, places: i64) -> Cut {
        match places {
            ..=0 => Cut { kept: value << -places, above_half: false, half: false, inexact: false },
            1..=127 => {
                let kept = value >> places;
                let rest = value & ((1 << places) - 1);
                let half = 1 << (places - 1);
                Cut { kept, above_half: rest > half, half: rest == half, inexact: rest != 0 }
            }
            128 => {
                let half = 1 << 127;
                Cut { kept: 0, above_half: value > half, half: value == half, inexact: value != 0 }
            }
            129.. => Cut { kept: 0, above_half: false, half: false, inexact: value != 0 },
        }
    }

    /// Whether the magnitude moves to the next code, given whether the lower one is odd.
    #[inline]
    fn rounds_up(&self, odd: bool, negative: bool, rounding: Rounding) -> bool {
        match rounding {
            Rounding::NearestEven => self.above_half || self.half && odd,
            Rounding::NearestAway => self.above_half || self.half,
            Rounding::TowardZero => false,
            Rounding::Up => self.inexact && !negative,
            Rounding::Down => self.inexact && negative,
            Rounding::Odd => self.inexact && !odd,
        }
    }
}
