//! How are the codes of a row decoded for the hot loop?

use super::ProductExponent;
use super::intake::{Flush, Intake};
use super::round::Rounder;
use super::sum::ZeroProducts;
use super::value::{Class, NO_EXPONENT, Total, Value};
use crate::Format;
use crate::codec::Layout;

/// Decoded elements, in the order in which the program meets them. Element i is significand[i] · 2^(exponent[i] − p + 1),
/// p being the significant bits of the decoder that made it.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub significand: Vec<i64>,
    /// Exponent of the leading place; for a zero what the rule of zero products makes of it.
    pub exponent: Vec<i32>,
    /// Signs of all elements, zeros and NaN included.
    pub negative: Vec<bool>,
    /// Classes; read only where `special`.
    pub class: Vec<Class>,
    /// Fractions of NaN, left-aligned; read only where `special`.
    pub fraction: Vec<u64>,
    /// Whether any element is an infinity or NaN.
    pub special: bool,
}

impl Row {
    pub(super) fn resize(&mut self, length: usize) {
        self.significand.resize(length, 0);
        self.exponent.resize(length, NO_EXPONENT);
        self.negative.resize(length, false);
        self.class.resize(length, Class::Finite);
        self.fraction.resize(length, 0);
    }

    #[inline]
    fn set(&mut self, i: usize, element: &Element) {
        self.significand[i] = element.significand;
        self.exponent[i] = element.exponent;
        self.negative[i] = element.negative;
        self.class[i] = element.class;
        self.fraction[i] = element.fraction;
    }
}

/// One decoded element.
#[derive(Debug, Clone, Copy)]
struct Element {
    significand: i64,
    exponent: i32,
    negative: bool,
    class: Class,
    fraction: u64,
}

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
    table: Vec<Element>,
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
        let mut decoder =
            Decoder { format, intake: *intake, convert, normalise, zero_exponent, precision, table: Vec::new() };
        if format.bits() <= 8 {
            decoder.table = (0..1u64 << format.bits()).map(|code| decoder.element(code)).collect();
        }
        decoder
    }

    /// Decodes `codes` into the places that `order` gives, the rest of the row as +0.
    pub(super) fn row(&self, codes: &[u64], order: &[u32], row: &mut Row) {
        row.special = false;
        let zero = self.element(0);
        for (i, &place) in order.iter().enumerate() {
            let element = match codes.get(i) {
                Some(&code) => match self.table.get((code & self.format.code_mask()) as usize) {
                    Some(element) if !self.table.is_empty() => *element,
                    _ => self.element(code),
                },
                None => zero,
            };
            row.special |= !matches!(element.class, Class::Finite);
            row.set(place as usize, &element);
        }
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

/// Multiplies a row by the scale of each element: significands multiply, exponents add. A scale of NaN, and a zero one
/// of an infinity, make the element NaN.
pub(super) fn scale(row: &mut Row, order: &[u32], scales: &[Value], group: usize, zero_exponent: i32) {
    for (i, &place) in order.iter().enumerate() {
        // Filling beyond the last group stays unscaled.
        let (place, Some(scale)) = (place as usize, scales.get(i / group)) else { break };
        if scale.class == Class::Nan {
            row.class[place] = Class::Nan;
            row.fraction[place] = scale.magnitude;
            row.special = true;
        } else if scale.magnitude == 0 && row.class[place] == Class::Infinite {
            row.class[place] = Class::Nan;
            row.fraction[place] = 1 << 63;
        }
        row.significand[place] *= if scale.is_finite() { scale.magnitude as i64 } else { 0 };
        row.exponent[place] =
            if scale.magnitude == 0 { zero_exponent } else { row.exponent[place] + scale.exponent };
    }
}

/// Significant bits of an operand of a format; the width for integers.
pub(super) fn significant_bits(format: Format) -> i32 {
    if format.is_integer() { format.bits() as i32 } else { format.precision() as i32 }
}
