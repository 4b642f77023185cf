//! How fast is each ceiling loop, and does its best variant stand on a plateau?

use super::Evidence;
use super::cells::{Cell, Index};
use super::compare::{Point, Side, middle, points};
use super::modes::Modes;
use super::products::Measured;
use super::row::Subject;
use crate::rows::{CellId, FactRow, Probe};
use crate::statistics::ratio_median;
use rayon::prelude::*;
use rigel_numerics::Triple;
use std::fmt;

/// A variant of a ceiling loop that counts.
struct Variant<'a> {
    cell: &'a Cell<'a>,
    points: Vec<Point<'a>>,
    /// What the plateau is judged by: operations per cycle where every variant's clock was read, so that clock states do
    /// not make steps; else operations per second.
    speed: f64,
}

/// The ceiling loop of a path and triple.
pub(super) struct Ceiling<'a> {
    pub(super) path: &'a str,
    pub(super) triple: Triple,
    /// The accepted variant, or the fastest one when none is.
    best: Option<Variant<'a>>,
    /// Why it is not accepted; empty when it is.
    refused: String,
    /// What the plateau check saw.
    plateau: String,
    /// For comparisons; only of an accepted ceiling.
    pub(super) side: Option<Side<'a>>,
    /// The product that showed it to be no limit, though it stands on a plateau.
    outrun: Option<Outrun>,
}

/// A product that is faster than the loop of its own path and triple.
struct Outrun {
    /// Its rate over that of the loop.
    share: f64,
    product: String,
    /// Its cells and those of the loop and its neighbours.
    evidence: Vec<CellId>,
}

impl fmt::Display for Outrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs at {:.1} % of it, so it is no limit", self.product, self.share * 100.0)
    }
}

