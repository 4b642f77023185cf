//! How do codes become decoded elements?

use super::intake::{Flush, Intake};
use super::operand::{Element, Row};
use super::round::Rounder;
use super::sum::{ProductExponent, ZeroProducts};
use super::value::{Class, NO_EXPONENT, Total, Value};
use crate::Format;
use crate::codec::Layout;
use crate::format::Floating;
use std::sync::Arc;

/// How codes of one operand become elements.
#[derive(Debug, Clone)]
pub(super) struct Decoder {
    format: Format,
    intake: Intake,
    convert: Option<Rounder>,
    normalise: bool,
    /// Exponent of an element that is zero.
    pub zero_exponent: i32,
    /// Significant bits of an element.
    pub precision: i32,
    /// Elements of all codes of a format of at most 8 bits.
    table: Arc<[Element]>,
    /// The fields of a wider format whose finite codes need no more than to be taken apart.
    fields: Option<Fields>,
}

/// Where the fields of a format with infinities lie.
#[derive(Debug, Clone, Copy)]
struct Fields {
    ignored: u32,
    fraction_bits: u32,
    exponent_mask: u64,
    sign_shift: u32,
    bias: i32,
}

impl Decoder {
    pub(super) fn new(format: Format, intake: &Intake, products: ProductExponent, zeros: ZeroProducts) -> Decoder {
        let convert = intake.convert.as_ref().and_then(Rounder::new);
        let precision = match (&convert, intake.convert) {
            (Some(_), Some(form)) => form.significant_bits() as i32,
            _ => significant_bits(format),
        };
        let zero_exponent = if let ZeroProducts::Operand(e) = zeros { e } else { NO_EXPONENT };
        let normalise = products == ProductExponent::OperandsNormalised;
        let mut decoder = Decoder {
            format,
            intake: *intake,
            convert,
            normalise,
            zero_exponent,
            precision,
            table: Arc::new([]),
            fields: None,
        };
        if format.bits() <= 8 {
            decoder.table = (0..1u64 << format.bits()).map(|code| decoder.element(code)).collect();
        } else if !normalise && *intake == Intake::default() {
            decoder.fields = Layout::of(format).map(|layout| {
                let Floating { exponent_bits, fraction_bits, bias, .. } = layout.fields;
                let (exponent_mask, sign_shift) = ((1 << exponent_bits) - 1, exponent_bits + fraction_bits);
                Fields { ignored: layout.ignored, fraction_bits, exponent_mask, sign_shift, bias }
            });
        }
        decoder
    }

    /// Whether this is the decoder that [`Decoder::new`] makes of these.
    pub(super) fn reads(
        &self,
        format: Format,
        intake: &Intake,
        products: ProductExponent,
        zeros: ZeroProducts,
    ) -> bool {
        let zero_exponent = if let ZeroProducts::Operand(e) = zeros { e } else { NO_EXPONENT };
        let normalise = products == ProductExponent::OperandsNormalised;
        (self.format, self.intake, self.normalise, self.zero_exponent) == (format, *intake, normalise, zero_exponent)
    }

    /// Whether two decoders make the same of every code.
    pub(super) fn reads_like(&self, other: &Decoder) -> bool {
        (self.format, self.intake, self.normalise, self.zero_exponent)
            == (other.format, other.intake, other.normalise, other.zero_exponent)
    }

    /// Decodes `codes` into the places that `order` gives, the rest of the row as +0.
    pub(super) fn row(&self, codes: &[u64], order: &[u32], row: &mut Row) {
        if row.special {
            row.class.fill(Class::Finite);
            row.special = false;
        }
        let mask = self.format.code_mask();
        let places = codes.iter().zip(order);
        if !self.table.is_empty() {
            places.for_each(|(&code, &place)| row.set(place as usize, &self.table[(code & mask) as usize]));
        } else if let Some(fields) = &self.fields {
            for (&code, &place) in places {
                let element = self.plain(fields, code).unwrap_or_else(|| self.element(code));
                row.set(place as usize, &element);
            }
        } else {
            places.for_each(|(&code, &place)| row.set(place as usize, &self.element(code)));
        }
        let zero = self.element(0);
        order.iter().skip(codes.len()).for_each(|&place| row.set(place as usize, &zero));
    }

