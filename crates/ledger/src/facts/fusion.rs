//! What does an epilogue gain that stays in the product's registers?
//!
//! The gain is the time of the fastest decomposed product of the block, whatever its path, over that of a fused one. Its word is
//! `win` where the comparison lies at or above the plan's threshold of a win, `gain` where it lies at or above 1, `no gain` where it
//! lies below 1, else `undecided`, by the rules of [`Comparison::band`](crate::verdict::Comparison::band).

use super::Evidence;
use super::cells::{Index, Product};
use super::compare::{Side, compare};
use super::products::Measured;
use super::row::Subject;
use crate::rows::{CacheState, FactRow, Probe, Work};
use crate::statistics::Interval;
use crate::verdict::{Band, Comparison, Doubt};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::{Recipe, Shape, Triple};
use std::collections::BTreeMap;

/// A fused product's gain.
struct Gain<'a> {
    product: Product<'a>,
    activation: Activation,
    comparison: Comparison,
}

/// Every fact of the probe `fusion`.
pub(super) fn facts<'a>(index: &'a Index<'a>, evidence: &Evidence<'a>) -> Vec<FactRow> {
    let measured: BTreeMap<(Product<'a>, Work), Measured<'a>> = index
        .epilogues
        .iter()
        .map(|(&(product, work), tiles)| ((product, work), Measured::of(product, tiles, evidence)))
        .collect();
    let mut facts = Vec::new();
    let mut gains = Vec::new();
    for ((product, work), own) in &measured {
        facts.extend(rate(Probe::Fusion, own, *work));
        let Some(activation) = work.activation().filter(|_| work.is_fused()) else { continue };
        let Some(side) = &own.side else { continue };
        let rivals = measured
            .iter()
            .filter(|((other, how), _)| same_place(product, other) && *how == Work::of(activation, false));
        let question = Question {
            probe: Probe::Fusion,
            name: &format!("fusion.gain.{activation}"),
            what: "decomposed",
            among: "product",
            win: evidence.plan.thresholds.win,
        };
        let (fact, comparison) = question.over_fastest(own, side, rivals.map(|(_, rival)| rival));
        facts.push(fact);
        gains.extend(comparison.map(|comparison| Gain { product: *product, activation, comparison }));
    }
    facts.extend(crossings(&gains));
    facts
}

/// What is asked of one way against others of the same shape.
pub(super) struct Question<'q> {
    pub(super) probe: Probe,
    /// Name of the fact.
    pub(super) name: &'q str,
    /// How the rivals are called behind their path.
    pub(super) what: &'q str,
    /// What they are.
    pub(super) among: &'q str,
    /// The plan's threshold of a win.
    pub(super) win: f64,
}

impl Question<'_> {
    /// Time of the fastest rival over that of `own`, and the comparison where there is one.
    pub(super) fn over_fastest<'m, 'a: 'm>(
        &self,
        own: &Measured<'a>,
        side: &Side<'a>,
        rivals: impl Iterator<Item = &'m Measured<'a>>,
    ) -> (FactRow, Option<Comparison>) {
        let subject = own.subject(self.probe);
        let (name, what, among) = (self.name, self.what, self.among);
        let fastest = rivals
            .filter_map(|rival| Some((rival.product.path, rival.side.as_ref()?)))
            .max_by(|(_, x), (_, y)| speed(x).total_cmp(&speed(y)));
        let Some((path, theirs)) = fastest else {
            let words = format!("no {what} {among} of this shape counts");
            return (subject.word(name, "undecided", words, &side.evidence), None);
        };
        let Some(compared) = compare(side, theirs).filter(|compared| compared.same_block) else {
            let words = format!("not measured in the same block and processes as {path} {what}");
            return (subject.word(name, "undecided", words, &side.evidence), None);
        };
        let comparison = compared.comparison;
        let word = word(&comparison, self.win);
        let words = format!("{word}: over {path} {what}, the fastest; {comparison}");
        let ids: Vec<_> = side.evidence.iter().chain(&theirs.evidence).copied().collect();
        let value = (comparison.time.value, "");
        (subject.number(name, value, comparison.time.interval, words, &ids), Some(comparison))
    }
}

pub(super) fn same_place(a: &Product<'_>, b: &Product<'_>) -> bool {
    (a.triple, a.shape, a.recipe, a.cache) == (b.triple, b.shape, b.recipe, b.cache)
}

