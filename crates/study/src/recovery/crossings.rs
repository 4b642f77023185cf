//! What has one search found that another one has not?
//!
//! Two searches that are stuck are seldom wrong about the same parameters. A part of one model, put into the other, can be
//! what no single change of a parameter reaches.

use super::knobs::{Operand, step, sums};
use rigel_numerics::arithmetic::Model;

/// One model with parts of another one in place of its own: what is done to an operand, at the end, in one sum, before or
/// after its terms are added.
pub(super) fn crossed(model: &Model, other: &Model) -> Vec<Model> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Model)| {
        let mut crossed = model.clone();
        change(&mut crossed);
        if crossed != *model {
            all.push(crossed);
        }
    };
    let mut theirs = other.clone();
    for operand in Operand::ALL {
        let intake = *operand.intake(&mut theirs);
        with(&|own| *operand.intake(own) = intake);
    }
    with(&|own| (own.a, own.b, own.c) = (other.a, other.b, other.c));
    with(&|own| own.store = other.store);
    with(&|own| own.nan = other.nan);
    with(&|own| own.scales = other.scales);
    let limit = other.body.step().product_limit;
    with(&|own| step(&mut own.body).product_limit = limit);
    let found: Vec<_> = sums(&mut theirs.body).into_iter().map(|sum| sum.clone()).collect();
    if found.len() != sums(&mut model.body.clone()).len() {
        return all;
    }
    for (s, sum) in found.iter().enumerate() {
        with(&|own| *sums(&mut own.body)[s] = sum.clone());
        with(&|own| sums(&mut own.body)[s].align = sum.align.clone());
        with(&|own| (sums(&mut own.body)[s].output, sums(&mut own.body)[s].zero) = (sum.output, sum.zero));
        with(&|own| {
            *sums(&mut own.body)[s] = sum.clone();
            own.store = other.store;
        });
    }
    with(&|own| own.body = other.body.clone());
    all
}
