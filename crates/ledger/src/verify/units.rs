//! Do the records of units say what their own models, maps and rules give?

use super::report::{Check, CheckName, Failure};
use crate::provenance::RunKind;
use crate::store::Run;
use crate::units::{UnitRecord, files_of, flaws};
use rayon::prelude::*;

/// Checks every record; `None` for a run without any.
pub(super) fn check(run: &Run) -> Option<Check> {
    if run.units().is_empty() {
        return None;
    }
    let failures: Vec<Vec<Failure>> = run.units().par_iter().map(|record| failures(run, record)).collect();
    Some(Check::of(CheckName::Units, run.units().len(), failures.into_iter().flatten().collect()))
}

fn failures(run: &Run, record: &UnitRecord) -> Vec<Failure> {
    let row = run.cells().iter().find(|row| row.cell == record.cell());
    let path = row.and_then(|row| files_of(row).pop()).map(|name| run.dir().join(name)).unwrap_or_default();
    let mut flaws = flaws(record);
    let origin = record.origin();
    let provenance = row.and_then(|row| run.provenance().iter().find(|provenance| provenance.run == row.run));
    if let Some(provenance) = provenance {
        let word = |kind: RunKind| crate::rows::name_of(&kind);
        if provenance.kind != origin.kind {
            let (stated, run) = (word(origin.kind), word(provenance.kind));
            flaws.push(format!("origin.kind is `{stated}`; provenance says `{run}`"));
        }
        if provenance.device.toolchain != origin.toolchain {
            flaws.push("origin.toolchain is not that of provenance".to_owned());
        }
    }
    flaws.into_iter().map(|what| Failure::file(&path, what)).collect()
}
