//! In what form do rows of decoded codes wait for the hot loop?

use super::value::{Class, NO_EXPONENT, Value};

/// Decoded elements, in the order in which the program meets them. Element i is significand[i] · 2^(exponent[i] − p + 1),
/// p being the significant bits of the decoder that made it.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub significand: Vec<i64>,
    /// Exponent of the leading place; for a zero what the rule of zero products makes of it.
    pub exponent: Vec<i32>,
    /// Signs of all elements, zeros and NaN included.
    pub negative: Vec<bool>,
    /// Classes; all finite unless `special`.
    pub class: Vec<Class>,
    /// Fractions of NaN, left-aligned; of meaning only where the class is NaN.
    pub fraction: Vec<u64>,
    /// Whether any element is an infinity or NaN.
    pub special: bool,
    /// The scales of the row.
    pub scales: Vec<Value>,
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
    pub(super) fn set(&mut self, i: usize, element: &Element) {
        self.significand[i] = element.significand;
        self.exponent[i] = element.exponent;
        self.negative[i] = element.negative;
        if element.class != Class::Finite {
            self.class[i] = element.class;
            self.fraction[i] = element.fraction;
            self.special = true;
        }
    }
}

/// One decoded element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub significand: i64,
    pub exponent: i32,
    pub negative: bool,
    pub class: Class,
    pub fraction: u64,
}

/// Multiplies a row by the scale of each element: significands multiply, exponents add. A scale of NaN, and a zero one
/// of an infinity, make the element NaN.
pub(super) fn scale(row: &mut Row, order: &[u32], group: usize, zero_exponent: i32) {
    for (i, &place) in order.iter().enumerate() {
        // Filling beyond the last group stays unscaled.
        let (place, Some(scale)) = (place as usize, row.scales.get(i / group).copied()) else { break };
        if scale.class == Class::Nan {
            row.class[place] = Class::Nan;
            row.fraction[place] = scale.magnitude;
            row.special = true;
        } else if scale.magnitude == 0 && row.class[place] == Class::Infinite {
            row.class[place] = Class::Nan;
            row.fraction[place] = 1 << 63;
        }
        row.significand[place] *= if scale.is_finite() { scale.magnitude as i64 } else { 0 };
        row.exponent[place] = if scale.magnitude == 0 { zero_exponent } else { row.exponent[place] + scale.exponent };
    }
}
