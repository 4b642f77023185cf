//! Probe `alignment`: what does each path demand of the addresses of its operands?
//!
//! One block a path, triple, launch tile and shape: the product with its operands at every offset and distance between rows that the plan
//! names. Each placement is tried before, in a process that it may end; those that are taken and right are then timed together. What follows
//! is derived in the ledger.

use super::ProbeEntry;
use crate::pieces::{Expansion, Piece};
use rigel_ledger::rows::{CacheState, Identity, Work};
use rigel_ledger::{Probe, block_name};
use rigel_numerics::placement::placed;

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Alignment,
    summary: "offset and row distance of operands, by path and type: refused, wrong, slow or fine",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let axes = expansion.plan.alignment.clone().unwrap_or_default();
    let mut pieces = Vec::new();
    for offer in expansion.present() {
        for tile in expansion.device.placed_tiles(&offer.path, offer.triple) {
            for &shape in &axes.shapes {
                let cell = |recipe, placement| Identity {
                    probe: Probe::Alignment,
                    work: Work::Placed,
                    path: offer.path.clone(),
                    triple: offer.triple,
                    shape: Some(shape),
                    tile: placed(&tile, placement),
                    recipe: Some(recipe),
                    seed: expansion.plan.seed,
                    cache: CacheState::Warm,
                };
                let each = axes.recipes.iter().flat_map(|&recipe| axes.placements().map(move |p| (recipe, p)));
                let cells = each.map(|(recipe, placement)| cell(recipe, placement)).collect();
                pieces.push(Piece::Block { id: block_name::alignment(&offer.path, offer.triple, shape, &tile), cells });
            }
        }
    }
    pieces
}
