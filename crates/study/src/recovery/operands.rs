//! Does a unit use all bits of its operands?
//!
//! A declared f32 triple may cut its operands to tf32, bf16 may pass through f16. Here one element x of an operand is
//! multiplied by 1 while another term takes 1 away, so that the last bits of x are all that is left.

use super::question::{Asker, Question, Stage};
use super::terms::{code, range};
use rigel_device::unit::UnitError;
use rigel_numerics::{Format, Rounding};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a unit keeps of the elements of an operand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptBits {
    /// Declared format.
    pub format: Format,
    /// Significant bits that come through, the hidden one included.
    pub significand: u32,
    /// Whether the unit's sums could have shown all bits of the format; else `significand` is a lower bound.
    pub shown: bool,
    /// Roundings that explain how the others are lost; empty where none are, or none explains it.
    pub roundings: Vec<Rounding>,
    /// Least and largest exponent of powers of two that come through; `None` where not even 1 does.
    pub exponents: Option<(i32, i32)>,
    /// Exponents that the format has and the other operand and the output allow to try.
    pub tried: (i32, i32),
}

impl fmt::Display for KeptBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = if self.shown { "" } else { "at least " };
        write!(f, "{}: {least}{} of {} significant bits", self.format, self.significand, self.format.precision())?;
        match self.exponents {
            None => write!(f, ", no power of two comes through"),
            Some((low, high)) if (low, high) == self.tried => write!(f, ", every exponent tried (2^{low} to 2^{high})"),
            Some((low, high)) => {
                write!(f, ", exponents {low} to {high} of {} to {} tried", self.tried.0, self.tried.1)
            }
        }
    }
}

/// What a unit keeps of the elements of A and of B. `None` for integer operands, and where k is 1 and c cannot hold −1.
///
/// # Errors
/// What the unit contract says.
pub fn operand_bits(asker: &mut Asker<'_>) -> Result<Option<[KeptBits; 2]>, UnitError> {
    asker.enter(Stage::Parameters);
    if asker.spec().triple.is_integer() {
        return Ok(None);
    }
    Ok(Some([kept(asker, true)?, kept(asker, false)?]))
}

/// A question with x at the first element of one operand.
struct Place {
    zero: Question,
    format: Format,
    other: Format,
    c: Format,
    of_a: bool,
}

impl Place {
    /// x · 2^shift, and minus one in c.
    fn against_one(&self, x: u64) -> Question {
        let mut question = self.multiplied(x, code(self.other, 1, 0));
        question.c = code(self.c, -1, 0);
        question
    }

    fn multiplied(&self, x: u64, by: u64) -> Question {
        let mut question = self.zero.clone();
        (question.a[0], question.b[0]) = if self.of_a { (x, by) } else { (by, x) };
        question
    }
}

fn kept(asker: &mut Asker<'_>, of_a: bool) -> Result<KeptBits, UnitError> {
    let t = asker.spec().triple;
    let (format, other) = if of_a { (t.a, t.b) } else { (t.b, t.a) };
    let place = Place { zero: Question::zero(asker.spec()), format, other, c: t.c, of_a };
    let full = format.precision();

    // 1 + 2^-bit − 1, and as a control 2^-bit without company: what the output can show at all.
    let bits: Vec<i32> = (1..full as i32).collect();
    let last = |bit: i32| code(place.format, (1 << bit) + 1, -bit);
    let answers = asker.ask(&bits.iter().map(|&bit| place.against_one(last(bit))).collect::<Vec<_>>())?;
    let through = |n: usize| t.c.decode(answers[n]) == (-f64::from(bits[n])).exp2();
    let significand = 1 + (0..bits.len()).take_while(|&n| through(n)).count() as u32;
    let one = code(place.format, 1, 0);
    let shown = if significand == full {
        true
    } else {
        // The same distance, but carried by the product alone: x = 1 against c = −(1 − 2^-bit).
        let bit = significand as i32;
        let mut control = place.multiplied(one, code(place.other, 1, 0));
        control.c = code(t.c, -((1 << bit) - 1), -bit);
        t.c.precision() >= bit as u32 && t.c.decode(asker.ask(&[control])?[0]) == (-f64::from(bit)).exp2()
    };
    let roundings = if significand < full && shown { roundings(asker, &place, significand)? } else { Vec::new() };

    let (low, high) = range(format);
    let (other_low, other_high) = range(other);
    let (c_low, c_high) = range(t.c);
    let partner = |e: i32| (-e).clamp(other_low, other_high);
    let mut tried: Vec<i32> = (low..=high).filter(|&e| (c_low..=c_high).contains(&(e + partner(e)))).collect();
    tried.retain(|&e| e.abs() <= 300 || e % 8 == 0 || e - low < 64 || high - e < 64);
    let questions: Vec<Question> =
        tried.iter().map(|&e| place.multiplied(code(format, 1, e), code(other, 1, partner(e)))).collect();
    let powers = asker.ask(&questions)?;
    let right = |n: &usize| t.c.decode(powers[*n]) == f64::from(tried[*n] + partner(tried[*n])).exp2();
    let exponents = tried.iter().position(|&e| e == 0).filter(|n| right(n)).map(|middle| {
        let below = (0..=middle).rev().take_while(right).last().unwrap_or(middle);
        let above = (middle..tried.len()).take_while(right).last().unwrap_or(middle);
        (tried[below], tried[above])
    });
    let tried = (tried.first().copied().unwrap_or(0), tried.last().copied().unwrap_or(0));
    Ok(KeptBits { format, significand, shown, roundings, exponents, tried })
}

/// The roundings to `bits` significant bits that explain what becomes of quarters of the last one kept.
fn roundings(asker: &mut Asker<'_>, place: &Place, bits: u32) -> Result<Vec<Rounding>, UnitError> {
    // Significands in quarters of the last bit that is kept, as far as the format has quarters.
    let extra = (place.format.precision() - bits).min(2);
    let one: i128 = 1 << (bits - 1 + extra);
    let values: Vec<i128> = (1..=7).flat_map(|n| [one + n, -(one + n)]).collect();
    let scale = -(bits as i32 - 1 + extra as i32);
    let question = |&value: &i128| {
        let mut question = place.multiplied(code(place.format, value, scale), code(place.other, 1, 0));
        question.c = code(place.c, -value.signum(), 0);
        question
    };
    let answers = asker.ask(&values.iter().map(question).collect::<Vec<_>>())?;
    let seen: Vec<f64> = answers.iter().map(|&d| place.c.decode(d)).collect();
    let predicted = |value: i128, way: Rounding| {
        let magnitude = value.unsigned_abs();
        let (kept, rest) = (magnitude >> extra, magnitude & ((1 << extra) - 1));
        let half = 1u128 << (extra - 1);
        let up = match way {
            Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
            Rounding::NearestAway => rest >= half,
            Rounding::TowardZero => false,
            Rounding::Up => rest > 0 && value > 0,
            Rounding::Down => rest > 0 && value < 0,
            Rounding::Odd => rest > 0 && kept & 1 == 0,
        };
        let left = (kept + u128::from(up)) as f64 - (one >> extra) as f64;
        left * value.signum() as f64 * f64::from(1 - bits as i32).exp2()
    };
    let explains = |way: &Rounding| values.iter().zip(&seen).all(|(&value, &d)| predicted(value, *way) == d);
    Ok(Rounding::ALL.into_iter().filter(explains).collect())
}
