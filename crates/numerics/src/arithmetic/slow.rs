//! What does a model make of given codes, by arithmetic that is easy to believe?
//!
//! Every value is an exact binary fraction of any length; a node is walked as it is written; rounding picks one of the two
//! neighbours of a value by comparing distances. Nothing is decoded, laid out, aligned or rounded by the code of
//! [`super::Evaluator`]. It is much slower; the bench `arithmetic` says by how much.

use super::dyadic::Dyadic;
use super::error::ModelError;
use super::evaluator::Inputs;
use super::model::{Model, NanRule};
use super::node::{CPlace, JoinOrder, Node, Step};
use super::slow_operand::{Held, taken};
use super::slow_round::{infinite, rounded};
use super::sum::Sum;
use crate::format::Specials;
use crate::{Format, Overflow, Rounding};

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

/// The code of a value of the output format.
fn encoded(model: &Model, d: &Held) -> Result<u64, ModelError> {
    let format = model.triple.c;
    match (d, model.nan) {
        (Held::Nan { .. }, NanRule::Word(word)) => Ok(word),
        (&Held::Nan { negative, fraction }, NanRule::First { invalid, .. }) => {
            let Some(fields) = format.floating() else { return Ok(invalid) };
            let sign = u64::from(negative) << (format.bits() - 1);
            let ignored = if format == Format::Tf32 { 13 } else { 0 };
            Ok(match (fields.specials, format.nan_code()) {
                (_, None) => invalid,
                // Formats with one magnitude of NaN have no fraction to keep.
                (Specials::AllOnesNan, Some(nan)) => nan | sign,
                (Specials::Ieee, Some(nan)) => nan | sign | (fraction >> (64 - fields.fraction_bits)) << ignored,
                (_, Some(nan)) => nan,
            })
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

/// A model at work on one set of inputs.
pub(super) struct Unit<'a> {
    pub(super) model: &'a Model,
    pub(super) inputs: Inputs<'a>,
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
}

/// A tree of sums of two over leaves.
fn tree(
    mut leaves: Vec<(Held, bool)>,
    add: &impl Fn((Held, bool), (Held, bool)) -> (Held, bool),
) -> Option<(Held, bool)> {
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
