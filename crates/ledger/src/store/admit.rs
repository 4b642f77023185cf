//! Which rows may a run hold, and as which lines?

use crate::provenance::Provenance;
use crate::rows::{CellId, CellRow, SampleRow, WitnessRow};
use crate::store::grouped::{GroupedRow, Key};
use crate::store::row_text::{self, TextRow};
use crate::store::survey;
use crate::units::files_of;

/// The lines of a cell for samples, witness and cells; fills in the row's evidence and makes its texts fit in a line.
/// The error says what no run may hold.
pub(crate) fn lines(
    row: &mut CellRow,
    samples: &[SampleRow],
    witness: &[WitnessRow],
    files: &[(String, Vec<u8>)],
    run: &Provenance,
) -> Result<[Vec<u8>; 3], String> {
    row.tame();
    check(row, samples.len(), run)?;
    let (needed, given) = (files_of(row), files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    if needed != given {
        return Err(format!("it needs the files [{}], given are [{}]", needed.join(", "), given.join(", ")));
    }
    let samples = sorted(survey::key(row), samples, |row| (row.index, 0))?;
    let witness = sorted(survey::key(row), witness, |row| (row.row, row.column))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&samples).update(&witness);
    for (_, bytes) in files {
        hasher.update(bytes);
    }
    row.evidence = hasher.finalize().to_hex().to_string();
    let mut line = Vec::new();
    row_text::write_line(row, &mut line).map_err(|fault| fault.to_string())?;
    let read: Result<CellRow, _> = row_text::read_line(&line[..line.len() - 1]);
    read.map_err(|fault| fault.to_string())?;
    Ok([samples, witness, line])
}

fn check(row: &CellRow, samples: usize, run: &Provenance) -> Result<(), String> {
    let axes = CellId::of(&row.identity());
    if axes != row.cell {
        return Err(format!("the axes of this row make cell {axes}"));
    }
    let origin = [
        ("run", &row.run, &run.run),
        ("device", &row.device, &run.device.id),
        ("driver", &row.driver, &run.device.driver),
    ];
    if let Some((name, found, stated)) = origin.into_iter().find(|(_, found, stated)| found != stated) {
        return Err(format!("{name} is `{found}`, run.json states `{stated}`"));
    }
    if row.repetitions.unwrap_or(0) as usize != samples {
        return Err(format!("repetitions is {:?}, given are {samples} samples", row.repetitions));
    }
    Ok(())
}

/// The lines of some rows of one key, sorted.
fn sorted<T: GroupedRow>(key: Key, rows: &[T], place: impl Fn(&T) -> (u32, u32)) -> Result<Vec<u8>, String> {
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(place);
    let mut bytes = Vec::with_capacity(48 * rows.len());
    let mut last = None;
    for row in &sorted {
        if row.key() != key {
            return Err(format!("a row of cell {}, process {} is among its own", row.key().cell, row.key().process));
        }
        row.follows(last).map_err(|fault| format!("its rows: {fault}"))?;
        let start = bytes.len();
        row.write(&mut bytes);
        T::parse(&bytes[start..bytes.len() - 1]).map_err(|fault| format!("its rows: {fault}"))?;
        last = Some(row);
    }
    Ok(bytes)
}
