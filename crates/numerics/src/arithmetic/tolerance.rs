//! By how much may a unit of this arithmetic be off, and by how much is it?
//!
//! [`bound`] follows the tree of a model and adds up what every sum can lose at worst:
//!
//! - a term that is cut to F fraction bits below η loses less than 2^(η − F), and 2^η is at most the largest magnitude
//!   among the terms: less than 2^(−F) · Σ|t| for every term (half of it where the cut is to nearest);
//! - a rounding to p bits loses less than 2^(1 − p) of the sum (half of it to nearest);
//! - an operand that is converted to p bits first is off by as much, relatively.
//!
//! With T = |c| + Σ|a·b| every sum's terms add up to at most (1 + e)·T, e being what was lost before; so errors add up
//! linearly, times the growth of what they are taken of. The result is a bound on |d − (c + Σab)| ÷ T, whatever the inputs,
//! under conditions that are part of it ([`Bound::unless`]).
//!
//! [`measure`] evaluates the model itself on drawn inputs and holds it against the exact sum: simulated figures of the model,
//! not of a device.

use super::distribution::Distribution;
use super::dyadic::Dyadic;
use super::error::ModelError;
use super::evaluator::Evaluator;
use super::intake::Intake;
use super::model::Model;
use super::node::{JoinOrder, Node};
use super::output::{Output, OverflowTo, Rounded, Subnormals};
use super::sum::{Align, Alignment, ProductExponent, Sum, ZeroProducts};
use crate::random::stream;
use crate::{Format, Rounding};
use rayon::prelude::*;

/// A bound on the error of one output element.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// |d − (c + Σ a·b)| ≤ `relative` · (|c| + Σ|a·b|).
    pub relative: f64,
    /// When it does not hold, in words.
    pub unless: Vec<String>,
}

/// Errors of a model on drawn inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Dot products whose sum and result are finite.
    pub count: u64,
    /// The largest |d − (c + Σ a·b)| ÷ (|c| + Σ|a·b|).
    pub most: f64,
    /// Their root mean square.
    pub rms: f64,
}

/// The worst that a model can do on rows of `k`.
///
/// # Errors
/// What [`Model::check`] says for this K. Integer models have the bound 0 where they do not wrap or saturate.
pub fn bound(model: &Model, k: usize) -> Result<Bound, ModelError> {
    Evaluator::new(model, k)?;
    let t = model.triple;
    let mut unless = Vec::new();
    if t.is_integer() {
        unless.push("the sum leaves the width of an integer on its way".to_owned());
        return Ok(Bound { relative: 0.0, unless });
    }
    let operand = |intake: &Intake| intake.convert.map_or(0.0, |form| unit(&form));
    let (a, b, c) = (operand(&model.a), operand(&model.b), operand(&model.c));
    let products = (1.0 + a) * (1.0 + b) - 1.0;
    let zero = 0.0;
    let mut relative = error(&model.body, model.padded(k), products, c, zero);
    relative += model.store.map_or(0.0, |form| unit(&form)) * (1.0 + relative);
    unless.push("a sum overflows, or lies below the least normal value of a format that it is rounded to".to_owned());
    let sums = sums(&model.body);
    let raw =
        sums.iter().any(|sum| matches!(&sum.align, Align::Largest(a) if a.products != ProductExponent::Normalised));
    if raw {
        unless.push("operands are subnormal, so that a product's exponent says more than its magnitude".to_owned());
    }
    let floor = sums.iter().filter_map(|sum| floor(sum)).max();
    if let Some(floor) = floor {
        unless
            .push(format!("all terms of a step lie below 2^{floor}, where the step's floor or its zeros set the grid"));
    }
    if sums.iter().any(|sum| matches!(&sum.align, Align::Largest(Alignment { carry_bits: Some(_), .. }))) {
        unless.push("a sum is wider than the adder, which wraps".to_owned());
    }
    let saturates = |sum: &&Sum| matches!(sum.output, Output::Rounded(Rounded { overflow: OverflowTo::Largest, .. }));
    if sums.iter().any(saturates) {
        unless.push("a sum saturates".to_owned());
    }
    let flushed = |sum: &&Sum| matches!(sum.output, Output::Rounded(form) if form.subnormals != Subnormals::Keep);
    if sums.iter().any(flushed) {
        unless.push("a sum is flushed to zero".to_owned());
    }
    Ok(Bound { relative, unless })
}

/// Relative error of one rounding.
fn unit(form: &Rounded) -> f64 {
    let bits = form.significant_bits() as i32;
    if nearest(form.rounding) { f64::powi(2.0, -bits) } else { f64::powi(2.0, 1 - bits) }
}

fn nearest(rounding: Rounding) -> bool {
    matches!(rounding, Rounding::NearestEven | Rounding::NearestAway)
}

