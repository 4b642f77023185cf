//! Probe `attention`: does attention lose when it leaves the matrix unit, and by how much?
//!
//! One block a shape holds, for every path and triple that has them, the attention in one kernel and in three: scores, softmax,
//! output. A fused kernel of a path with matrix instructions keeps scores and weights in the unit's own registers, one of a path
//! without leaves the unit. What follows is derived in the ledger.

use super::ProbeEntry;
use crate::pieces::{Expansion, Piece};
use rigel_ledger::rows::{CacheState, Identity, Work};
use rigel_ledger::{Probe, block_name};
use rigel_numerics::{Recipe, Shape};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Attention,
    summary: "what attention gains that stays on the matrix unit, against three kernels and against a fused one without it",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let axes = expansion.plan.attention.clone().unwrap_or_default();
    let block = |&shape: &Shape| {
        let cells: Vec<Identity> = axes.recipes.iter().flat_map(|&recipe| cells(expansion, shape, recipe)).collect();
        (!cells.is_empty()).then(|| Piece::Block { id: block_name::of_shape(Probe::Attention, shape), cells })
    };
    axes.shapes.iter().filter_map(block).collect()
}

fn cells(expansion: &Expansion, shape: Shape, recipe: Recipe) -> Vec<Identity> {
    let mut cells = Vec::new();
    for work in [Work::FusedAttention, Work::DecomposedAttention] {
        for offer in expansion.present() {
            if !expansion.device.attention_tiles(&offer.path, offer.triple, work.is_fused()).is_empty() {
                cells.push(Identity {
                    probe: Probe::Attention,
                    work,
                    path: offer.path.clone(),
                    triple: offer.triple,
                    shape: Some(shape),
                    tile: String::new(),
                    recipe: Some(recipe),
                    seed: expansion.plan.seed,
                    cache: CacheState::Warm,
                });
            }
        }
    }
    cells
}
