//! Probe `power`: what does an operation cost in energy, on each path and triple?
//!
//! One block a shape gates and times the products, so that a load is known to be right; then meters are read over a window of idling
//! and one of each load that counts. Ceiling loops are loads without traffic. What follows is derived in the ledger.

use super::ProbeEntry;
use crate::pieces::{Expansion, Piece};
use rigel_ledger::Probe;
use rigel_ledger::rows::{CacheState, Identity, Work};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Power,
    summary: "energy of an operation above idle by path and triple, zeros against random data",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let axes = expansion.plan.power.clone().unwrap_or_default();
    let seed = expansion.plan.seed;
    let mut pieces = Vec::new();
    if axes.ceilings {
        let cell = |offer: &rigel_device::Offer| {
            // Most parallel, so closest to what the unit can do.
            let tile = expansion.device.ceiling_variants(&offer.path, offer.triple).pop()?;
            Some(Identity {
                probe: Probe::Power,
                work: Work::Ceiling,
                path: offer.path.clone(),
                triple: offer.triple,
                shape: None,
                tile,
                recipe: None,
                seed,
                cache: CacheState::None,
            })
        };
        let cells: Vec<Identity> = expansion.present().filter(|offer| offer.has_ceiling).filter_map(cell).collect();
        if !cells.is_empty() {
            pieces.push(Piece::Block { id: "power/ceilings".into(), cells });
        }
    }
    for &shape in &axes.shapes {
        let cell = |offer: &rigel_device::Offer, recipe| Identity {
            probe: Probe::Power,
            work: Work::Gemm,
            path: offer.path.clone(),
            triple: offer.triple,
            shape: Some(shape),
            tile: String::new(),
            recipe: Some(recipe),
            seed,
            cache: CacheState::Warm,
        };
        // Random data first: zeros take its launch tile.
        let mut recipes = axes.recipes.clone();
        recipes.sort_by_key(|recipe| recipe.is_blind());
        let of = |recipe| expansion.present().map(move |offer| cell(offer, recipe));
        let cells: Vec<Identity> = recipes.into_iter().flat_map(of).collect();
        if !cells.is_empty() {
            pieces.push(Piece::Block { id: format!("power/{shape}"), cells });
        }
    }
    let loads: Vec<Identity> = pieces.iter().flat_map(Piece::cells).cloned().collect();
    if !loads.is_empty() {
        pieces.push(Piece::Meters { cells: loads, window_s: axes.window_s, energy: true });
    }
    pieces
}
