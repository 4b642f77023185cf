//! What does attention gain that is fused, and what does it lose off the matrix unit?
//!
//! Two ratios of times of every fused attention: of the fastest decomposed one of the block over it, and of the fastest fused one of
//! another path over it. Their words are those of [`super::fusion`]: a path that leaves the matrix unit and loses says `no gain` in both.

use super::Evidence;
use super::cells::{Index, Product};
use super::fusion::{Question, rate, same_place};
use super::products::Measured;
use crate::rows::{FactRow, Probe, Work};
use std::collections::BTreeMap;

/// Every fact of the probe `attention`.
pub(super) fn facts<'a>(index: &'a Index<'a>, evidence: &Evidence<'a>) -> Vec<FactRow> {
    let measured: BTreeMap<(Product<'a>, Work), Measured<'a>> = index
        .attentions
        .iter()
        .map(|(&(product, work), tiles)| ((product, work), Measured::of(product, tiles, evidence)))
        .collect();
    let mut facts = Vec::new();
    for ((product, work), own) in &measured {
        facts.extend(rate(Probe::Attention, own, *work));
        let Some(side) = own.side.as_ref().filter(|_| work.is_fused()) else { continue };
        let questions = [
            ("attention.gain", "decomposed", Work::DecomposedAttention),
            ("attention.over_fused", "fused", Work::FusedAttention),
        ];
        for (name, what, asked) in questions {
            let win = evidence.plan.thresholds.win;
            let question = Question { probe: Probe::Attention, name, what, among: "attention", win };
            let rivals = measured.iter().filter(|((other, how), _)| {
                same_place(product, other) && *how == asked && (other.path != product.path || asked != *work)
            });
            let rivals: Vec<_> = rivals.map(|(_, rival)| rival).collect();
            // Where no other path has one, nothing is asked.
            if asked == *work && rivals.is_empty() {
                continue;
            }
            facts.push(question.over_fastest(own, side, rivals.into_iter()).0);
        }
    }
    facts
}
