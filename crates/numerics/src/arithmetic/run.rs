//! How is a program run over decoded rows?

use super::aligned::Term;
use super::evaluator::Evaluator;
use super::exactly;
use super::model::NanRule;
use super::operand::Row;
use super::program::{Op, RuleOutput};
use super::round::{code, integer};
use super::sum::ZeroSign;
use super::value::{Class, Total, Value};
use std::ops::Range;

impl Evaluator {
    /// The code of d.
    pub(super) fn run(&self, a: &Row, b: &Row, c: u64, values: &mut [Value], terms: &mut Vec<Term>) -> u64 {
        self.run_seen(a, b, c, values, terms, |_| {})
    }

    /// The code of d; `see` is shown what leaves each sum.
    #[inline(always)]
    pub(super) fn run_seen(
        &self,
        a: &Row,
        b: &Row,
        c: u64,
        values: &mut [Value],
        terms: &mut Vec<Term>,
        mut see: impl FnMut(&Value),
    ) -> u64 {
        values[0] = self.c.value(c);
        values[1] = Value::ZERO;
        let outline = &*self.program.outline;
        for op in &outline.ops {
            let range = op.terms.start as usize..op.terms.end as usize;
            let term = |&(slot, is_c): &(u32, bool)| Term { value: values[slot as usize], is_c };
            values[op.out as usize] = match &outline.terms[range] {
                [] => self.sum(op, a, b, &[]),
                [x] => self.sum(op, a, b, &[term(x)]),
                [x, y] => self.sum(op, a, b, &[term(x), term(y)]),
                slots => {
                    terms.clear();
                    terms.extend(slots.iter().map(term));
                    self.sum(op, a, b, terms)
                }
            };
            see(&values[op.out as usize]);
        }
        let mut value = values[outline.result as usize];
        if let Some(store) = &self.store {
            value = match value.class {
                Class::Nan => value,
                Class::Infinite => store.infinite(value.negative),
                _ => store.round(&Total {
                    negative: value.negative,
                    magnitude: u128::from(value.magnitude),
                    place: value.place,
                    sticky: false,
                    exponent: value.exponent,
                }),
            };
        }
        match (value.class, self.model.nan) {
            (Class::Nan, NanRule::Word(word)) => word,
            (Class::Nan, NanRule::First { invalid, .. }) if self.model.triple.c.nan_code().is_none() => invalid,
            _ => code(self.model.triple.c, &value),
        }
    }

    #[inline]
    fn sum(&self, op: &Op, a: &Row, b: &Row, terms: &[Term]) -> Value {
        let rule = &self.program.rules[op.sum as usize];
        let at = op.products.start as usize..op.products.end as usize;
        let places = self.program.products.places;
        let factor = op.group.map(|g| [a, b].map(|row| row.scales.get(g as usize).copied().unwrap_or(ONE)));
        let special = a.special || b.special || rule.product_limit.is_some();
        if special || terms.iter().any(|t| !t.value.is_finite()) {
            let found = self.nans.find(a, b, at.clone(), terms, rule.product_limit, places);
            if let Some(value) = found {
                return self.specially_left(&rule.output, value, factor);
            }
        }
        let mut total = match &rule.align {
            Some(aligner) => aligner.sum(a, b, at.clone(), terms),
            None => exactly::sum(a, b, at.clone(), terms, places),
        };
        if let Some([x, y]) = factor {
            if x.class == Class::Nan || y.class == Class::Nan {
                let nan = if x.class == Class::Nan { x } else { y };
                return self.specially_left(&rule.output, nan, None);
            }
            total.magnitude *= u128::from(x.magnitude) * u128::from(y.magnitude);
            total.place += x.place + y.place;
            total.exponent = x.exponent + y.exponent;
        }
        if total.magnitude == 0 {
            total.negative = rule.zero == ZeroSign::Ieee && all_negative(a, b, at, terms).unwrap_or(rule.down);
        }
        match &rule.output {
            RuleOutput::Rounded(rounder) => rounder.round(&total),
            RuleOutput::Integer(form) => {
                let magnitude = total.magnitude as i128;
                integer(form, if total.negative { -magnitude } else { magnitude })
            }
            RuleOutput::Unrounded => Value {
                class: Class::Unrounded,
                negative: total.negative,
                magnitude: total.magnitude as u64,
                place: total.place,
                exponent: total.exponent,
            },
        }
    }

    /// What an infinity or NaN becomes on its way out of a step whose sum is multiplied by scales.
    fn specially_left(&self, output: &RuleOutput, value: Value, factor: Option<[Value; 2]>) -> Value {
        let value = match factor {
            Some([x, y]) if value.class == Class::Infinite => {
                match [x, y].into_iter().find(|s| s.class == Class::Nan) {
                    Some(nan) => nan,
                    None if x.magnitude == 0 || y.magnitude == 0 => self.nans.arisen(),
                    None => value,
                }
            }
            _ => value,
        };
        match output {
            RuleOutput::Rounded(rounder) if value.class == Class::Infinite => rounder.infinite(value.negative),
            _ => value,
        }
    }
}

/// The scale of groups that hold nothing but filling.
const ONE: Value = Value { class: Class::Finite, negative: false, magnitude: 1, place: 0, exponent: 0 };

/// Whether all terms are negative, zeros included; `None` where signs differ.
fn all_negative(a: &Row, b: &Row, at: Range<usize>, terms: &[Term]) -> Option<bool> {
    let products = at.map(|i| a.negative[i] != b.negative[i]);
    let mut signs = products.chain(terms.iter().map(|t| t.value.negative));
    let first = signs.next()?;
    signs.all(|s| s == first).then_some(first)
}
