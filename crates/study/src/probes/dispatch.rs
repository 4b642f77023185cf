//! Probe `dispatch`: where does the operation run, by three signals that can each be blind?
//!
//! It reads the cells of the probe `throughput` (alone, it asks for the same ones) and, for the third signal, meters under
//! one ceiling loop of each path.

use super::{ProbeEntry, throughput};
use crate::units::{Expansion, Unit};
use rigel_ledger::Probe;
use rigel_ledger::rows::{Identity, Work};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Dispatch,
    summary: "where it runs: ceiling against the scalar roofline, ratio to the older instruction, energy by rail",
    units,
};

fn units(expansion: &Expansion) -> Vec<Unit> {
    let probes = &expansion.plan.probes;
    let all = throughput::units(expansion);
    let loads = loads(expansion, &all);
    let mut units = match (probes.contains(&Probe::Throughput), probes.contains(&Probe::Clocks)) {
        (true, _) => Vec::new(),
        (false, true) => all.into_iter().filter(|unit| unit.name() == "ceilings").collect(),
        (false, false) => all,
    };
    if expansion.plan.sampling.meter_window_s > 0.0 && !loads.is_empty() {
        units.push(Unit::Meters { cells: loads });
    }
    units
}

/// Of every path the ceiling loop that is expected to compute most: its triple of the highest rate, at half of the
/// parallelism that is tried.
fn loads(expansion: &Expansion, units: &[Unit]) -> Vec<Identity> {
    let ceilings: Vec<&Identity> =
        units.iter().flat_map(Unit::cells).filter(|cell| cell.work == Work::Ceiling).collect();
    let mut paths: Vec<&str> = ceilings.iter().map(|cell| cell.path.as_str()).collect();
    paths.dedup();
    let load = |path: &str| {
        let offers = expansion.present().filter(|offer| offer.path == path && offer.has_ceiling);
        let fastest = offers.max_by(|a, b| a.rough_rate.total_cmp(&b.rough_rate))?;
        let variants: Vec<&&Identity> =
            ceilings.iter().filter(|cell| cell.path == path && cell.triple == fastest.triple).collect();
        variants.get(variants.len() / 2).map(|cell| (**cell).clone())
    };
    paths.into_iter().filter_map(load).collect()
}
