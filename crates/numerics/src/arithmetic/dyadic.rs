//! What do sums and products of binary fractions of any length come to?
//!
//! Schoolbook arithmetic on digits of 32 bits, for the slow evaluator: nothing is ever rounded or cut here.

use std::cmp::Ordering;

/// ±digits · 2^exponent, the least digit first. Zero has no digits that are not 0.
#[derive(Debug, Clone)]
pub(super) struct Dyadic {
    negative: bool,
    digits: Vec<u32>,
    exponent: i32,
}

impl Dyadic {
    pub(super) fn zero() -> Dyadic {
        Dyadic { negative: false, digits: Vec::new(), exponent: 0 }
    }

    /// significand · 2^exponent.
    pub(super) fn new(significand: i64, exponent: i32) -> Dyadic {
        let magnitude = significand.unsigned_abs();
        let digits = vec![magnitude as u32, (magnitude >> 32) as u32];
        Dyadic { negative: significand < 0, digits, exponent }.trimmed()
    }

    /// Without digits of 0 at the top: less work for those that follow.
    fn trimmed(mut self) -> Dyadic {
        let length = self.digits.iter().rposition(|&d| d != 0).map_or(0, |top| top + 1);
        self.digits.truncate(length);
        self
    }

    /// The value of a finite f64.
    pub(super) fn of(x: f64) -> Dyadic {
        let field = (x.abs().to_bits() >> 52) as i32;
        let fraction = (x.to_bits() & ((1 << 52) - 1)) as i64;
        let significand = if field == 0 { fraction } else { fraction | 1 << 52 };
        let zeros = significand.trailing_zeros().min(52);
        let significand = significand >> zeros;
        Dyadic::new(if x < 0.0 { -significand } else { significand }, field.max(1) - 1075 + zeros as i32)
    }

    /// The nearest f64 toward zero; exact where the value is one.
    pub(super) fn to_f64(&self) -> f64 {
        let Some(top) = self.floor_log2() else { return 0.0 };
        let last = (top - 52).max(-1074);
        let (units, _) = self.abs().div_floor(last);
        let magnitude = units.digits.iter().rev().fold(0.0, |value, &digit| value * 4_294_967_296.0 + f64::from(digit));
        // Both factors are powers of two in range, so that subnormal results are exact.
        let value = magnitude * 2f64.powi(last / 2) * 2f64.powi(last - last / 2);
        if self.negative { -value } else { value }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.iter().all(|&d| d == 0)
    }

    /// Whether the value is below zero.
    pub(super) fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    pub(super) fn abs(&self) -> Dyadic {
        Dyadic { negative: false, ..self.clone() }
    }

    pub(super) fn negated(&self) -> Dyadic {
        Dyadic { negative: !self.negative, ..self.clone() }
    }

    pub(super) fn times(&self, other: &Dyadic) -> Dyadic {
        let mut digits = vec![0u32; self.digits.len() + other.digits.len()];
        for (i, &x) in self.digits.iter().enumerate() {
            let mut carry = 0u64;
            for (j, &y) in other.digits.iter().enumerate() {
                let t = u64::from(digits[i + j]) + u64::from(x) * u64::from(y) + carry;
                digits[i + j] = t as u32;
                carry = t >> 32;
            }
            digits[i + other.digits.len()] = carry as u32;
        }
        Dyadic { negative: self.negative != other.negative, digits, exponent: self.exponent + other.exponent }.trimmed()
    }

    pub(super) fn plus(&self, other: &Dyadic) -> Dyadic {
        let exponent = self.exponent.min(other.exponent);
        let (x, y) = (self.digits_at(exponent), other.digits_at(exponent));
        if self.negative == other.negative {
            return Dyadic { negative: self.negative, digits: sum(&x, &y), exponent }.trimmed();
        }
        match compare(&x, &y) {
            Ordering::Less => Dyadic { negative: other.negative, digits: difference(&y, &x), exponent }.trimmed(),
            _ => Dyadic { negative: self.negative, digits: difference(&x, &y), exponent }.trimmed(),
        }
    }

    pub(super) fn minus(&self, other: &Dyadic) -> Dyadic {
        self.plus(&other.negated())
    }

