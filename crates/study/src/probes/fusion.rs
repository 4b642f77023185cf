//! Probe `fusion`: what does an epilogue gain that stays in the registers of the product?
//!
//! One block a shape holds, for every path and triple that has them: the product with bias and then GELU in a kernel of its own, and
//! both fused into the kernel that multiplies. On a path of the vendor's library the fused form is the vendor's own epilogue. What
//! follows is derived in the ledger.

use super::ProbeEntry;
use crate::pieces::{Expansion, Piece};
use rigel_ledger::Probe;
use rigel_ledger::rows::{CacheState, Identity, Work};
use rigel_numerics::{Recipe, Shape};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Fusion,
    summary: "what bias and GELU gain in the product's own registers, against a kernel of their own and the vendor's epilogue",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let axes = expansion.plan.fusion.clone().unwrap_or_default();
    let block = |&shape: &Shape| {
        let cells: Vec<Identity> = axes.recipes.iter().flat_map(|&recipe| cells(expansion, shape, recipe)).collect();
        (!cells.is_empty()).then(|| Piece::Block { id: format!("fusion/{shape}"), cells })
    };
    axes.shapes.iter().filter_map(block).collect()
}

fn cells(expansion: &Expansion, shape: Shape, recipe: Recipe) -> Vec<Identity> {
    let axes = expansion.plan.fusion.clone().unwrap_or_default();
    let mut cells = Vec::new();
    for work in Work::PRODUCTS {
        for offer in expansion.present() {
            let epilogues = expansion.device.epilogues(&offer.path, offer.triple);
            let has = work.activation().is_some_and(|activation| {
                axes.activations.contains(&activation)
                    && epilogues.iter().any(|e| e.activation == activation && e.fused == work.is_fused())
            });
            if has {
                cells.push(Identity {
                    probe: Probe::Fusion,
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
