//! What do the terms of one step come to, exactly?

use super::dyadic::Dyadic;
use super::intake::Intake;
use super::model::{NanRule, NanSource};
use super::node::Step;
use super::output::Output;
use super::slow::Unit;
use super::slow_operand::{Held, Product, sign, taken};
use super::slow_round::{infinite, integer, least_exponent, rounded, to_multiple, wrapped};
use super::sum::{Align, Alignment, ValueExponent, ZeroSign};
use crate::{Format, Rounding};

impl Unit<'_> {
    /// What a step leaves, of products at some indices and of other values.
    pub(super) fn step(&self, step: &Step, indices: &[usize], terms: Vec<(Held, bool)>) -> Held {
        let elements: Vec<[Held; 2]> = indices.iter().map(|&i| [self.element(0, i), self.element(1, i)]).collect();
        let factor = self.sum_factor(indices);
        match self.special(step, &elements, &terms) {
            Some(Held::Infinite(negative)) => return self.infinity_leaves(step, negative, factor),
            Some(nan) => return nan,
            None => {}
        }
        let mut factors = None;
        let mut scale_exponent = None;
        if let Some(scales) = factor {
            for scale in scales {
                match scale {
                    Held::Finite { value, exponent, .. } => {
                        factors = Some(factors.map_or(value.clone(), |f: Dyadic| f.times(&value)));
                        scale_exponent =
                            Some(scale_exponent.unwrap_or(0) + exponent.unwrap_or(least_exponent(Format::Ue4m3)));
                    }
                    nan => return nan,
                }
            }
        }
        let products: Vec<Product> = elements.iter().zip(indices).map(|(e, &i)| self.product(step, e, i)).collect();
        let signs: Vec<bool> = products.iter().map(|p| p.negative).chain(terms.iter().map(|t| sign(&t.0))).collect();
        let (sum, largest) = match &step.sum.align {
            Align::Exact => exact_sum(&products, &terms),
            Align::Largest(alignment) => aligned_sum(alignment, &products, &terms),
        };
        let sum = factors.map_or(sum.clone(), |factors| sum.times(&factors));
        let mut negative = sum.is_negative();
        if sum.is_zero() && step.sum.zero == ZeroSign::Ieee {
            let down = matches!(step.sum.output, Output::Rounded(form) if form.rounding == Rounding::Down);
            let all = |negative: bool| signs.iter().all(|&s| s == negative);
            negative = all(true) || (down && !all(false));
        }
        match &step.sum.output {
            Output::Rounded(form) => rounded(form, &sum, negative),
            Output::Integer(form) => integer(form, &sum),
            Output::Unrounded => {
                Held::Finite { value: sum, negative, exponent: scale_exponent.or(largest), unrounded: true }
            }
        }
    }

    /// What an infinite sum, perhaps multiplied by scales, becomes.
    fn infinity_leaves(&self, step: &Step, negative: bool, factor: Option<[Held; 2]>) -> Held {
        for scale in factor.iter().flatten() {
            if let Held::Nan { .. } = scale {
                return scale.clone();
            }
        }
        if factor.iter().flatten().any(|s| matches!(s, Held::Finite { value, .. } if value.is_zero())) {
            return self.arisen();
        }
        match &step.sum.output {
            Output::Rounded(form) => infinite(form, negative),
            _ => Held::Infinite(negative),
        }
    }

    /// The NaN that arises without a NaN operand.
    fn arisen(&self) -> Held {
        match self.model.nan {
            NanRule::Word(_) => Held::Nan { negative: false, fraction: 1 << 63 },
            NanRule::First { invalid, .. } => taken(self.model.triple.c, &Intake::default(), invalid),
        }
    }

    /// The NaN or infinity that the terms of a step come to.
    fn special(&self, step: &Step, elements: &[[Held; 2]], terms: &[(Held, bool)]) -> Option<Held> {
        let order = match self.model.nan {
            NanRule::First { order, .. } => order,
            NanRule::Word(_) => [NanSource::A, NanSource::B, NanSource::C],
        };
        let nan = |held: &&Held| matches!(held, Held::Nan { .. });
        for source in order {
            let found = match source {
                NanSource::A => elements.iter().map(|e| &e[0]).find(nan),
                NanSource::B => elements.iter().map(|e| &e[1]).find(nan),
                NanSource::C => terms.iter().map(|t| &t.0).find(nan),
            };
            if let Some(found) = found {
                return Some(found.clone());
            }
        }
        let mut signs = Vec::new();
        for [a, b] in elements {
            let negative = sign(a) != sign(b);
            match (a, b) {
                (Held::Infinite(_), Held::Finite { value, .. }) | (Held::Finite { value, .. }, Held::Infinite(_)) => {
                    if value.is_zero() {
                        return Some(self.arisen());
                    }
                    signs.push(negative);
                }
                (Held::Finite { value: x, .. }, Held::Finite { value: y, .. }) => {
                    let reaches = |limit| x.times(y).floor_log2().is_some_and(|lead| lead >= limit);
                    if step.product_limit.is_some_and(reaches) {
                        signs.push(negative);
                    }
                }
                _ => signs.push(negative),
            }
        }
        signs.extend(terms.iter().filter_map(|(t, _)| if let Held::Infinite(n) = t { Some(*n) } else { None }));
        let first = *signs.first()?;
        if signs.iter().all(|&s| s == first) { Some(Held::Infinite(first)) } else { Some(self.arisen()) }
    }
}

