//! Probe `types`: does each path and triple compile, load, run and come out right?

use super::ProbeEntry;
use crate::pieces::{Expansion, Piece};
use rigel_device::Offer;
use rigel_ledger::Probe;
use rigel_ledger::rows::{CacheState, Identity, Work};
use rigel_numerics::Shape;

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Types,
    summary: "the capability ladder: advertised, compiles, loads, runs, right, faster",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    expansion.offers.iter().map(|offer| climb(expansion, offer)).collect()
}

fn climb(expansion: &Expansion, offer: &Offer) -> Piece {
    let plan = expansion.plan;
    let tile = expansion.device.tiles(&offer.path, offer.triple).into_iter().next().unwrap_or_default();
    let rung = |shape: Shape, recipe| Identity {
        probe: Probe::Types,
        work: Work::Rung,
        path: offer.path.clone(),
        triple: offer.triple,
        shape: Some(shape),
        tile: tile.clone(),
        recipe: Some(recipe),
        seed: plan.seed,
        cache: CacheState::Warm,
    };
    if !offer.absent.is_empty() {
        let (shape, recipe) = (plan.types.shapes[0], plan.types.recipes[0]);
        return Piece::Absent { cell: rung(shape, recipe), reason: offer.absent.clone() };
    }
    let mut shapes = plan.types.shapes.clone();
    if let Some(t) = expansion.device.tile_extents(&offer.path, offer.triple, &tile) {
        let near = |d: isize| Shape::new(beside(t.m, d), beside(t.n, d), beside(t.k, d));
        shapes.extend([near(-1), near(1)]);
    }
    shapes.sort_by_key(|s| (s.operations(), *s));
    shapes.dedup();
    let cells = shapes.iter().flat_map(|&s| plan.types.recipes.iter().map(move |&r| (s, r)));
    Piece::Climb { cells: cells.map(|(s, r)| rung(s, r)).collect() }
}

fn beside(extent: usize, by: isize) -> usize {
    extent.saturating_add_signed(by).clamp(1, Shape::MAX)
}
