//! When is the result of a step an infinity or NaN, and which NaN?

use super::aligned::Term;
use super::model::{NanRule, NanSource};
use super::operand::Row;
use super::value::{Class, Value};
use std::ops::Range;

/// The fraction and sign of the NaN that 0 · ∞ and ∞ − ∞ give, and where a step looks for others.
#[derive(Debug, Clone)]
pub(super) struct Nans {
    order: [NanSource; 3],
    /// `None`: every NaN will be replaced by one word at the end.
    invalid: Option<Value>,
}

impl Nans {
    /// `decode` turns the word of the rule into a value.
    pub(super) fn new(rule: &NanRule, decode: impl Fn(u64) -> Value) -> Nans {
        match *rule {
            NanRule::Word(_) => Nans { order: [NanSource::A, NanSource::B, NanSource::C], invalid: None },
            NanRule::First { order, invalid } => Nans { order, invalid: Some(decode(invalid)) },
        }
    }

    /// The NaN that arises without a NaN operand.
    pub(super) fn arisen(&self) -> Value {
        self.invalid.unwrap_or(Value::nan(false, 1 << 63))
    }

    /// The NaN or infinity that a step's terms come to, `None` when all are finite.
    ///
    /// A product counts as infinite where an operand is, or where its magnitude reaches 2^limit.
    pub(super) fn find(
        &self,
        a: &Row,
        b: &Row,
        at: Range<usize>,
        terms: &[Term],
        limit: Option<i32>,
        product_places: i32,
    ) -> Option<Value> {
        for source in self.order {
            let in_row = |row: &Row| {
                let mut places = at.clone().filter(|_| row.special);
                let found = places.find(|&i| row.class[i] == Class::Nan);
                found.map(|i| Value::nan(row.negative[i], row.fraction[i]))
            };
            let found = match source {
                NanSource::A => in_row(a),
                NanSource::B => in_row(b),
                NanSource::C => terms.iter().map(|t| t.value).find(|v| v.class == Class::Nan),
            };
            if found.is_some() {
                return found;
            }
        }
        let (mut up, mut down) = (false, false);
        let mut infinite = |negative: bool| if negative { down = true } else { up = true };
        for i in at {
            let of = |row: &Row| row.special && row.class[i] == Class::Infinite;
            let zero = |row: &Row| row.significand[i] == 0 && !of(row);
            if of(a) || of(b) {
                if zero(a) || zero(b) {
                    return Some(self.arisen());
                }
                infinite(a.negative[i] != b.negative[i]);
            } else if let Some(limit) = limit {
                let magnitude = (i128::from(a.significand[i]) * i128::from(b.significand[i])).unsigned_abs();
                let place = a.exponent[i] + b.exponent[i] - product_places;
                if magnitude != 0 && place + 127 - magnitude.leading_zeros() as i32 >= limit {
                    infinite(a.negative[i] != b.negative[i]);
                }
            }
        }
        for Term { value, .. } in terms {
            if value.class == Class::Infinite {
                infinite(value.negative);
            }
        }
        match (up, down) {
            (false, false) => None,
            (true, true) => Some(self.arisen()),
            _ => Some(Value::infinite(down)),
        }
    }
}