/// Every ceiling loop, by path and triple.
pub(super) fn all<'a>(index: &'a Index<'a>, products: &[Measured<'_>], evidence: &Evidence<'_>) -> Vec<Ceiling<'a>> {
    let loops: Vec<_> = index.ceilings.iter().collect();
    let build = |(&(path, triple), variants): (&(&'a str, Triple), &'a Vec<Cell<'a>>)| {
        let mut ceiling = Ceiling::of(path, triple, variants, evidence);
        ceiling.ask_products(products, evidence);
        ceiling
    };
    loops.into_par_iter().map(build).collect()
}

/// How much of its rate a ceiling's interval may stretch to either side. Noise that wide would make any rate look like a plateau.
const WIDEST: f64 = 0.5;

/// Independent chains and threads of a variant's name, `ilp8x2`.
fn parallelism(variant: &str) -> Option<(u32, u32)> {
    let (chains, threads) = variant.strip_prefix("ilp")?.split_once('x')?;
    Some((chains.parse().ok()?, threads.parse().ok()?))
}

impl<'a> Ceiling<'a> {
    /// Accepts the fastest variant all of whose neighbours lie within the plan's plateau of it, if no other variant is
    /// faster by more than that. The fastest of all would be a luckier choice: on a plateau it is one of several equals,
    /// and at the plateau's edge its neighbour below is a step.
    fn of(path: &'a str, triple: Triple, cells: &'a [Cell<'a>], evidence: &Evidence<'_>) -> Self {
        let mut variants = variants(cells, evidence);
        let limit = evidence.plan.thresholds.plateau;
        let Some(top) = variants.first().map(|variant| variant.speed) else {
            let whys: Vec<&str> = cells.iter().filter_map(|cell| cell.excluded.as_deref()).collect();
            let refused = format!("no variant counts: {}", whys.first().unwrap_or(&"none was timed"));
            return Ceiling { path, triple, best: None, plateau: refused.clone(), refused, side: None, outrun: None };
        };
        let level = |variant: &Variant<'_>| {
            let around = neighbours(variant, &variants);
            !around.is_empty() && around.iter().all(|other| (other.speed / variant.speed - 1.0).abs() <= limit)
        };
        let on_top = |variant: &&Variant<'_>| variant.speed >= top * (1.0 - limit) && level(variant);
        let steady = |variant: &Variant<'_>| match middle(&variant.points.iter().map(|p| p.rate).collect::<Vec<_>>()) {
            Some((rate, Some(interval))) => {
                interval.low >= rate * (1.0 - WIDEST) && interval.high <= rate * (1.0 + WIDEST)
            }
            _ => true,
        };
        let found = variants.iter().position(|variant| on_top(&variant) && steady(variant));
        let chosen = &variants[found.unwrap_or(0)];
        let around = neighbours(chosen, &variants);
        let tile = &chosen.cell.any.tile;
        let away = |other: &&Variant<'_>| {
            format!("{} {:+.2} %", other.cell.any.tile, (other.speed / chosen.speed - 1.0) * 100.0)
        };
        let plateau = match around.is_empty() {
            true => format!("{tile} has no neighbour in parallelism"),
            false => format!("{tile}; neighbours: {}", around.iter().map(away).collect::<Vec<_>>().join(", ")),
        };
        let refused = match found {
            Some(_) => String::new(),
            None if variants.iter().any(|variant| on_top(&variant)) => {
                format!("its interval stretches beyond {:.0} % of the rate: too noisy", WIDEST * 100.0)
            }
            None => format!("no variant within {:.1} % of the fastest and of all its neighbours", limit * 100.0),
        };
        let side = found.map(|_| side(chosen, &around, evidence));
        let best = Some(variants.swap_remove(found.unwrap_or(0)));
        Ceiling { path, triple, best, refused, plateau, side, outrun: None }
    }

    /// Takes back the acceptance of a loop that a product of its own path and triple outruns: what is slower than a whole
    /// product is no limit of the unit, whatever its plateau.
    ///
    /// Medians decide, and no interval protects the loop: where they are apart by more than neighbours on a plateau may differ,
    /// nothing is known of the limit, and `undecided` is the safe side. The product must be faster per time and, where clocks are
    /// read, per cycle: a clock that lies moves one of the two. Zeros and constants are not asked: they may run at another clock.
    fn ask_products(&mut self, products: &[Measured<'_>], evidence: &Evidence<'_>) {
        let (Some(limit), Some(plateau)) = (self.best_side(), &self.side) else { return };
        let own = |product: &&Measured<'_>| product.product.path == self.path && product.product.triple == self.triple;
        let outrun = |product: &Measured<'_>| {
            let side = product.side.as_ref()?;
            let share = side.least_share_of(&limit)?;
            let evidence = side.evidence.iter().chain(&plateau.evidence).copied().collect();
            Some(Outrun { share, product: product.name(), evidence })
        };
        let asked = products.iter().filter(own).filter(|product| product.can_decide());
        let fastest = asked.filter_map(outrun).max_by(|a, b| a.share.total_cmp(&b.share));
        self.outrun = fastest.filter(|outrun| outrun.share > 1.0 + evidence.plan.thresholds.plateau);
        if let Some(outrun) = &self.outrun {
            self.refused = outrun.to_string();
            self.side = None;
        }
    }

    /// Why it is not accepted.
    pub(super) fn refusal(&self) -> Option<&str> {
        (!self.refused.is_empty()).then_some(self.refused.as_str())
    }

    /// Operations per second of the variant that is or would be the ceiling, accepted or not.
    pub(super) fn reached(&self) -> Option<f64> {
        middle(&self.best.as_ref()?.points.iter().map(|point| point.rate).collect::<Vec<_>>()).map(|(rate, _)| rate)
    }

    /// The accepted variant by itself.
    pub(super) fn best_side(&self) -> Option<Side<'a>> {
        let best = self.best.as_ref().filter(|_| self.refused.is_empty())?;
        Some(Side { points: best.points.clone(), modes: Vec::new(), choices: 1, evidence: vec![best.cell.id] })
    }

    /// Its facts.
    pub(super) fn facts(&self, evidence: &Evidence<'_>) -> Vec<FactRow> {
        let subject = Subject::triple(Probe::Throughput, self.path, self.triple);
        let ids: Vec<CellId> = match &self.side {
            Some(side) => side.evidence.clone(),
            None => self.best.iter().map(|best| best.cell.id).collect(),
        };
        if let Some(outrun) = &self.outrun {
            let plateau = subject.word("ceiling.plateau", "yes", self.plateau.clone(), &outrun.evidence);
            return vec![
                plateau,
                subject.number("ceiling.outrun", (outrun.share, ""), None, outrun.to_string(), &outrun.evidence),
            ];
        }
        let yes = if self.refused.is_empty() { "yes" } else { "no" };
        let words = match self.refusal() {
            Some(why) if why != self.plateau => format!("{}; {why}", self.plateau),
            _ => self.plateau.clone(),
        };
        let mut facts = vec![subject.word("ceiling.plateau", yes, words, &ids)];
        let (Some(side), Some(best)) = (self.best_side(), &self.best) else { return facts };
        let words = || format!("variant {} over {} processes", best.cell.any.tile, side.points.len());
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

/// Variants that count, the fastest first; equal ones by less parallelism, then by name.
fn variants<'a>(cells: &'a [Cell<'a>], evidence: &Evidence<'_>) -> Vec<Variant<'a>> {
    let measured: Vec<(&Cell<'_>, Vec<Point<'_>>)> = cells
        .iter()
        .map(|cell| (cell, points(cell, evidence.samples)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let clocked = measured.iter().all(|(_, points)| points.iter().all(|point| point.per_cycle.is_some()));
    let speed = |points: &[Point<'_>]| {
        let of = |point: &Point<'_>| if clocked { point.per_cycle.unwrap_or(0.0) } else { point.rate };
        ratio_median(&points.iter().map(of).collect::<Vec<_>>()).ok()
    };
    let mut variants: Vec<Variant<'_>> = measured
        .into_iter()
        .filter_map(|(cell, points)| Some(Variant { cell, speed: speed(&points)?, points }))
        .collect();
    variants.sort_by(|a, b| {
        let order = |variant: &Variant<'_>| {
            let tile = &variant.cell.any.tile;
            (parallelism(tile), tile.clone(), variant.cell.id)
        };
        b.speed.total_cmp(&a.speed).then_with(|| order(a).cmp(&order(b)))
    });
    variants
}

/// The variants next to one: one step less and one step more in independent chains on as many threads, and one step more in
/// threads with as many chains. Fewer threads are no neighbour: they leave cores idle.
fn neighbours<'v, 'a>(of: &Variant<'a>, variants: &'v [Variant<'a>]) -> Vec<&'v Variant<'a>> {
    let Some((chains, threads)) = parallelism(&of.cell.any.tile) else { return Vec::new() };
    let known = || variants.iter().filter_map(|variant| Some((parallelism(&variant.cell.any.tile)?, variant)));
    let less = known().filter(|((c, t), _)| *t == threads && *c < chains).max_by_key(|((c, _), _)| *c);
    let more = known().filter(|((c, t), _)| *t == threads && *c > chains).min_by_key(|((c, _), _)| *c);
    let wider = known().filter(|((c, t), _)| *c == chains && *t > threads).min_by_key(|((_, t), _)| *t);
    [less, more, wider].into_iter().flatten().map(|(_, variant)| variant).collect()
}

/// For comparisons the rate in a process is the median over the plateau, not the accepted variant's alone: the best of
/// several equal variants is partly lucky, their median is not.
fn side<'a>(best: &Variant<'a>, around: &[&Variant<'a>], evidence: &Evidence<'_>) -> Side<'a> {
    let on_plateau = best.points.iter().filter_map(|own| {
        let same = |other: &&Point<'_>| (other.run, other.process) == (own.run, own.process);
        let others = around.iter().filter_map(|variant| variant.points.iter().find(same));
        let all: Vec<&Point<'_>> = others.chain([own]).collect();
        let rates: Vec<f64> = all.iter().map(|point| point.rate).collect();
        let per_cycle: Option<Vec<f64>> = all.iter().map(|point| point.per_cycle).collect();
        Some(Point {
            rate: ratio_median(&rates).ok()?,
            per_cycle: per_cycle.and_then(|values| ratio_median(&values).ok()),
            ..*own
        })
    });
    let modes = Modes::of(best.cell, evidence.samples).map(|modes| modes.several).unwrap_or_default();
    let mut ids: Vec<CellId> = around.iter().map(|variant| variant.cell.id).chain([best.cell.id]).collect();
    ids.sort_unstable();
    Side { points: on_plateau.collect(), modes, choices: 1, evidence: ids }
}