/// Σ of all terms, and the largest of their exponents.
fn exact_sum(products: &[Product], terms: &[(Held, bool)]) -> (Dyadic, Option<i32>) {
    let mut sum = products.iter().fold(Dyadic::zero(), |sum, p| sum.plus(&p.value));
    let mut largest = products.iter().filter_map(|p| p.exponent).max();
    for (term, _) in terms {
        if let Held::Finite { value, exponent, unrounded, .. } = term {
            sum = sum.plus(value);
            if *unrounded || !value.is_zero() {
                largest = largest.max(*exponent);
            }
        }
    }
    (sum, largest)
}

/// Σ of the terms cut where the alignment says, and η.
fn aligned_sum(rule: &Alignment, products: &[Product], terms: &[(Held, bool)]) -> (Dyadic, Option<i32>) {
    let exponent = |term: &Held| match term {
        Held::Finite { value, exponent, unrounded, .. } => match (rule.values, value.floor_log2()) {
            (ValueExponent::Raw, _) if *unrounded => *exponent,
            (_, None) => rule.zero_values,
            (ValueExponent::Raw, _) => *exponent,
            (ValueExponent::Normalised, lead) => lead,
        },
        _ => None,
    };
    let of_terms = terms.iter().filter_map(|(term, _)| exponent(term));
    let Some(largest) = products.iter().filter_map(|p| p.exponent).chain(of_terms).chain(rule.floor).max() else {
        return (Dyadic::zero(), None);
    };
    let grid = largest - rule.fraction_bits as i32;
    let mut sum = Dyadic::zero();
    for product in products {
        sum = sum.plus(&to_multiple(&product.value, grid, rule.cut));
    }
    for (term, is_c) in terms {
        let Held::Finite { value, .. } = term else { continue };
        let cut = match (&rule.c, is_c) {
            (Some(c), true) => {
                let far = c.reach.is_some_and(|reach| exponent(term).is_some_and(|e| e < largest - reach as i32));
                if far { Dyadic::zero() } else { to_multiple(value, largest - c.fraction_bits as i32, c.cut) }
            }
            _ => to_multiple(value, grid, rule.cut),
        };
        sum = sum.plus(&cut);
    }
    if let Some(bits) = rule.carry_bits {
        let end = largest + bits as i32;
        sum = wrapped(&sum, &Dyadic::new(-1, end), end + 1);
    }
    (sum, Some(largest))
}