    /// The order of two values.
    pub(super) fn compare(&self, other: &Dyadic) -> Ordering {
        let difference = self.minus(other);
        match (difference.is_zero(), difference.negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }

    /// ⌊log2 |value|⌋, `None` for zero.
    pub(super) fn floor_log2(&self) -> Option<i32> {
        let top = self.digits.iter().rposition(|&d| d != 0)?;
        Some(self.exponent + 32 * top as i32 + 31 - self.digits[top].leading_zeros() as i32)
    }

    /// For a value of at least zero: the whole number of units of 2^unit in it, and what is left.
    pub(super) fn div_floor(&self, unit: i32) -> (Dyadic, Dyadic) {
        let units = if self.exponent >= unit {
            Dyadic { negative: false, digits: self.digits_at(unit), exponent: 0 }
        } else {
            let drop = (unit - self.exponent) as usize;
            let (whole, part) = (drop / 32, (drop % 32) as u32);
            let digit = |i: usize| u64::from(self.digits.get(i).copied().unwrap_or(0));
            let length = self.digits.len().saturating_sub(whole);
            let digits = (0..length).map(|i| ((digit(whole + i) | digit(whole + i + 1) << 32) >> part) as u32);
            Dyadic { negative: false, digits: digits.collect(), exponent: 0 }
        };
        let covered = units.times_power(unit);
        let rest = self.minus(&covered);
        (units, rest)
    }

    /// value · 2^exponent.
    pub(super) fn times_power(&self, exponent: i32) -> Dyadic {
        Dyadic { exponent: self.exponent + exponent, ..self.clone() }
    }

    /// Whether a whole number, as [`Dyadic::div_floor`] gives it, is odd.
    pub(super) fn is_odd(&self) -> bool {
        self.digits.first().is_some_and(|d| d & 1 == 1)
    }

    /// The digits in units of 2^exponent, which is at most the own exponent.
    fn digits_at(&self, exponent: i32) -> Vec<u32> {
        if self.is_zero() {
            return Vec::new();
        }
        let shift = (self.exponent - exponent) as usize;
        let mut digits = vec![0u32; shift / 32];
        let mut carry = 0u64;
        for &d in &self.digits {
            let t = u64::from(d) << (shift % 32) | carry;
            digits.push(t as u32);
            carry = t >> 32;
        }
        digits.push(carry as u32);
        digits
    }
}

fn digit(digits: &[u32], i: usize) -> u64 {
    u64::from(digits.get(i).copied().unwrap_or(0))
}

fn sum(x: &[u32], y: &[u32]) -> Vec<u32> {
    let mut carry = 0;
    let add = |i| {
        let t = digit(x, i) + digit(y, i) + carry;
        carry = t >> 32;
        t as u32
    };
    (0..=x.len().max(y.len())).map(add).collect()
}

/// x − y for x ≥ y.
fn difference(x: &[u32], y: &[u32]) -> Vec<u32> {
    let mut borrow = 0;
    let subtract = |i| {
        let t = digit(x, i) as i64 - digit(y, i) as i64 - borrow;
        borrow = i64::from(t < 0);
        t as u32
    };
    (0..x.len().max(y.len())).map(subtract).collect()
}

fn compare(x: &[u32], y: &[u32]) -> Ordering {
    let order = (0..x.len().max(y.len())).rev().map(|i| digit(x, i).cmp(&digit(y, i)));
    order.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_128_bit_integers(x in any::<i32>(), y in any::<i32>(), s in 0..16i32, t in 0..16i32, unit in -30..40i32) {
            let (x, y) = (i64::from(x), i64::from(y));
            let whole = |v: i64, s: i32| i128::from(v) << (s + 30);
            let (a, b) = (Dyadic::new(x, s), Dyadic::new(y, t));
            let same = |d: &Dyadic, n: i128, least: i32| {
                let expected = Dyadic::new((n >> 64) as i64, 64 + least).plus(&Dyadic::new((n as u64 >> 1) as i64, 1 + least))
                    .plus(&Dyadic::new((n & 1) as i64, least));
                d.compare(&expected) == Ordering::Equal
            };
            prop_assert!(same(&a.plus(&b), whole(x, s) + whole(y, t), -30));
            prop_assert!(same(&a.minus(&b), whole(x, s) - whole(y, t), -30));
            prop_assert!(same(&a.times(&b), (whole(x, s) * i128::from(y)) << t, -30));
            prop_assert_eq!(a.compare(&b), whole(x, s).cmp(&whole(y, t)));
            let (units, rest) = a.abs().div_floor(unit);
            let magnitude = whole(x, s).abs();
            prop_assert!(same(&units, magnitude >> (unit + 30) << 30, -30));
            prop_assert!(same(&rest, magnitude - (magnitude >> (unit + 30) << (unit + 30)), -30));
            prop_assert_eq!(units.is_odd(), magnitude >> (unit + 30) & 1 == 1);
        }

        #[test]
        fn values_of_f64_come_back(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            prop_assert_eq!(Dyadic::of(x).to_f64(), x);
            if x != 0.0 && x.is_normal() {
                prop_assert_eq!(Dyadic::of(x).floor_log2(), Some((x.abs().to_bits() >> 52) as i32 - 1023));
            }
        }
    }
}