    /// A finite code taken apart, `None` for the others.
    #[inline]
    fn plain(&self, fields: &Fields, code: u64) -> Option<Element> {
        let code = code >> fields.ignored;
        let fraction = code & ((1 << fields.fraction_bits) - 1);
        let exponent = code >> fields.fraction_bits & fields.exponent_mask;
        let negative = code >> fields.sign_shift & 1;
        let magnitude = (fraction | u64::from(exponent != 0) << fields.fraction_bits) as i64;
        let sign = -(negative as i64);
        let element = Element {
            significand: (magnitude ^ sign) - sign,
            exponent: if magnitude == 0 { self.zero_exponent } else { exponent.max(1) as i32 - fields.bias },
            negative: negative == 1,
            class: Class::Finite,
            fraction: 0,
        };
        (exponent != fields.exponent_mask).then_some(element)
    }

    /// The value of one code, before any zero rule: what c is.
    pub(super) fn value(&self, code: u64) -> Value {
        let Some(layout) = Layout::of(self.format) else {
            let value = self.format.parts(code).map_or(0, |(v, _)| v);
            let magnitude = value.unsigned_abs();
            let exponent = significant_bits(self.format) - 1;
            return Value { class: Class::Finite, negative: value < 0, magnitude, place: 0, exponent };
        };
        let (negative, magnitude) = layout.split(code);
        let bits = layout.fields.fraction_bits;
        let value = match self.format.parts(code) {
            None if self.format.is_nan(code) => {
                let fraction = (magnitude & ((1 << bits) - 1)).checked_shl(64 - bits).unwrap_or(0);
                Value::nan(negative, fraction | 1 << 63)
            }
            None => Value::infinite(negative),
            Some((significand, place)) => {
                let magnitude = significand.unsigned_abs();
                let subnormal = magnitude != 0 && magnitude >> bits == 0;
                let (negative, magnitude) = match self.intake.subnormals {
                    Flush::ToSignedZero if subnormal => (negative, 0),
                    Flush::ToPositiveZero if subnormal => (false, 0),
                    _ => (negative, magnitude),
                };
                Value { class: Class::Finite, negative, magnitude, place, exponent: place + bits as i32 }
            }
        };
        match (&self.convert, value.class) {
            (Some(convert), Class::Finite) => convert.round(&Total {
                negative: value.negative,
                magnitude: u128::from(value.magnitude),
                place: value.place,
                sticky: false,
                exponent: value.exponent,
            }),
            (Some(convert), Class::Infinite) => convert.infinite(value.negative),
            _ => value,
        }
    }

    fn element(&self, code: u64) -> Element {
        let value = self.value(code);
        let mut magnitude = value.magnitude;
        let mut exponent = value.exponent;
        if !value.is_finite() || magnitude == 0 {
            let fraction = if value.class == Class::Nan { magnitude } else { 0 };
            return Element {
                significand: 0,
                exponent: self.zero_exponent,
                negative: value.negative,
                class: value.class,
                fraction,
            };
        }
        if self.normalise {
            let zeros = magnitude.leading_zeros() as i32 - (64 - self.precision);
            (magnitude, exponent) = (magnitude << zeros, exponent - zeros);
        }
        let signed = if value.negative { -(magnitude as i64) } else { magnitude as i64 };
        Element { significand: signed, exponent, negative: value.negative, class: value.class, fraction: 0 }
    }
}

/// Significant bits of an operand of a format; the width for integers.
pub(super) fn significant_bits(format: Format) -> i32 {
    if format.is_integer() { format.bits() as i32 } else { format.precision() as i32 }
}
