//! Probe `order`: in which order does each path add the products of a long row, and does row 0 depend on its batch?

use super::ProbeEntry;
use crate::accumulation::{GemmDots, Unrecovered, recover, row_zero};
use crate::climb::Stopped;
use crate::instruction::unwritten;
use crate::pieces::{Expansion, Piece};
use rigel_device::{Device, Offer};
use rigel_ledger::Probe;
use rigel_ledger::rows::{CacheState, CellId, Identity, Outcome, Work};
use rigel_ledger::units::{Claim, OrderRecord, SCHEMA, UnitIdentity};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Order,
    summary: "the order in which each path adds, as a tree, and whether row 0 depends on the batch it rides in",
    pieces,
};

/// A cell for each offer that is here and each K, by the first launch tile of the offer.
fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let shapes = expansion.plan.order.clone().map(|axes| axes.shapes).unwrap_or_default();
    let of = |offer: &Offer| {
        let tile = expansion.device.tiles(&offer.path, offer.triple).into_iter().next().unwrap_or_default();
        let (path, triple, seed) = (offer.path.clone(), offer.triple, expansion.plan.seed);
        let cell = move |shape| Identity {
            probe: Probe::Order,
            work: Work::Product,
            path: path.clone(),
            triple,
            shape: Some(shape),
            tile: tile.clone(),
            recipe: None,
            seed,
            cache: CacheState::None,
        };
        shapes.clone().into_iter().map(move |shape| Piece::Instruction { cell: cell(shape) })
    };
    expansion.offers.iter().filter(|offer| offer.absent.is_empty()).flat_map(of).collect()
}

/// Recovers the tree of sums of a path's product and looks at row 0 of its batches.
///
/// # Errors
/// The product was refused or failed.
pub(crate) fn find(device: &mut dyn Device, cell: &Identity, ask: &mut dyn FnMut()) -> Result<OrderRecord, Stopped> {
    let shape = cell.shape.ok_or_else(|| Stopped::new(Outcome::Failed, "an order needs a shape"))?;
    if let Some(most) = device.own_arithmetic().filter(|&most| shape.m.max(shape.n).max(shape.k) > most) {
        let why = format!("a software device sums products beyond {most} by another arithmetic than the planted one");
        return Err(Stopped::new(Outcome::Absent, why));
    }
    if let Some(format) = [cell.triple.a, cell.triple.b].into_iter().find(|format| format.scale_groups().is_some()) {
        let why = format!(
            "elements of {format} share scales, so no single one can be made large; ask the type that they become"
        );
        return Err(Stopped::new(Outcome::Absent, why));
    }
    let mut gemm = GemmDots::new(device, &cell.path, cell.triple, shape.k, &cell.tile, ask);
    let found = match recover(&mut gemm, cell.seed) {
        Err(Unrecovered::Fault(fault)) => return Err(fault.into()),
        other => other,
    };
    let row_zero = row_zero(&mut gemm, shape.m, shape.n, cell.seed)?;
    let mut record = OrderRecord {
        schema: SCHEMA,
        cell: CellId::of(cell),
        origin: unwritten(),
        unit: UnitIdentity {
            name: cell.tile.clone(),
            path: cell.path.clone(),
            triple: cell.triple,
            shape,
            scales: None,
            source: "a product, by this launch tile".to_owned(),
        },
        claim: Claim::Exact,
        why: String::new(),
        words: String::new(),
        tree: None,
        by: gemm.asked_by(),
        dots: 0,
        seed: cell.seed,
        met: Vec::new(),
        row_zero,
    };
    match found {
        Ok(found) => {
            record.met = found.met.iter().map(|&size| size as u64).collect();
            (record.tree, record.dots) = (Some(found.tree), found.dots as u64);
        }
        Err(_) if cell.triple.is_integer() => {}
        Err(why) => (record.claim, record.why) = (Claim::Inexact, why.to_string()),
    }
    record.words = record.described();
    // Integers are taken as exact only where they are.
    if cell.triple.is_integer() && !record.sums_are_exact() {
        (record.claim, record.words) = (Claim::Inexact, String::new());
        record.why = "row 0 is not the exact sum of its integers".to_owned();
    }
    Ok(record)
}
