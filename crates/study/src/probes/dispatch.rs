//! Probe `dispatch`: where does the operation run, by three signals that can each be blind?
//!
//! It reads the cells of the probe `throughput` (alone, it asks for the same ones) and, for the third signal, meters under
//! one ceiling loop of each path.

use super::{ProbeEntry, throughput};
use crate::pieces::{Expansion, Piece};
use rigel_ledger::rows::{Identity, Work};
use rigel_ledger::{Probe, block_name};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Dispatch,
    summary: "where it runs: ceiling against the scalar roofline, ratio to the older instruction, energy by rail",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let probes = &expansion.plan.probes;
    let all = throughput::pieces(expansion);
    let loads = loads(expansion, &all);
    let mut pieces = match (probes.contains(&Probe::Throughput), probes.contains(&Probe::Clocks)) {
        (true, _) => Vec::new(),
        (false, true) => all.into_iter().filter(|piece| piece.name() == block_name::CEILINGS).collect(),
        (false, false) => all,
    };
    if expansion.plan.sampling.meter_window_s > 0.0 && !loads.is_empty() {
        let window_s = expansion.plan.sampling.meter_window_s;
        pieces.push(Piece::Meters { cells: loads, window_s, energy: false });
    }
    pieces
}

/// Of every path the ceiling loop that is expected to compute most: its triple of the highest rate, at half of the
/// parallelism that is tried.
fn loads(expansion: &Expansion, pieces: &[Piece]) -> Vec<Identity> {
    let ceilings: Vec<&Identity> =
        pieces.iter().flat_map(Piece::cells).filter(|cell| cell.work == Work::Ceiling).collect();
    let mut paths: Vec<&str> = ceilings.iter().map(|cell| cell.path.as_str()).collect();
    paths.dedup();
    let load = |path: &str| {
        let offers = expansion.timed().into_iter().filter(|offer| offer.path == path && offer.has_ceiling);
        let fastest = offers.max_by(|a, b| a.rough_rate.total_cmp(&b.rough_rate))?;
        let variants: Vec<&&Identity> =
            ceilings.iter().filter(|cell| cell.path == path && cell.triple == fastest.triple).collect();
        variants.get(variants.len() / 2).map(|cell| (**cell).clone())
    };
    paths.into_iter().filter_map(load).collect()
}