fn speed(side: &Side<'_>) -> f64 {
    side.rate().map_or(0.0, |(rate, _)| rate)
}

/// `fusion.time…`, `attention.time…`: the time of one product with what follows it, or of one attention.
pub(super) fn rate(probe: Probe, own: &Measured<'_>, work: Work) -> Option<FactRow> {
    let side = own.side.as_ref()?;
    let (rate, interval) = side.rate()?;
    let operations = work.calculation().operations(own.product.shape) as f64;
    let us = |rate: f64| operations / rate * 1e6;
    let name = format!("{}.time.{}", crate::rows::name_of(&probe), crate::rows::name_of(&work));
    let interval = interval.map(|i| Interval { low: us(i.high), high: us(i.low), ..i });
    let words = format!("{} over {} processes", own.tile_words(), side.points.len());
    Some(own.subject(probe).number(&name, (us(rate), "us"), interval, words, &side.evidence))
}

fn word(comparison: &Comparison, win: f64) -> String {
    match (comparison.band(win), comparison.band(1.0)) {
        (Ok(Band::Above), _) => "win".into(),
        (_, Ok(Band::Above)) => "gain".into(),
        (_, Ok(Band::Below)) => "no gain".into(),
        (_, Ok(Band::Across)) => Doubt::Straddles.to_string(),
        (_, Err(doubt)) => doubt.to_string(),
    }
}

/// The extent at which a gain ends: of each path, triple and activation with cubes of at least two sizes.
///
/// The value is where a line through the logarithms of the two neighbours' gains meets 1, the interval reaches from the largest
/// size below which every gain is certain to the smallest from which none is.
fn crossings(gains: &[Gain<'_>]) -> Vec<FactRow> {
    type Line<'a> = (&'a str, Triple, Activation, Recipe, CacheState);
    let mut lines: BTreeMap<Line<'_>, Vec<(Shape, &Comparison)>> = BTreeMap::new();
    for gain in gains {
        let Product { path, triple, shape, recipe, cache } = gain.product;
        if (shape.m, shape.m) == (shape.n, shape.k) {
            let line = (path, triple, gain.activation, recipe, cache);
            lines.entry(line).or_default().push((shape, &gain.comparison));
        }
    }
    let mut facts = Vec::new();
    for ((path, triple, activation, ..), mut line) in lines {
        line.sort_by_key(|(shape, _)| shape.m);
        if line.len() < 2 {
            continue;
        }
        let subject = Subject::triple(Probe::Fusion, path, triple);
        let name = format!("fusion.crossing.{activation}");
        let ends = |comparison: &Comparison| comparison.time.interval.map_or((0.0, f64::INFINITY), |i| (i.low, i.high));
        let certain = line.iter().take_while(|(_, c)| ends(c).0 >= 1.0).last().map(|(shape, _)| shape.m);
        let none = line.iter().rev().take_while(|(_, c)| ends(c).1 < 1.0).last().map(|(shape, _)| shape.m);
        let falls = line.windows(2).find(|two| two[0].1.time.value >= 1.0 && two[1].1.time.value < 1.0);
        let sizes = format!("sizes {} to {}", line[0].0.m, line[line.len() - 1].0.m);
        let Some(two) = falls else {
            let all = line.iter().all(|(_, c)| c.time.value >= 1.0);
            let value = if all { "none: a gain at every size" } else { "none: no size from which it falls below 1" };
            facts.push(subject.word(&name, value, sizes, &[]));
            continue;
        };
        let [(x, a), (y, b)] = [two[0], two[1]].map(|(s, c)| ((s.m as f64).ln(), c.time.value.ln()));
        let at = (x + (y - x) * a / (a - b)).exp();
        let low = certain.map_or(line[0].0.m as f64, |m| m as f64).min(at);
        let high = none.map_or(line[line.len() - 1].0.m as f64, |m| m as f64).max(at);
        let words = format!(
            "{sizes}; certain up to {}, none from {}",
            certain.map_or("no size".into(), |m| m.to_string()),
            none.map_or("no size".into(), |m| m.to_string())
        );
        let interval = Interval { low, high, coverage: 0.95 };
        facts.push(subject.number(&name, (at.round(), "extent"), Some(interval), words, &[]));
    }
    facts
}
