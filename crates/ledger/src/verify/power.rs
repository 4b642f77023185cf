//! Do the readings of meters stand in their order, each once, under a phase that the run knows?

use super::report::{Check, CheckName, Failure};
use crate::facts::power::{IDLE, PERIOD};
use crate::parts::missing_parts;
use crate::rows::{CellId, CellRow, PowerRow, Work};
use crate::store::{POWER, Run};
use std::cmp::Ordering;
use std::collections::HashSet;

/// The unit of counters of energy.
const COUNTER: &str = "J";

/// What speaks against a reading behind another one in the file.
fn faults(before: &PowerRow, reading: &PowerRow) -> Vec<String> {
    let mut faults = Vec::new();
    let key = |reading: &PowerRow| (reading.meter.clone(), reading.time_ns);
    match key(before).cmp(&key(reading)) {
        Ordering::Equal => {
            faults.push("a duplicate: the meter has a reading of this time on the line above".to_owned())
        }
        Ordering::Greater => faults.push("stands before the row above in order of meter and time".to_owned()),
        Ordering::Less => {}
    }
    if before.meter != reading.meter {
        return faults;
    }
    if before.unit != reading.unit {
        faults.push(format!("unit is `{}`; the meter's reading above has `{}`", reading.unit, before.unit));
    }
    if before.unit == COUNTER && before.value > reading.value {
        let (above, value) = (before.value, reading.value);
        faults.push(format!("value is {value:?} J after {above:?} J: a counter of energy never falls"));
    }
    faults
}

/// The first reason why a run with these readings, in any order, could not be verified: a meter that tells one time twice, changes its
/// unit, or is a counter that falls.
pub fn readings_fault(readings: &[PowerRow]) -> Option<String> {
    let mut sorted: Vec<&PowerRow> = readings.iter().collect();
    sorted.sort_by_key(|reading| (&reading.meter, reading.time_ns));
    sorted.windows(2).find_map(|pair| {
        let fault = faults(pair[0], pair[1]).into_iter().next()?;
        Some(format!("{} at {} ns: {fault}", pair[1].meter, pair[1].time_ns.0))
    })
}

pub(super) fn check(run: &Run) -> Check {
    let path = run.dir().join(POWER);
    let load = |row: &&CellRow| row.work == Work::Ceiling || row.work.is_product();
    let loads: HashSet<String> = run.cells().iter().filter(load).map(|row| row.cell.to_string()).collect();
    // Meters and loops can be in different shards.
    let whole = missing_parts(run.provenance()).is_none();
    let mut failures = Vec::new();
    let mut before: Option<&PowerRow> = None;
    for (i, reading) in run.power().iter().enumerate() {
        let mut say = |what: String| failures.push(Failure::line(&path, i as u64 + 2, what));
        if let Some(before) = before {
            faults(before, reading).into_iter().for_each(&mut say);
        }
        before = Some(reading);
        let known = [IDLE, PERIOD].contains(&reading.phase.as_str()) || loads.contains(&reading.phase);
        if !known && (whole || reading.phase.parse::<CellId>().is_err()) {
            say(format!(
                "phase is `{}`: `{IDLE}`, `{PERIOD}`, or the cell of a loop or product that has a row in cells.csv",
                reading.phase
            ));
        }
    }
    Check::of(CheckName::Power, run.power().len(), failures)
}
