//! Do the readings of meters stand in their order, each once, under a phase that the run knows?

use super::report::{Check, CheckName, Failure};
use crate::facts::power::{IDLE, PERIOD};
use crate::parts::missing_parts;
use crate::rows::{CellId, CellRow, PowerRow, Work};
use crate::store::{POWER, Run};
use std::collections::HashSet;

/// The unit of counters of energy.
const COUNTER: &str = "J";

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
        let key = |reading: &PowerRow| (reading.meter.clone(), reading.time_ns);
        match before.map(|before| key(before).cmp(&key(reading))) {
            Some(std::cmp::Ordering::Equal) => {
                say("a duplicate: the meter has a reading of this time on the line above".to_owned());
            }
            Some(std::cmp::Ordering::Greater) => {
                say("stands before the row above in order of meter and time".to_owned())
            }
            _ => {}
        }
        let same = before.filter(|before| before.meter == reading.meter);
        if let Some(unit) = same.map(|before| &before.unit).filter(|unit| **unit != reading.unit) {
            say(format!("unit is `{}`; the meter's reading above has `{unit}`", reading.unit));
        }
        if let Some(above) = same.filter(|above| above.unit == COUNTER && above.value > reading.value) {
            say(format!("value is {:?} J after {:?} J: a counter of energy never falls", reading.value, above.value));
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
