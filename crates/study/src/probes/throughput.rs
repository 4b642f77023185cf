//! Probe `throughput`: how fast is each path and triple, against its own ceiling, its match and the baselines?

use super::ProbeEntry;
use crate::pieces::{Expansion, Piece};
use rigel_ledger::rows::{CacheState, Identity, Work};
use rigel_ledger::{Probe, block_name};
use rigel_numerics::{Recipe, Shape};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Throughput,
    summary: "rates of products with intervals, against measured ceilings, matches and baselines",
    pieces,
};

/// The pieces of this probe; `clocks` and `dispatch` read the same cells.
pub(super) fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let axes = &expansion.plan.throughput;
    let mut pieces = Vec::new();
    if axes.ceilings {
        let cells = ceilings(expansion);
        if !cells.is_empty() {
            pieces.push(Piece::Block { id: block_name::CEILINGS.into(), cells });
        }
    }
    for &shape in &axes.shapes {
        for &cache in &axes.caches {
            for group in recipe_groups(&axes.recipes) {
                let cells = products(expansion, shape, cache, &group);
                if !cells.is_empty() {
                    pieces.push(Piece::Block { id: block_name::products(shape, group[0], cache), cells });
                }
            }
        }
    }
    pieces
}

/// Zeros and constants ride with the first recipe that can fail its gate, so that they have a sibling to inherit from.
fn recipe_groups(recipes: &[Recipe]) -> Vec<Vec<Recipe>> {
    let (blind, seeing): (Vec<Recipe>, Vec<Recipe>) = recipes.iter().partition(|r| r.is_blind());
    let mut groups: Vec<Vec<Recipe>> = seeing.into_iter().map(|r| vec![r]).collect();
    match groups.first_mut() {
        Some(first) => first.extend(blind),
        None if !blind.is_empty() => groups.push(blind),
        None => {}
    }
    groups
}

fn ceilings(expansion: &Expansion) -> Vec<Identity> {
    let mut cells = Vec::new();
    for offer in expansion.timed().into_iter().filter(|o| o.has_ceiling) {
        for variant in expansion.device.ceiling_variants(&offer.path, offer.triple) {
            cells.push(Identity {
                probe: Probe::Throughput,
                work: Work::Ceiling,
                path: offer.path.clone(),
                triple: offer.triple,
                shape: None,
                tile: variant,
                recipe: None,
                seed: expansion.plan.seed,
                cache: CacheState::None,
            });
        }
    }
    cells
}

fn products(expansion: &Expansion, shape: Shape, cache: CacheState, recipes: &[Recipe]) -> Vec<Identity> {
    let mut cells = Vec::new();
    for offer in expansion.timed() {
        for &recipe in recipes {
            cells.push(Identity {
                probe: Probe::Throughput,
                work: Work::Gemm,
                path: offer.path.clone(),
                triple: offer.triple,
                shape: Some(shape),
                tile: String::new(),
                recipe: Some(recipe),
                seed: expansion.plan.seed,
                cache,
            });
        }
    }
    cells
}
