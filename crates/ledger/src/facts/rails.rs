//! Which power rails moved, under a known load and under a path?

use super::Evidence;
use crate::rows::{CellId, PowerRow, Work};
use crate::verdict::{Coverage, Rail};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A rail moved when its power under load is at least this many times its power at idle.
pub const MOVED: f64 = 1.2;

/// The rails as they stand for a path; the reason when there is none.
///
/// The known load is baseline A: scalar code runs on the shader cores (on a CPU, its cores) for certain. A meter row does
/// not say what the meter covers, so every rail is taken to cover both places; it can be blind or move, and no more.
pub(super) fn of(path: &str, evidence: &Evidence<'_>) -> Result<Vec<Rail>, String> {
    // A clock is no rail.
    let is_rail = |row: &&PowerRow| matches!(row.unit.as_str(), "J" | "W");
    if !evidence.power.iter().any(|row| is_rail(&row)) {
        let missing = evidence.provenance.iter().flat_map(|record| &record.device.missing_meters);
        let failed = evidence.cells.iter().filter(|row| row.work == Work::Meter);
        let mut reasons: Vec<String> = missing
            .map(|meter| format!("{}: {}", meter.name, meter.reason))
            .chain(failed.map(|row| format!("{}: {}", row.tile, row.reason)))
            .collect();
        reasons.sort();
        reasons.dedup();
        return Err(if reasons.is_empty() {
            "no meter of energy or power was read".to_owned()
        } else {
            reasons.join("; ")
        });
    }
    let known = evidence.plan.baselines.a.as_str();
    let cells_of = |path: &str| -> HashSet<String> {
        let cells = evidence.cells.iter().filter(|row| !path.is_empty() && row.path == path && row.outcome.counts());
        cells.map(|row| row.cell).collect::<HashSet<CellId>>().iter().map(CellId::to_string).collect()
    };
    let (known_cells, path_cells) = (cells_of(known), cells_of(path));
    let mut meters: BTreeMap<&str, Vec<&PowerRow>> = BTreeMap::new();
    for row in evidence.power.iter().filter(is_rail) {
        meters.entry(&row.meter).or_default().push(row);
    }
    let rails = meters.into_iter().map(|(name, mut rows)| {
        rows.sort_by(|a, b| a.time_ns.cmp(&b.time_ns).then_with(|| a.value.total_cmp(&b.value)));
        let idle = power(&rows, |phase| phase == "idle");
        let moved = |cells: &HashSet<String>| {
            let (idle, load) = (idle?, power(&rows, |phase| cells.contains(phase))?);
            Some(load > 0.0 && load >= MOVED * idle)
        };
        Rail {
            name: name.to_owned(),
            coverage: Coverage::Both,
            moved_by_known_load: moved(&known_cells),
            moved_by_path: moved(&path_cells),
        }
    });
    Ok(rails.collect())
}

/// What one meter read in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct PhasePower {
    /// Meter.
    pub meter: String,
    /// `idle`, or the id of the cell that was the load.
    pub phase: String,
    /// Mean power, W; `None` where the meter's counter stood still throughout the window: it reads nothing, which is not 0 W.
    pub watts: Option<f64>,
}

/// Mean power of every meter of energy or power in every window, meters by name, `idle` first and then in the order taken.
pub fn phase_powers(rows: &[PowerRow]) -> Vec<PhasePower> {
    let mut meters: BTreeMap<&str, Vec<&PowerRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| matches!(row.unit.as_str(), "J" | "W")) {
        meters.entry(&row.meter).or_default().push(row);
    }
    let mut all = Vec::new();
    for (meter, mut rows) in meters {
        rows.sort_by(|a, b| a.time_ns.cmp(&b.time_ns).then_with(|| a.value.total_cmp(&b.value)));
        let mut phases: Vec<&str> = Vec::new();
        for row in &rows {
            if !phases.contains(&row.phase.as_str()) {
                phases.push(&row.phase);
            }
        }
        phases.sort_by_key(|phase| *phase != "idle");
        // A counter that does not move counts nothing; a power may well stand still.
        let counts = rows.iter().all(|row| row.unit == "J");
        for phase in phases {
            let watts = power(&rows, |of| of == phase).filter(|watts| !counts || *watts > 0.0);
            all.push(PhasePower { meter: meter.to_owned(), phase: phase.to_owned(), watts });
        }
    }
    all
}

/// Mean power in W over the phases that `wanted` names: for a counter in J, energy over time between neighbouring
/// readings of one phase; for a reading in W, the mean. `None` without a reading, or for another unit.
fn power(rows: &[&PowerRow], wanted: impl Fn(&str) -> bool) -> Option<f64> {
    let unit = rows.first()?.unit.as_str();
    let mut cache: HashMap<&str, bool> = HashMap::new();
    let mut is_wanted = |phase| *cache.entry(phase).or_insert_with(|| wanted(phase));
    match unit {
        "W" => {
            let values: Vec<f64> = rows.iter().filter(|row| is_wanted(&row.phase)).map(|row| row.value).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        }
        "J" => {
            let (mut joules, mut seconds) = (0.0, 0.0);
            for two in rows.windows(2) {
                if two[0].phase == two[1].phase && is_wanted(&two[1].phase) {
                    joules += (two[1].value - two[0].value).max(0.0);
                    seconds += two[1].time_ns.seconds() - two[0].time_ns.seconds();
                }
            }
            (seconds > 0.0).then(|| joules / seconds)
        }
        _ => None,
    }
}
