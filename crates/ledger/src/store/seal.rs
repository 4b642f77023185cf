//! What is written last, when every cell has its row?

use crate::rows::{FactRow, PowerRow};
use crate::store::directory::{self, CELLS, FACTS, POWER, SAMPLES, WITNESS};
use crate::store::error::StoreError;
use crate::store::manifest::Manifest;
use crate::store::row_text::{self, TextRow};
use crate::store::text_file;
use std::path::Path;

/// Writes the meter readings of some runs sorted. Readings have no run and count their time from the opening of the meter, so
/// those of two runs could not be told apart and are refused, unless they are the same.
pub(crate) fn put_power(dir: &Path, sources: &[&Path]) -> Result<(), StoreError> {
    let mut readings: Vec<PowerRow> = Vec::new();
    let mut first = None;
    for source in sources {
        let found = text_file::read::<PowerRow>(&source.join(POWER), row_text::read_line, false)?.rows;
        if found.is_empty() {
            continue;
        }
        match first {
            None => (first, readings) = (Some(source), found),
            Some(first) if found != readings => {
                let (first, second) = (first.join(POWER), source.join(POWER));
                let why = "both hold meter readings, of which a run has one set; compare the runs instead".to_owned();
                return Err(StoreError::Merge { first, second, why });
            }
            Some(_) => {}
        }
    }
    let order =
        |row: &PowerRow| (row.meter.clone(), row.time_ns, row.phase.clone(), row.unit.clone(), row.value.to_bits());
    readings.sort_by_cached_key(order);
    put_rows(dir, POWER, &readings)
}

/// Writes the facts and MANIFEST; cells, samples and witness are in the manifest, and all else is there.
pub(crate) fn finish(dir: &Path, facts: &[FactRow], mut manifest: Manifest) -> Result<Manifest, StoreError> {
    put_rows(dir, FACTS, facts)?;
    for name in directory::list(dir)?.record {
        if ![CELLS, SAMPLES, WITNESS].contains(&name.as_str()) {
            manifest.add_file(dir, &name)?;
        }
    }
    manifest.write(dir)?;
    Ok(manifest)
}

fn put_rows<T: TextRow + Clone>(dir: &Path, name: &str, rows: &[T]) -> Result<(), StoreError> {
    let path = dir.join(name);
    let mut bytes = row_text::header::<T>().into_bytes();
    for (i, row) in rows.iter().enumerate() {
        let mut row = row.clone();
        row.tame();
        let start = bytes.len();
        let line = row_text::write_line(&row, &mut bytes);
        line.and_then(|()| row_text::read_line::<T>(&bytes[start..bytes.len() - 1]))
            .map_err(|fault| StoreError::row(&path, i as u64 + 2, fault))?;
    }
    directory::put_bytes(&path, &bytes)
}
