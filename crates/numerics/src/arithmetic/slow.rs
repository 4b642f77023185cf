//! What does a model make of given codes, by arithmetic that cannot be wrong?
//!
//! Every value is an exact binary fraction of any length; a node is walked as it is written; rounding picks one of the two
//! neighbours of a value by comparing distances. Nothing is decoded, laid out, aligned or rounded by the code of
//! [`super::Evaluator`]. It is some thousand times slower.

use super::check::ModelError;
use super::dyadic::Dyadic;
use super::evaluator::Inputs;
use super::intake::{Flush, Intake, ScaledPart};
use super::model::{Model, NanRule, NanSource};
use super::node::{CPlace, JoinOrder, Node, Step};
use super::slow_round::{infinite, integer, least_exponent, rounded, to_multiple, wrapped};
use super::sum::{Align, Alignment, Output, ProductExponent, Sum, ValueExponent, ZeroProducts, ZeroSign};
use crate::{Format, Overflow, Rounding};

/// A value between steps.
#[derive(Debug, Clone)]
pub(super) enum Held {
    /// A finite value, the sign it has even if it is zero, and its exponent as the hardware counts it.
    Finite { value: Dyadic, negative: bool, exponent: Option<i32>, unrounded: bool },
    Infinite(bool),
    /// A NaN: sign, and fraction left-aligned.
    Nan { negative: bool, fraction: u64 },
}

/// A factor or value with the exponents that steps may count.
#[derive(Debug, Clone)]
struct Product {
    value: Dyadic,
    negative: bool,
    exponent: Option<i32>,
}

/// The code of d for one row, column and c.
///
/// # Errors
/// What [`Model::check`] says, save that no width is too wide here; [`ModelError::K`] for slices that are empty or of different
/// lengths, [`ModelError::Scales`] for a wrong number of scales, [`ModelError::Store`] where the result is no value of
/// the output format.
pub fn dot(model: &Model, inputs: Inputs<'_>) -> Result<u64, ModelError> {
    model.check_form()?;
    let k = inputs.a.len();
    if k == 0 || k > crate::Shape::MAX || inputs.b.len() != k {
        return Err(ModelError::K(inputs.b.len().min(k)));
    }
    let groups = model.scale_groups(k);
    if inputs.a_scales.len() != groups || inputs.b_scales.len() != groups {
        return Err(ModelError::Scales("one scale code of each operand is needed for every group of k"));
    }
    let unit = Unit { model, inputs };
    let indices: Vec<usize> = (0..model.padded(k)).collect();
    let c = taken(model.triple.c, &model.c, inputs.c);
    let mut d = unit.node(&model.body, &indices, c);
    if let Some(form) = &model.store {
        d = match d {
            Held::Finite { value, negative, .. } => rounded(form, &value, negative),
            Held::Infinite(negative) => infinite(form, negative),
            nan => nan,
        };
    }
    encoded(model, &d)
}

/// What a code stands for.
fn taken(format: Format, intake: &Intake, code: u64) -> Held {
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

/// The code of a value of the output format.
fn encoded(model: &Model, d: &Held) -> Result<u64, ModelError> {
    let format = model.triple.c;
    match (d, model.nan) {
        (Held::Nan { .. }, NanRule::Word(word)) => Ok(word),
        (&Held::Nan { negative, fraction }, NanRule::First { .. }) => {
            let nan = format.nan_code().unwrap_or(0);
            let bits = format.floating().map_or(0, |f| f.fraction_bits);
            // Formats with one NaN have no fraction to keep.
            if format.infinity_code(negative).is_none() || bits == 0 {
                return Ok(nan);
            }
            let ignored = if format == Format::Tf32 { 13 } else { 0 };
            let infinity = format.infinity_code(negative).unwrap_or(0);
            Ok(infinity | (fraction >> (64 - bits)) << ignored)
        }
        (&Held::Infinite(negative), _) => format.infinity_code(negative).ok_or(ModelError::Store(format)),
        (Held::Finite { value, negative, .. }, _) => {
            let number = if *negative && value.is_zero() { -0.0 } else { value.to_f64() };
            let code = format.encode(number, Rounding::NearestEven, Overflow::Ieee);
            let exact = Dyadic::of(format.decode(code)).minus(value).is_zero();
            if exact { Ok(code) } else { Err(ModelError::Store(format)) }
        }
    }
}

struct Unit<'a> {
    model: &'a Model,
    inputs: Inputs<'a>,
}

