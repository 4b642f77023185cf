//! What of an unsealed run is whole?
//!
//! A cell row is the commit record of its evidence: it was written last. After `kill -9` what lies behind the last cell
//! row is dropped. After a power cut the system may have kept a cell row and lost the end of its evidence; such a row is
//! torn as well. Evidence that differs anywhere but at the end of a file was changed, and that is an error.

use crate::rows::{CellId, CellRow, GateMethod, SampleRow, WitnessRow};
use crate::store::directory::{CELLS, SAMPLES, WITNESS};
use crate::store::error::{RowFault, StoreError};
use crate::store::evidence;
use crate::store::grouped::{GroupedRow, Key};
use crate::store::scan::{self, Expected, Scanned, Span};
use crate::units::files_of;
use std::collections::HashSet;
use std::path::Path;

/// A cell row whose evidence did not reach the disk whole: the cell counts as not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Cell.
    pub cell: CellId,
    /// Process.
    pub process: u32,
    /// Line of `cells.csv`.
    pub line: u64,
}

/// Which cell rows count, and where their evidence stands.
pub(crate) struct Survey {
    /// Indices of the rows that count.
    pub(crate) kept: Vec<usize>,
    /// Their samples and witness.
    pub(crate) spans: Vec<[Option<Span>; 2]>,
    pub(crate) torn: Vec<Torn>,
}

pub(crate) fn key(row: &CellRow) -> Key {
    Key { cell: row.cell, process: row.process }
}

/// Compares the cell rows of an unsealed run with their evidence.
pub(crate) fn survey(dir: &Path, cells: &[CellRow], places: &[Span]) -> Result<Survey, StoreError> {
    let cells_path = dir.join(CELLS);
    let mut keys = HashSet::with_capacity(cells.len());
    for (row, place) in cells.iter().zip(places) {
        if !keys.insert(key(row)) {
            return Err(StoreError::row(&cells_path, place.line, RowFault::Duplicate));
        }
    }
    let (samples, witness) = (dir.join(SAMPLES), dir.join(WITNESS));
    let scanned = [look::<SampleRow>(&samples, &keys)?, look::<WitnessRow>(&witness, &keys)?];
    let spans_of = |row: &CellRow| [0, 1].map(|file: usize| scanned[file].groups.get(&key(row)).copied());
    let found = evidence::digests(dir, cells.iter().map(|row| (spans_of(row), files_of(row))))?;
    let last_with_lines = [0, 1].map(|file: usize| cells.iter().rposition(|row| spans_of(row)[file].is_some()));
    let mut survey = Survey { kept: Vec::new(), spans: Vec::new(), torn: Vec::new() };
    for (i, row) in cells.iter().enumerate() {
        let spans = spans_of(row);
        if found[i].to_hex().as_str() == row.evidence {
            survey.kept.push(i);
            survey.spans.push(spans);
            continue;
        }
        // A file of its own is put there whole before the row, so only its loss can be an accident.
        let mut at_end = files_of(row).iter().any(|name| !dir.join(name).exists());
        for (file, path) in [&samples, &witness].into_iter().enumerate() {
            let scanned = &scanned[file];
            // Lines that are not there were lost only if the row speaks of some, and no row behind it has any.
            let can_be_torn = match spans[file] {
                Some(_) => scanned.last == Some(key(row)),
                None => speaks_of(row)[file] && last_with_lines[file] < Some(i),
            };
            if !can_be_torn || !files_of(row).is_empty() {
                continue;
            }
            match &scanned.fault {
                None | Some((_, RowFault::Torn | RowFault::TooLong { .. } | RowFault::Byte(0))) => at_end = true,
                Some((line, fault)) => return Err(StoreError::row(path, *line, fault.clone())),
            }
        }
        if !at_end {
            return Err(StoreError::row(&cells_path, places[i].line, RowFault::Evidence));
        }
        survey.torn.push(Torn { cell: row.cell, process: row.process, line: places[i].line });
    }
    Ok(survey)
}

/// Whether a row was written with lines of `samples.csv`, and of `witness.csv`.
fn speaks_of(row: &CellRow) -> [bool; 2] {
    let by_witness = matches!(row.gate, Some(GateMethod::Full | GateMethod::Sampled | GateMethod::Inherited));
    [row.repetitions.is_some_and(|count| count > 0), by_witness]
}

fn look<T: GroupedRow>(path: &Path, keys: &HashSet<Key>) -> Result<Scanned, StoreError> {
    scan::scan::<T>(path, Expected::Unsealed(keys), &mut |_| {})
}
