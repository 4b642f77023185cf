//! How fast is each product with its best launch tile, and in which modes?

use super::Evidence;
use super::ceilings::Ceiling;
use super::cells::{Cell, Index, Product};
use super::compare::{Point, Side, points};
use super::modes::Modes;
use super::row::Subject;
use crate::rows::{FactRow, Probe, name_of};
use crate::statistics::ratio_median;
use rayon::prelude::*;

/// A product, measured.
pub(super) struct Measured<'a> {
    pub(super) product: Product<'a>,
    /// The fastest launch tile that counts, as a side of comparisons; `None` when no tile counts.
    pub(super) side: Option<Side<'a>>,
    tile: &'a str,
    modes: Option<Modes>,
    /// Tiles that do not count, each with its reason.
    pub(super) excluded: Vec<String>,
    /// Processes of the chosen tile that ended early.
    lost: Vec<String>,
}

/// Every product, in order.
pub(super) fn all<'a>(index: &'a Index<'a>, evidence: &Evidence<'_>) -> Vec<Measured<'a>> {
    let products: Vec<_> = index.products.iter().collect();
    products.into_par_iter().map(|(&product, tiles)| Measured::of(product, tiles, evidence)).collect()
}

impl<'a> Measured<'a> {
    pub(super) fn of(product: Product<'a>, tiles: &'a [Cell<'a>], evidence: &Evidence<'_>) -> Self {
        let speed =
            |points: &[Point<'_>]| ratio_median(&points.iter().map(|point| point.rate).collect::<Vec<_>>()).ok();
        let excluded = tiles.iter().filter_map(|cell| {
            let tile = if cell.any.tile.is_empty() { "default" } else { cell.any.tile.as_str() };
            cell.excluded.as_ref().map(|why| format!("launch tile {tile}: {why}"))
        });
        let excluded: Vec<String> = excluded.collect();
        let mut counting: Vec<(&'a Cell<'a>, Vec<Point<'a>>, f64)> = tiles
            .iter()
            .filter_map(|cell| {
                let points = points(cell, evidence.samples);
                let speed = speed(&points)?;
                Some((cell, points, speed))
            })
            .collect();
        let choices = counting.len();
        // Equal rates go to the smaller cell id.
        counting.sort_by(|(a, _, x), (b, _, y)| y.total_cmp(x).then_with(|| a.id.cmp(&b.id)));
        let Some((cell, points, _)) = counting.into_iter().next() else {
            return Measured { product, side: None, tile: "", modes: None, excluded, lost: Vec::new() };
        };
        let modes = Modes::of(cell, evidence.samples);
        let several = modes.as_ref().map(|modes| modes.several.clone()).unwrap_or_default();
        let side = Some(Side { points, modes: several, choices, evidence: vec![cell.id] });
        Measured { product, side, tile: &cell.any.tile, modes, excluded, lost: cell.lost.clone() }
    }

    /// Shape, recipe and cache state in words.
    pub(super) fn name(&self) -> String {
        let Product { shape, recipe, cache, .. } = self.product;
        format!("{shape} {} {}", recipe.name(), name_of(&cache))
    }

    /// Whether its recipe can fail a gate by itself. Zeros and constants inherit theirs, draw less power and may run at
    /// another clock: they carry ratios and decide nothing.
    pub(super) fn can_decide(&self) -> bool {
        !self.product.recipe.is_blind()
    }

    /// The chosen launch tile in words.
    pub(super) fn tile_words(&self) -> String {
        if self.tile.is_empty() { "the only launch tile".to_owned() } else { format!("launch tile {}", self.tile) }
    }

    pub(super) fn subject(&self, probe: Probe) -> Subject {
        let Product { path, triple, shape, recipe, cache } = self.product;
        Subject { product: Some((shape, recipe, cache)), ..Subject::triple(probe, path, triple) }
    }

    /// `rate…` and `modes`.
    pub(super) fn facts(&self, ceilings: &[Ceiling<'_>]) -> Vec<FactRow> {
        let Some(side) = &self.side else { return Vec::new() };
        let Some((rate, interval)) = side.rate() else { return Vec::new() };
        let subject = self.subject(Probe::Throughput);
        let ids = &side.evidence;
        let mut words = format!("{} over {} processes", self.tile_words(), side.points.len());
        if side.choices > 1 {
            words.push_str(&format!(", fastest of {} by these samples", side.choices));
        }
        if !self.lost.is_empty() {
            words.push_str(&format!("; lost: {}", self.lost.join(", ")));
        }
        if side.modes.len() > 1 {
            words.push_str("; several modes: the median hides them");
        }
        let mut facts = vec![subject.number("rate", (rate, "op/s"), interval, words, ids)];
        if let Some((per_clock, interval)) = side.per_cycle() {
            let words = "operations per core-clock cycle, all cores together".to_owned();
            facts.push(subject.number("rate.per_clock", (per_clock, "op/cycle"), interval, words, ids));
        }
        let own = ceilings.iter().find(|c| c.path == self.product.path && c.triple == self.product.triple);
        if let Some(of) = own.and_then(Ceiling::best_side)
            && let Some(share) = side.share_of(&of)
        {
            let evidence: Vec<_> = ids.iter().chain(&of.evidence).copied().collect();
            let per = if side.per_cycle().is_some() && of.per_cycle().is_some() { "cycle" } else { "time" };
            let words = format!("rate over the path's own accepted ceiling, both per {per}");
            facts.push(subject.number("rate.of_ceiling", (share, ""), None, words, &evidence));
        }
        if let Some(modes) = &self.modes {
            let subject = self.subject(Probe::Clocks);
            facts.push(subject.word("modes", modes.value(), modes.modality.to_string(), ids));
        }
        facts
    }
}
