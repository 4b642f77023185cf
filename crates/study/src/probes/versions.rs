//! Probe `versions`: which compilers, languages and targets are accepted, and do they all give the same output?
//!
//! Of each path and triple a small product is compiled by every toolchain that the device names, loaded, run and gated. Its whole output
//! stands in the witness; what follows is derived in the ledger.

use super::ProbeEntry;
use crate::pieces::{Expansion, Piece};
use rigel_ledger::Probe;
use rigel_ledger::rows::{CacheState, Identity, Work};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Versions,
    summary: "compilers, languages and targets, by path and type: accepted or refused, and whether output bits depend on them",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let Some(axes) = &expansion.plan.versions else { return Vec::new() };
    let mut pieces = Vec::new();
    for offer in &expansion.offers {
        let mut cells = Vec::new();
        for toolchain in expansion.device.toolchains(&offer.path, offer.triple) {
            for (&shape, &recipe) in axes.shapes.iter().flat_map(|s| axes.recipes.iter().map(move |r| (s, r))) {
                cells.push(Identity {
                    probe: Probe::Versions,
                    work: Work::Version,
                    path: offer.path.clone(),
                    triple: offer.triple,
                    shape: Some(shape),
                    tile: toolchain.clone(),
                    recipe: Some(recipe),
                    seed: expansion.plan.seed,
                    cache: CacheState::Warm,
                });
            }
        }
        if !cells.is_empty() {
            pieces.push(Piece::Climb { cells });
        }
    }
    pieces
}