impl Unit<'_> {
    fn node(&self, node: &Node, indices: &[usize], c: Held) -> Held {
        let zero = || Held::Finite { value: Dyadic::zero(), negative: false, exponent: None, unrounded: false };
        match node {
            Node::Step(step) => self.step(step, indices, if step.c { vec![(c, true)] } else { Vec::new() }),
            Node::Chain(chain) => {
                let blocks = chain.split.divide(indices);
                let Some(late) = &chain.late_c else {
                    return blocks.iter().fold(c, |value, block| self.node(&chain.each, block, value));
                };
                let (before, after) = blocks.split_at(late.after.min(blocks.len()));
                let value = before.iter().fold(zero(), |value, block| self.node(&chain.each, block, value));
                let value = self.values(&late.sum, vec![(value, false), (c, true)]);
                after.iter().fold(value, |value, block| self.node(&chain.each, block, value))
            }
            Node::Join(join) => {
                let parts = join.split.divide(indices);
                let mut leaves: Vec<(Held, bool)> =
                    parts.iter().map(|part| (self.node(&join.each, part, zero()), false)).collect();
                let add = |x, y| (self.values(&join.sum, vec![x, y]), false);
                let last = match join.order {
                    JoinOrder::Together { c: with_c } => {
                        if with_c {
                            leaves.push((c, true));
                        }
                        return self.values(&join.sum, leaves);
                    }
                    JoinOrder::InTurn { c: place } | JoinOrder::Pairwise { c: place } => match place {
                        CPlace::Nowhere => None,
                        CPlace::Last => Some((c, true)),
                        CPlace::First => {
                            leaves.insert(0, (c, true));
                            None
                        }
                        CPlace::After(n) => {
                            leaves.insert(n.min(leaves.len()), (c, true));
                            None
                        }
                    },
                };
                let whole = if matches!(join.order, JoinOrder::InTurn { .. }) {
                    leaves.into_iter().reduce(add)
                } else {
                    tree(leaves, &add)
                };
                let whole = whole.into_iter().chain(last).reduce(add);
                whole.map_or_else(zero, |(value, _)| value)
            }
        }
    }

    /// A sum of values alone.
    fn values(&self, sum: &Sum, terms: Vec<(Held, bool)>) -> Held {
        let step = Step { c: false, product_limit: None, sum: sum.clone() };
        self.step(&step, &[], terms)
    }

    fn step(&self, step: &Step, indices: &[usize], terms: Vec<(Held, bool)>) -> Held {
        let elements: Vec<[Held; 2]> = indices.iter().map(|&i| [self.element(0, i), self.element(1, i)]).collect();
        let factor = self.sum_factor(indices);
        match self.special(step, &elements, &terms) {
            Some(Held::Infinite(negative)) => return self.infinity_leaves(step, negative, factor),
            Some(nan) => return nan,
            None => {}
        }
        let mut factors = Dyadic::new(1, 0);
        let mut scale_exponent = None;
        if let Some(scales) = factor {
            for scale in scales {
                match scale {
                    Held::Finite { value, exponent, .. } => {
                        factors = factors.times(&value);
                        scale_exponent = Some(scale_exponent.unwrap_or(0) + exponent.unwrap_or(least_exponent(Format::Ue4m3)));
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
        let sum = sum.times(&factors);
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

    /// The value of an element, times its scale where products are scaled.
    fn element(&self, operand: usize, i: usize) -> Held {
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
    fn sum_factor(&self, indices: &[usize]) -> Option<[Held; 2]> {
        let first = *indices.first()?;
        self.model.scales.filter(|s| s.on == ScaledPart::Sums)?;
        let one = || Held::Finite { value: Dyadic::new(1, 0), negative: false, exponent: Some(0), unrounded: false };
        Some([0, 1].map(|operand| self.scale(operand, first, ScaledPart::Sums).unwrap_or_else(one)))
    }

    /// The product of two finite elements at index i.
    fn product(&self, step: &Step, elements: &[Held; 2], i: usize) -> Product {
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
                    let lead = x.times(y).floor_log2();
                    if step.product_limit.is_some_and(|limit| lead.is_some_and(|lead| lead >= limit)) {
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

fn sign(held: &Held) -> bool {
    match held {
        Held::Finite { negative, .. } | Held::Infinite(negative) | Held::Nan { negative, .. } => *negative,
    }
}

fn tree(mut leaves: Vec<(Held, bool)>, add: &impl Fn((Held, bool), (Held, bool)) -> (Held, bool)) -> Option<(Held, bool)> {
    while leaves.len() > 1 {
        let mut next = Vec::new();
        let mut rest = leaves.into_iter();
        while let Some(x) = rest.next() {
            next.push(match rest.next() {
                Some(y) => add(x, y),
                None => x,
            });
        }
        leaves = next;
    }
    leaves.into_iter().next()
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

