//! What value does a bit pattern of a format stand for, and is it finite?
//!
//! Every value of every format is exact in `f64`, so decoding never rounds. A code lies in the low bits of a
//! `u64`; bits above [`Format::bits`] are ignored, as are the low 13 bits of tf32 and the top bit of UE4M3. A block-scaled code
//! stands for element times scale; no such format has infinities.

use crate::Format;
use crate::block::ScaleGroups;
use crate::format::{Floating, Specials};

/// Where the fields of a floating format lie inside its code, and which of its codes are finite.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Sign, exponent and fraction widths.
    pub fields: Floating,
    /// Ignored low bits (13 for tf32).
    pub ignored: u32,
    /// Exponent of the smallest normal value.
    pub min_exponent: i32,
    /// Largest finite magnitude: exponent and fraction fields as one number.
    pub max_magnitude: u64,
}

impl Layout {
    /// The layout of a floating format, `None` for integers.
    #[inline]
    pub(crate) const fn of(format: Format) -> Option<Layout> {
        let Some(fields) = format.floating() else { return None };
        let magnitudes = 1u64 << (fields.exponent_bits + fields.fraction_bits);
        let max_magnitude = match fields.specials {
            Specials::Ieee => magnitudes - (1 << fields.fraction_bits) - 1,
            Specials::AllOnesNan => magnitudes - 2,
            Specials::NegativeZeroNan | Specials::None => magnitudes - 1,
        };
        let ignored = if matches!(format, Format::Tf32) { 13 } else { 0 };
        // E8M0 has no subnormals: its exponent field 0 is an ordinary power of two.
        let min_exponent = if matches!(format, Format::E8m0) { -fields.bias } else { 1 - fields.bias };
        Some(Layout { fields, ignored, min_exponent, max_magnitude })
    }

    /// (sign, magnitude) of a code; unsigned formats are never negative.
    #[inline]
    pub(crate) const fn split(&self, code: u64) -> (bool, u64) {
        let code = code >> self.ignored;
        let width = self.fields.exponent_bits + self.fields.fraction_bits;
        let negative = self.fields.sign_bits == 1 && code >> width & 1 == 1;
        (negative, code & ((1 << width) - 1))
    }

    /// The code of a sign and a magnitude.
    #[inline]
    pub(crate) const fn join(&self, negative: bool, magnitude: u64) -> u64 {
        let width = self.fields.exponent_bits + self.fields.fraction_bits;
        let sign = negative as u64 & self.fields.sign_bits as u64;
        (sign << width | magnitude) << self.ignored
    }

    /// Whether a zero keeps its sign.
    #[inline]
    pub(crate) const fn has_negative_zero(&self) -> bool {
        self.fields.sign_bits == 1 && !matches!(self.fields.specials, Specials::NegativeZeroNan)
    }

    /// (significand, exponent of its last place) of a finite magnitude.
    #[inline]
    const fn scaled(&self, magnitude: u64) -> (u64, i32) {
        let f = self.fields;
        let field = magnitude >> f.fraction_bits;
        let fraction = magnitude & ((1 << f.fraction_bits) - 1);
        let step = self.min_exponent - f.fraction_bits as i32;
        let first_normal = self.min_exponent + f.bias;
        if field as i32 >= first_normal {
            (fraction | 1 << f.fraction_bits, step + field as i32 - first_normal)
        } else {
            (fraction, step)
        }
    }
}

impl Format {
    /// The bits of a `u64` that belong to a code.
    pub const fn code_mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The value of a code, exactly: NaN for NaN codes, ±∞ for infinities, −0 where the format has it.
    ///
    /// The payload and sign of a NaN are not kept.
    #[inline]
    pub fn decode(self, code: u64) -> f64 {
        match self {
            Format::F64 => f64::from_bits(code),
            Format::F32 => f64::from(f32::from_bits(code as u32)),
            Format::Tf32 => f64::from(f32::from_bits(code as u32 & !0x1FFF)),
            Format::Bf16 => f64::from(f32::from_bits((code as u32) << 16)),
            _ => self.decode_by_fields(code),
        }
    }

    fn decode_by_fields(self, code: u64) -> f64 {
        let Some(layout) = Layout::of(self) else {
            return match self.split(code) {
                Some([(element, x), (scale, y)]) => element.decode(x) * scale.decode(y),
                None => self.integer(code) as f64,
            };
        };
        if self.is_nan(code) {
            return f64::NAN;
        }
        let (negative, magnitude) = layout.split(code);
        let value = if magnitude > layout.max_magnitude {
            f64::INFINITY
        } else {
            let (significand, exponent) = layout.scaled(magnitude);
            significand as f64 * power_of_two(exponent)
        };
        if negative { -value } else { value }
    }

    /// (s, e) with value = s · 2^e exactly, for finite codes; `None` for infinities and NaN.
    ///
    /// s holds at most 53 bits (f64) and e is the exponent of the format's last place there, so neither is
    /// reduced: the parts of f32's 1 are (2^23, −23). Both zeros have s = 0.
    #[inline]
    pub fn parts(self, code: u64) -> Option<(i64, i32)> {
        let Some(layout) = Layout::of(self) else {
            let Some([(element, x), (scale, y)]) = self.split(code) else { return Some((self.integer(code), 0)) };
            let ((s, e), (t, f)) = (element.parts(x)?, scale.parts(y)?);
            return Some((s * t, e + f));
        };
        if !self.is_finite(code) {
            return None;
        }
        let (negative, magnitude) = layout.split(code);
        let (significand, exponent) = layout.scaled(magnitude);
        Some((if negative { -(significand as i64) } else { significand as i64 }, exponent))
    }