/// The error of what leaves a node over `length` indices, relative to T; `products` and `c` are those of what enters.
fn error(node: &Node, length: usize, products: f64, c: f64, before: f64) -> f64 {
    let parts = |split: &super::split::Split| {
        let all: Vec<usize> = (0..length).collect();
        split.divide(&all).iter().map(Vec::len).collect::<Vec<_>>()
    };
    match node {
        Node::Step(step) => sum_error(&step.sum, length + usize::from(step.c), products.max(c).max(before)),
        Node::Chain(chain) => {
            let mut so_far = before.max(c);
            for part in parts(&chain.split) {
                so_far = error(&chain.each, part, products, 0.0, so_far);
            }
            // Wherever c joins, its sum is one more of two terms.
            chain.late_c.as_ref().map_or(so_far, |late| sum_error(&late.sum, 2, so_far.max(c)))
        }
        Node::Join(join) => {
            let lengths = parts(&join.split);
            let parts = lengths.len();
            let worst = lengths
                .into_iter()
                .map(|part| error(&join.each, part, products, 0.0, 0.0))
                .fold(c.max(before), f64::max);
            match join.order {
                JoinOrder::Together { c } => sum_error(&join.sum, parts + usize::from(c), worst),
                JoinOrder::InTurn { .. } => (0..parts).fold(worst, |so_far, _| sum_error(&join.sum, 2, so_far)),
                JoinOrder::Pairwise { .. } => {
                    let levels = usize::BITS - parts.saturating_sub(1).leading_zeros() + 1;
                    (0..levels).fold(worst, |so_far, _| sum_error(&join.sum, 2, so_far))
                }
            }
        }
    }
}

/// The error after a sum of `count` terms that are off by `before` already.
fn sum_error(sum: &Sum, count: usize, before: f64) -> f64 {
    let terms = 1.0 + before;
    let cut = match &sum.align {
        Align::Exact => 0.0,
        Align::Largest(a) => {
            let one = |bits: u32, cut: Rounding| f64::powi(2.0, -(bits as i32) - i32::from(nearest(cut)));
            let plain = one(a.fraction_bits, a.cut);
            let c = a.c.map_or(plain, |c| {
                let dropped = c.reach.map_or(0.0, |reach| f64::powi(2.0, -(reach as i32)));
                one(c.fraction_bits, c.cut).max(dropped)
            });
            count as f64 * plain.max(c)
        }
    };
    let rounded = match &sum.output {
        Output::Rounded(form) => unit(form),
        _ => 0.0,
    };
    before + cut * terms + rounded * (terms + cut * terms)
}

/// Every sum of a node.
fn sums(node: &Node) -> Vec<&Sum> {
    match node {
        Node::Step(step) => vec![&step.sum],
        Node::Chain(chain) => sums(&chain.each).into_iter().chain(chain.late_c.iter().map(|late| &late.sum)).collect(),
        Node::Join(join) => sums(&join.each).into_iter().chain([&join.sum]).collect(),
    }
}

/// The exponent below which something other than the terms sets the grid.
fn floor(sum: &Sum) -> Option<i32> {
    let Align::Largest(a) = &sum.align else { return None };
    let zeros = match a.zero_products {
        ZeroProducts::Ignored => None,
        ZeroProducts::Operand(e) | ZeroProducts::Product(e) => Some(e),
    };
    [a.floor, a.zero_values, zeros].into_iter().flatten().max()
}

/// Errors of a model on `count` inputs of a distribution; c is zero, as the test of a product has it. `None` where no
/// result is finite.
///
/// # Errors
/// What [`Model::check`] says for this K; [`ModelError::Scales`] for a model with scales.
pub fn measure(
    model: &Model,
    k: usize,
    distribution: Distribution,
    seed: u64,
    count: u64,
) -> Result<Option<Measured>, ModelError> {
    if model.scales.is_some() {
        return Err(ModelError::Scales("errors of models with scales are not measured"));
    }
    let evaluator = Evaluator::new(model, k)?;
    let key = stream(seed, 0x746f_6c65);
    let errors: Vec<f64> = (0..count)
        .into_par_iter()
        .map_init(
            || evaluator.scratch(),
            |scratch, index| {
                let mut inputs = distribution.inputs(model, k, key, index);
                inputs.c = 0;
                let d = evaluator.dot(scratch, inputs.codes());
                relative_error(model, &inputs.a, &inputs.b, d)
            },
        )
        .flatten()
        .collect();
    let most = errors.iter().copied().fold(0.0, f64::max);
    let square: f64 = errors.iter().map(|e| e * e).sum();
    let count = errors.len() as u64;
    Ok((count > 0).then(|| Measured { count, most, rms: (square / count as f64).sqrt() }))
}

/// |d − Σ a·b| ÷ Σ|a·b|, the sums exact; `None` where something is not finite or there is nothing to divide by.
fn relative_error(model: &Model, a: &[u64], b: &[u64], d: u64) -> Option<f64> {
    let value = |format: Format, code: u64| Some(format.decode(code)).filter(|v| v.is_finite()).map(Dyadic::of);
    let t = model.triple;
    let (mut sum, mut size) = (Dyadic::zero(), Dyadic::zero());
    for (&x, &y) in a.iter().zip(b) {
        let product = value(t.a, x)?.times(&value(t.b, y)?);
        size = size.plus(&product.abs());
        sum = sum.plus(&product);
    }
    let off = value(t.c, d)?.minus(&sum).abs();
    (!size.is_zero()).then(|| ratio(&off, &size))
}

/// x ÷ y, to the precision of f64, whatever their exponents.
fn ratio(x: &Dyadic, y: &Dyadic) -> f64 {
    let Some((lead_x, lead_y)) = x.floor_log2().zip(y.floor_log2()) else { return 0.0 };
    x.times_power(-lead_x).to_f64() / y.times_power(-lead_y).to_f64() * f64::powi(2.0, lead_x - lead_y)
}
