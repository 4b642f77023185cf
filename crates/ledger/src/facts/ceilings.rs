//! How fast is each ceiling loop, and does its best variant stand on a plateau?

use super::Evidence;
use super::cells::{Cell, Index};
use super::compare::{Point, Side, middle};
use super::modes::Modes;
use super::row::Subject;
use crate::rows::{CellId, FactRow, Probe};
use crate::statistics::ratio_median;
use rayon::prelude::*;
use rigel_numerics::Triple;

/// The ceiling loop of a path and triple.
pub(super) struct Ceiling<'a> {
    pub(super) path: &'a str,
    pub(super) triple: Triple,
    /// The fastest variant, if any counts.
    best: Option<&'a Cell<'a>>,
    /// Why it is not accepted; empty when it is.
    refused: String,
    /// What the plateau check saw.
    plateau: String,
    /// For comparisons; only of an accepted ceiling.
    pub(super) side: Option<Side<'a>>,
}

/// Every ceiling loop, by path and triple.
pub(super) fn all<'a>(index: &'a Index<'a>, evidence: &Evidence<'_>) -> Vec<Ceiling<'a>> {
    let loops: Vec<_> = index.ceilings.iter().collect();
    let build = |(&(path, triple), variants): (&(&'a str, Triple), &'a Vec<Cell<'a>>)| {
        Ceiling::of(path, triple, variants, evidence)
    };
    loops.into_par_iter().map(build).collect()
}

/// Independent chains and threads of a variant's name, `ilp8x2`.
fn parallelism(variant: &str) -> Option<(u32, u32)> {
    let (chains, threads) = variant.strip_prefix("ilp")?.split_once('x')?;
    Some((chains.parse().ok()?, threads.parse().ok()?))
}

impl<'a> Ceiling<'a> {
    fn of(path: &'a str, triple: Triple, variants: &'a [Cell<'a>], evidence: &Evidence<'_>) -> Self {
        let speed = |cell: &Cell<'_>| {
            let rates: Vec<f64> = cell.timed.iter().filter_map(|row| Point::of(row)).map(|point| point.rate).collect();
            ratio_median(&rates).ok()
        };
        let mut rated: Vec<(&'a Cell<'a>, f64)> =
            variants.iter().filter_map(|cell| Some((cell, speed(cell)?))).collect();
        // Equal rates go to the variant with less parallelism, then by name.
        rated.sort_by(|(a, x), (b, y)| {
            let order = |cell: &Cell<'_>| (parallelism(&cell.any.tile), cell.any.tile.clone(), cell.id);
            y.total_cmp(x).then_with(|| order(a).cmp(&order(b)))
        });
        let Some(&(best, top)) = rated.first() else {
            let whys: Vec<&str> = variants.iter().filter_map(|cell| cell.excluded.as_deref()).collect();
            let refused = format!("no variant counts: {}", whys.first().unwrap_or(&"none was timed"));
            return Ceiling { path, triple, best: None, plateau: refused.clone(), refused, side: None };
        };
        let neighbours = neighbours(best, &rated);
        let limit = evidence.plan.thresholds.plateau;
        let mut texts = Vec::new();
        let mut far = Vec::new();
        for &(cell, rate) in &neighbours {
            let below = 1.0 - rate / top;
            texts.push(format!("{} {:.2} % below", cell.any.tile, below * 100.0));
            if below > limit {
                far.push(cell.any.tile.as_str());
            }
        }
        let refused = if neighbours.is_empty() {
            format!("{} has no neighbour in parallelism", best.any.tile)
        } else if far.is_empty() {
            String::new()
        } else {
            format!("{} of {} more than {:.1} % below it", far.join(", "), best.any.tile, limit * 100.0)
        };
        let plateau = format!("best {}; neighbours: {}", best.any.tile, texts.join(", "));
        let side = refused.is_empty().then(|| side(best, &neighbours, evidence));
        Ceiling { path, triple, best: Some(best), refused, plateau, side }
    }

    /// Why it is not accepted.
    pub(super) fn refusal(&self) -> Option<&str> {
        (!self.refused.is_empty()).then_some(self.refused.as_str())
    }

    /// Operations per second of the accepted ceiling: the best variant's median over processes.
    pub(super) fn rate(&self) -> Option<f64> {
        self.best_side()?.rate().map(|(rate, _)| rate)
    }