    /// Formats and codes of the element and the scale of a block-scaled code.
    const fn split(self, code: u64) -> Option<[(Format, u64); 2]> {
        let Some(groups) = self.scale_groups() else { return None };
        let (element, scale) = groups.split(code);
        Some([(groups.element, element), (groups.scale, scale)])
    }

    /// The integer that a code of an integer format stands for.
    #[inline]
    fn integer(self, code: u64) -> i64 {
        let unused = 64 - self.bits();
        match self {
            Format::U8 | Format::U4 | Format::U2 => (code << unused >> unused) as i64,
            _ => (code << unused) as i64 >> unused,
        }
    }

    /// Whether a code is NaN.
    #[inline]
    pub fn is_nan(self, code: u64) -> bool {
        let Some(layout) = Layout::of(self) else {
            return self.split(code).is_some_and(|[(element, x), (scale, y)]| element.is_nan(x) || scale.is_nan(y));
        };
        let (negative, magnitude) = layout.split(code);
        match layout.fields.specials {
            Specials::Ieee => magnitude > layout.max_magnitude + 1,
            Specials::AllOnesNan => magnitude > layout.max_magnitude,
            Specials::NegativeZeroNan => negative && magnitude == 0,
            Specials::None => false,
        }
    }

    /// Whether a code is an infinity.
    #[inline]
    pub fn is_infinite(self, code: u64) -> bool {
        let Some(layout) = Layout::of(self) else { return false };
        matches!(layout.fields.specials, Specials::Ieee) && layout.split(code).1 == layout.max_magnitude + 1
    }

    /// Whether a code is neither NaN nor an infinity. Every code of an integer format is finite.
    #[inline]
    pub fn is_finite(self, code: u64) -> bool {
        !self.is_nan(code) && !self.is_infinite(code)
    }

    /// The code of the largest finite value.
    pub const fn max_finite_code(self) -> u64 {
        match Layout::of(self) {
            Some(layout) => layout.join(false, layout.max_magnitude),
            None => match (self, self.scale_groups()) {
                (_, Some(groups)) => groups.code(groups.element.max_finite_code(), groups.scale.max_finite_code()),
                (Format::U8 | Format::U4 | Format::U2, _) => self.code_mask(),
                _ => self.code_mask() >> 1,
            },
        }
    }

    /// The code of the least value: the most negative one, the smallest positive one of E8M0, 0 of other unsigned
    /// formats.
    pub const fn min_finite_code(self) -> u64 {
        match Layout::of(self) {
            Some(layout) if layout.fields.sign_bits == 1 => layout.join(true, layout.max_magnitude),
            Some(_) => 0,
            None => match (self, self.scale_groups()) {
                (_, Some(groups)) => groups.code(groups.element.min_finite_code(), groups.scale.max_finite_code()),
                (Format::U8 | Format::U4 | Format::U2, _) => 0,
                _ => 1 << (self.bits() - 1),
            },
        }
    }

    /// The NaN that [`Format::encode`] produces: quiet, positive, no payload. `None` where the format has no NaN.
    ///
    /// For E5M2 this is 0x7E; NVIDIA's conversions produce 0x7F, another NaN of the same format.
    pub const fn nan_code(self) -> Option<u64> {
        let Some(layout) = Layout::of(self) else {
            return match self.scale_groups() {
                Some(ScaleGroups { scale: Format::E8m0, .. }) => Some(0xFF00),
                Some(_) => Some(0x7F00),
                None => None,
            };
        };
        match layout.fields.specials {
            Specials::Ieee => {
                Some(layout.join(false, layout.max_magnitude + 1 + (1 << (layout.fields.fraction_bits - 1))))
            }
            Specials::AllOnesNan => Some(layout.join(false, layout.max_magnitude + 1)),
            Specials::NegativeZeroNan => Some(layout.join(true, 0)),
            Specials::None => None,
        }
    }

    /// The code of an infinity of the given sign, `None` where the format has none.
    pub const fn infinity_code(self, negative: bool) -> Option<u64> {
        match Layout::of(self) {
            Some(layout) if matches!(layout.fields.specials, Specials::Ieee) => {
                Some(layout.join(negative, layout.max_magnitude + 1))
            }
            _ => None,
        }
    }

    /// The largest finite value.
    pub fn max_finite(self) -> f64 {
        self.decode(self.max_finite_code())
    }

    /// The smallest positive value that has the format's full precision, of block-scaled formats that of elements and scales; 1 for
    /// integers.
    pub fn min_normal(self) -> f64 {
        match (Layout::of(self), self.scale_groups()) {
            (Some(layout), _) => power_of_two(layout.min_exponent),
            (None, Some(groups)) => groups.element.min_normal() * groups.scale.min_normal(),
            (None, None) => 1.0,
        }
    }

    /// The smallest positive value, subnormals included; 1 for integers.
    pub fn min_positive(self) -> f64 {
        match (Layout::of(self), self.scale_groups()) {
            (Some(layout), _) => power_of_two(layout.min_exponent - layout.fields.fraction_bits as i32),
            (None, Some(groups)) => groups.element.min_positive() * groups.scale.min_positive(),
            (None, None) => 1.0,
        }
    }

    /// Whether the format has a sign.
    pub const fn is_signed(self) -> bool {
        match self.floating() {
            Some(fields) => fields.sign_bits == 1,
            None => !matches!(self, Format::U8 | Format::U4 | Format::U2),
        }
    }
}

/// 2^e exactly for −1074 ≤ e ≤ 1023; 0 below and ∞ above.
pub(crate) fn power_of_two(e: i32) -> f64 {
    match e {
        ..-1074 => 0.0,
        -1074..=-1023 => f64::from_bits(1 << (e + 1074)),
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
    }
}
