//! What do sums and products of binary fractions come to, by schoolbook arithmetic?

use std::cmp::Ordering;

/// ±digits · 2^exponent, digits in base 2^16, least first: small enough that nothing can overflow unseen.
#[derive(Debug, Clone)]
pub struct Rational {
    negative: bool,
    digits: Vec<u16>,
    exponent: i32,
}

impl Rational {
    pub fn new(significand: i64, exponent: i32) -> Rational {
        let magnitude = significand.unsigned_abs();
        let digits = (0..4).map(|i| (magnitude >> (16 * i)) as u16).collect();
        Rational { negative: significand < 0, digits, exponent }
    }

    pub fn of(x: f64) -> Rational {
        let (field, fraction) = (x.abs().to_bits() >> 52, x.to_bits() & ((1 << 52) - 1));
        let significand = if field == 0 { fraction } else { fraction | 1 << 52 } as i64;
        Rational::new(if x < 0.0 { -significand } else { significand }, (field.max(1) as i32) - 1075)
    }

    pub fn abs(&self) -> Rational {
        Rational { negative: false, ..self.clone() }
    }

    pub fn times_power(&self, exponent: i32) -> Rational {
        Rational { exponent: self.exponent + exponent, ..self.clone() }
    }

    pub fn times(&self, other: &Rational) -> Rational {
        let mut digits = vec![0u16; self.digits.len() + other.digits.len()];
        for (i, &x) in self.digits.iter().enumerate() {
            let mut carry = 0u32;
            for (j, &y) in other.digits.iter().enumerate() {
                let t = u32::from(digits[i + j]) + u32::from(x) * u32::from(y) + carry;
                digits[i + j] = t as u16;
                carry = t >> 16;
            }
            digits[i + other.digits.len()] = carry as u16;
        }
        Rational { negative: self.negative != other.negative, digits, exponent: self.exponent + other.exponent }
    }

    pub fn plus(&self, other: &Rational) -> Rational {
        let exponent = self.exponent.min(other.exponent);
        let (x, y) = (self.digits_at(exponent), other.digits_at(exponent));
        if self.negative == other.negative {
            let mut carry = 0u32;
            let length = x.len().max(y.len()) + 1;
            let digits = (0..length).map(|i| {
                let t = digit(&x, i) + digit(&y, i) + carry;
                carry = t >> 16;
                t as u16
            });
            return Rational { negative: self.negative, digits: digits.collect(), exponent };
        }
        let x_is_larger = compare(&x, &y) != Ordering::Less;
        let (large, small) = if x_is_larger { (x, y) } else { (y, x) };
        let mut borrow = 0i32;
        let digits = (0..large.len()).map(|i| {
            let t = digit(&large, i) as i32 - digit(&small, i) as i32 - borrow;
            borrow = i32::from(t < 0);
            t as u16
        });
        Rational { negative: self.negative == x_is_larger, digits: digits.collect(), exponent }
    }

    pub fn minus(&self, other: &Rational) -> Rational {
        self.plus(&Rational { negative: !other.negative, ..other.clone() })
    }

    pub fn is_zero(&self) -> bool {
        self.digits.iter().all(|&d| d == 0)
    }

    pub fn floor_log2(&self) -> Option<i32> {
        let top = self.digits.iter().rposition(|&d| d != 0)?;
        Some(self.exponent + 16 * top as i32 + 15 - self.digits[top].leading_zeros() as i32)
    }

    /// Whether |self| is below, at or above |other|.
    pub fn compare_abs(&self, other: &Rational) -> Ordering {
        let exponent = self.exponent.min(other.exponent);
        compare(&self.digits_at(exponent), &other.digits_at(exponent))
    }

    /// Digits in units of 2^exponent, which must not exceed the own exponent.
    fn digits_at(&self, exponent: i32) -> Vec<u16> {
        let shift = (self.exponent - exponent) as usize;
        let mut digits = vec![0u16; shift / 16];
        let mut carry = 0u32;
        for &d in &self.digits {
            let t = u32::from(d) << (shift % 16) | carry;
            digits.push(t as u16);
            carry = t >> 16;
        }
        digits.push(carry as u16);
        digits
    }
}

fn digit(digits: &[u16], i: usize) -> u32 {
    u32::from(digits.get(i).copied().unwrap_or(0))
}

fn compare(x: &[u16], y: &[u16]) -> Ordering {
    (0..x.len().max(y.len()))
        .rev()
        .map(|i| digit(x, i).cmp(&digit(y, i)))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The nearest f64, ties to even, found by bisection over the codes: no shifting, no rounding positions.
pub fn nearest(x: &Rational) -> f64 {
    let magnitude = x.abs();
    // The largest f64 that is not above |x|; the code of infinity stands for 2^1024.
    let (mut low, mut high) = (0u64, f64::INFINITY.to_bits());
    let at = |code: u64| {
        if code == f64::INFINITY.to_bits() { Rational::new(1, 1024) } else { Rational::of(f64::from_bits(code)) }
    };
    if magnitude.compare_abs(&at(high)) != Ordering::Less {
        low = high;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if at(middle).compare_abs(&magnitude) == Ordering::Greater { high = middle } else { low = middle }
    }
    let code = if low == f64::INFINITY.to_bits() {
        low
    } else {
        let midpoint = at(low).plus(&at(low + 1)).times_power(-1);
        match magnitude.compare_abs(&midpoint) {
            Ordering::Less => low,
            Ordering::Greater => low + 1,
            Ordering::Equal => low + (low & 1),
        }
    };
    let value = f64::from_bits(code);
    if x.negative && !x.is_zero() { -value } else { value }
}