    fn best_side(&self) -> Option<Side<'a>> {
        let best = self.best.filter(|_| self.refused.is_empty())?;
        let points = best.timed.iter().filter_map(|row| Point::of(row)).collect();
        Some(Side { points, modes: Vec::new(), choices: 1, evidence: vec![best.id] })
    }

    /// Its facts.
    pub(super) fn facts(&self, evidence: &Evidence<'_>) -> Vec<FactRow> {
        let subject = Subject::triple(Probe::Throughput, self.path, self.triple);
        let ids: Vec<CellId> = match &self.side {
            Some(side) => side.evidence.clone(),
            None => self.best.iter().map(|cell| cell.id).collect(),
        };
        let yes = if self.refused.is_empty() { "yes" } else { "no" };
        let words = match self.refusal() {
            Some(why) if why != self.plateau => format!("{}; {why}", self.plateau),
            _ => self.plateau.clone(),
        };
        let mut facts = vec![subject.word("ceiling.plateau", yes, words, &ids)];
        let (Some(side), Some(best)) = (self.best_side(), self.best) else { return facts };
        let words = || format!("variant {} over {} processes", best.any.tile, side.points.len());
        if let Some((rate, interval)) = side.rate() {
            facts.push(subject.number("ceiling", (rate, "op/s"), interval, words(), &side.evidence));
        }
        let Some((per_clock, interval)) = side.per_cycle() else { return facts };
        facts.push(subject.number("ceiling.per_clock", (per_clock, "op/cycle"), interval, words(), &side.evidence));
        let stated = evidence.provenance.iter().find_map(|record| {
            let same = |offer: &&crate::provenance::OfferRecord| offer.path == self.path && offer.triple == self.triple;
            let offer = record.device.offers.iter().find(same)?;
            let limit = offer.stated_operations_per_cycle_per_core? * f64::from(record.device.cores);
            (limit.is_finite() && limit > 0.0).then(|| (limit, record.device.cores, offer.stated_source.clone()))
        });
        if let Some((limit, cores, source)) = stated {
            let share = middle(&side.points.iter().filter_map(|p| Some(p.per_cycle? / limit)).collect::<Vec<_>>());
            if let Some((share, interval)) = share {
                let mut words =
                    format!("measured per core-clock cycle over {limit} op/cycle stated for {cores} cores ({source})");
                if share > 1.0 {
                    words.push_str("; above the stated limit, which is a finding about the limit");
                }
                facts.push(subject.number("ceiling.of_stated", (share, ""), interval, words, &side.evidence));
            }
        }
        facts
    }
}

/// The variants next to the best one: one step less and one step more in independent chains on as many threads, and one
/// step more in threads with as many chains. Fewer threads than the best are no neighbour: they leave cores idle.
fn neighbours<'a>(best: &Cell<'_>, rated: &[(&'a Cell<'a>, f64)]) -> Vec<(&'a Cell<'a>, f64)> {
    let Some((chains, threads)) = parallelism(&best.any.tile) else { return Vec::new() };
    let known = || rated.iter().filter_map(|&(cell, rate)| Some((parallelism(&cell.any.tile)?, (cell, rate))));
    let less = known().filter(|((c, t), _)| *t == threads && *c < chains).max_by_key(|((c, _), _)| *c);
    let more = known().filter(|((c, t), _)| *t == threads && *c > chains).min_by_key(|((c, _), _)| *c);
    let wider = known().filter(|((c, t), _)| *c == chains && *t > threads).min_by_key(|((_, t), _)| *t);
    [less, more, wider].into_iter().flatten().map(|(_, cell)| cell).collect()
}

/// For comparisons the rate in a process is the median over the plateau, not the best variant's: the best of several equal
/// variants is partly lucky, their median is not.
fn side<'a>(best: &'a Cell<'a>, neighbours: &[(&'a Cell<'a>, f64)], evidence: &Evidence<'_>) -> Side<'a> {
    let others: Vec<&Cell<'_>> = neighbours.iter().map(|&(cell, _)| cell).collect();
    let points = best.timed.iter().filter_map(|row| {
        let own = Point::of(row)?;
        let same = |other: &&&crate::rows::CellRow| (&other.run, other.process) == (&row.run, row.process);
        let plateau = others.iter().filter_map(|cell| cell.timed.iter().find(same)).filter_map(|row| Point::of(row));
        let all: Vec<Point<'_>> = plateau.chain([own]).collect();
        let rates: Vec<f64> = all.iter().map(|point| point.rate).collect();
        let per_cycle: Option<Vec<f64>> = all.iter().map(|point| point.per_cycle).collect();
        Some(Point {
            rate: ratio_median(&rates).ok()?,
            per_cycle: per_cycle.and_then(|values| ratio_median(&values).ok()),
            ..own
        })
    });
    let modes = Modes::of(best, evidence.samples).map(|modes| modes.several).unwrap_or_default();
    let mut ids: Vec<CellId> = others.iter().map(|cell| cell.id).chain([best.id]).collect();
    ids.sort_unstable();
    Side { points: points.collect(), modes, choices: 1, evidence: ids }
}
