//! Probe `dispatch`: where does the operation run, by three signals that can each be blind?
//!
//! It reads the cells of the probe `throughput`; alone, it asks for the same ones.

use super::{ProbeEntry, throughput};
use crate::units::{Expansion, Unit};
use rigel_ledger::Probe;

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Dispatch,
    summary: "where it runs: ceiling against the scalar roofline, ratio to the older instruction, energy by rail",
    units,
};

fn units(expansion: &Expansion) -> Vec<Unit> {
    let probes = &expansion.plan.probes;
    if probes.contains(&Probe::Throughput) {
        return Vec::new();
    }
    let all = throughput::units(expansion);
    if probes.contains(&Probe::Clocks) {
        return all.into_iter().filter(|unit| unit.name() == "ceilings").collect();
    }
    all
}
