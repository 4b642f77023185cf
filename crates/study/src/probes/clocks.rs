//! Probe `clocks`: in how many clock states does the device work, and does a median hide them?
//!
//! It reads the repetitions of the probe `throughput`; alone, it asks for the same products and no ceilings.

use super::{ProbeEntry, throughput};
use crate::pieces::{Expansion, Piece};
use rigel_ledger::{Probe, block_name};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry =
    ProbeEntry { probe: Probe::Clocks, summary: "clock states and modality of every timed cell", pieces };

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    if expansion.plan.probes.contains(&Probe::Throughput) {
        return Vec::new();
    }
    let all = throughput::pieces(expansion);
    all.into_iter().filter(|piece| piece.name() != block_name::CEILINGS).collect()
}
