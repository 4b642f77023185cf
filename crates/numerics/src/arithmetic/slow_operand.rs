//! What do the operands of a step stand for, as exact fractions?

use super::dyadic::Dyadic;
use super::intake::{Flush, Intake, ScaledPart};
use super::node::Step;
use super::slow::Unit;
use super::slow_round::{infinite, least_exponent, rounded};
use super::sum::{Align, ProductExponent, ZeroProducts};
use crate::Format;

/// A value between steps.
#[derive(Debug, Clone)]
pub(super) enum Held {
    /// A finite value, the sign it has even if it is zero, and its exponent as the hardware counts it.
    Finite {
        value: Dyadic,
        negative: bool,
        exponent: Option<i32>,
        unrounded: bool,
    },
    Infinite(bool),
    /// A NaN: sign, and fraction left-aligned.
    Nan {
        negative: bool,
        fraction: u64,
    },
}

/// A factor or value with the exponents that steps may count.
#[derive(Debug, Clone)]
pub(super) struct Product {
    pub value: Dyadic,
    pub negative: bool,
    pub exponent: Option<i32>,
}

/// What a code stands for.
pub(super) fn taken(format: Format, intake: &Intake, code: u64) -> Held {
    let Some(fields) = format.floating() else {
        let value = Dyadic::of(format.decode(code));
        return Held::Finite { negative: value.is_negative(), value, exponent: None, unrounded: false };
    };
    let negative = fields.sign_bits == 1 && code >> (format.bits() - 1) & 1 == 1;
    let value = format.decode(code);
    if value.is_nan() {
        let ignored = if format == Format::Tf32 { 13 } else { 0 };
        let fraction = (code >> ignored) & ((1 << fields.fraction_bits) - 1);
        let aligned = if fields.fraction_bits == 0 { 0 } else { fraction << (64 - fields.fraction_bits) };
        return Held::Nan { negative, fraction: aligned | 1 << 63 };
    }
    if value.is_infinite() {
        return intake.convert.map_or(Held::Infinite(negative), |form| infinite(&form, negative));
    }
    let subnormal = value != 0.0 && value.abs() < format.min_normal();
    let (value, negative) = match intake.subnormals {
        Flush::ToSignedZero if subnormal => (0.0, negative),
        Flush::ToPositiveZero if subnormal => (0.0, false),
        _ => (value, negative),
    };
    let value = Dyadic::of(value);
    match &intake.convert {
        Some(form) => rounded(form, &value, negative),
        None => {
            let exponent = value.floor_log2().map(|lead| lead.max(least_exponent(format)));
            Held::Finite { value, negative, exponent, unrounded: false }
        }
    }
}

impl Unit<'_> {
    /// The value of an element, times its scale where products are scaled.
    pub(super) fn element(&self, operand: usize, i: usize) -> Held {
        let t = self.model.triple;
        let (format, intake, codes) = match operand {
            0 => (t.a, &self.model.a, self.inputs.a),
            _ => (t.b, &self.model.b, self.inputs.b),
        };
        let element = taken(format, intake, codes.get(i).copied().unwrap_or(0));
        let Some(scale) = self.scale(operand, i, ScaledPart::Products) else { return element };
        match (element, scale) {
            (Held::Nan { negative, fraction }, Held::Finite { .. }) => Held::Nan { negative, fraction },
            (element, Held::Nan { fraction, .. }) => Held::Nan { negative: sign(&element), fraction },
            (Held::Infinite(negative), Held::Finite { value, .. }) if value.is_zero() => {
                Held::Nan { negative, fraction: 1 << 63 }
            }
            (Held::Finite { value, negative, exponent, unrounded }, Held::Finite { value: s, exponent: e, .. }) => {
                let exponent = exponent.and_then(|own| e.map(|scale| own + scale));
                Held::Finite { value: value.times(&s), negative, exponent, unrounded }
            }
            (element, _) => element,
        }
    }

    /// The scale of element i of an operand, if scales multiply this part.
    fn scale(&self, operand: usize, i: usize, part: ScaledPart) -> Option<Held> {
        let scales = self.model.scales.filter(|s| s.on == part)?;
        let (format, codes) =
            if operand == 0 { (scales.a, self.inputs.a_scales) } else { (scales.b, self.inputs.b_scales) };
        codes.get(i / scales.group).map(|&code| taken(format, &Intake::default(), code))
    }

    /// The scales that multiply the sum over some indices.
    pub(super) fn sum_factor(&self, indices: &[usize]) -> Option<[Held; 2]> {
        let first = *indices.first()?;
        self.model.scales.filter(|s| s.on == ScaledPart::Sums)?;
        let one = || Held::Finite { value: Dyadic::new(1, 0), negative: false, exponent: Some(0), unrounded: false };
        Some([0, 1].map(|operand| self.scale(operand, first, ScaledPart::Sums).unwrap_or_else(one)))
    }

    /// The product of two finite elements at index i.
    pub(super) fn product(&self, step: &Step, elements: &[Held; 2], i: usize) -> Product {
        let (rule, zeros) = match &step.sum.align {
            Align::Largest(alignment) => (alignment.products, alignment.zero_products),
            Align::Exact => (ProductExponent::Raw, ZeroProducts::Ignored),
        };
        let mut exponents = [None; 2];
        let mut value = Dyadic::new(1, 0);
        let mut negative = false;
        for (operand, element) in elements.iter().enumerate() {
            let Held::Finite { value: x, negative: n, exponent, .. } = element else { continue };
            let scale = match self.scale(operand, i, ScaledPart::Products) {
                Some(Held::Finite { value, exponent, .. }) if !value.is_zero() => (value.floor_log2(), exponent),
                _ => (Some(0), Some(0)),
            };
            exponents[operand] = match (x.floor_log2(), rule, zeros) {
                (None, _, ZeroProducts::Operand(e)) => {
                    let scaled_to_zero = matches!(self.scale(operand, i, ScaledPart::Products),
                        Some(Held::Finite { ref value, .. }) if value.is_zero());
                    Some(if scaled_to_zero { e } else { e + scale.1.unwrap_or(0) })
                }
                (None, ..) => None,
                // Of the element alone: its scale keeps the exponent field that it has.
                (Some(_), ProductExponent::OperandsNormalised, _) => {
                    let alone = self.unscaled_log2(operand, i);
                    alone.and_then(|lead| scale.1.map(|s| lead + s))
                }
                (Some(_), ..) => *exponent,
            };
            value = value.times(x);
            negative ^= n;
        }
        let both = exponents[0].and_then(|e| exponents[1].map(|f| e + f));
        let exponent = match (value.floor_log2(), rule, zeros) {
            (None, _, ZeroProducts::Product(e)) => Some(e),
            (Some(lead), ProductExponent::Normalised, _) => Some(lead),
            _ => both,
        };
        Product { value, negative, exponent }
    }

    fn unscaled_log2(&self, operand: usize, i: usize) -> Option<i32> {
        let t = self.model.triple;
        let (format, intake, codes) = match operand {
            0 => (t.a, &self.model.a, self.inputs.a),
            _ => (t.b, &self.model.b, self.inputs.b),
        };
        match taken(format, intake, codes.get(i).copied().unwrap_or(0)) {
            Held::Finite { value, .. } => value.floor_log2(),
            _ => None,
        }
    }
}

/// The sign that a value has, even a zero or a NaN.
pub(super) fn sign(held: &Held) -> bool {
    match held {
        Held::Finite { negative, .. } | Held::Infinite(negative) | Held::Nan { negative, .. } => *negative,
    }
}
