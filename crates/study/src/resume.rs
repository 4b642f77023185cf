//! What does a run that was begun already know of a block, and what of it must be measured again?
//!
//! Rows of cells that were left out (refused or killed in their pilot, or the culprit of a killed block) stand under the
//! block's name with `!` behind it, from the process in which they were left out to the last one. All other rows stand
//! under its name, or under `name~1`, `name~2`, … after it was measured again without a culprit.

use rigel_ledger::block_name::{self, base};
use rigel_ledger::rows::{CellRow, Identity};
use rigel_ledger::store::{RunWriter, StoreError};
use std::collections::HashMap;

/// Whether a row is one of a block cell. The launch tile of a product is open until its pilot chose it.
pub fn is_of(cell: &Identity, row: &CellRow) -> bool {
    let mut identity = row.identity();
    if cell.work.is_product() && cell.tile.is_empty() {
        identity.tile.clear();
    }
    identity == *cell
}

/// The first row that says that a cell was left out of a block.
pub fn left_out<'a>(rows: &'a [CellRow], id: &str, cell: &Identity) -> Option<&'a CellRow> {
    let name = block_name::left_out(id);
    rows.iter().filter(|row| row.block == name && is_of(cell, row)).min_by_key(|row| row.process)
}

/// The launch tile that a product of a block was measured with; `None` when it was not measured yet.
pub fn tile(rows: &[CellRow], id: &str, cell: &Identity) -> Option<String> {
    rows.iter().find(|row| base(&row.block) == id && is_of(cell, row)).map(|row| row.tile.clone())
}

/// Drops what a killed run left of a block's process that it did not finish: cells that are compared must be interleaved
/// in one process, so part of one is worth nothing. Rows of cells that were left out stay.
pub fn drop_partial(writer: &mut RunWriter, id: &str, cells: &[Identity], processes: u32) -> Result<(), StoreError> {
    for process in 0..processes {
        let rows = writer.cells();
        let measured = |row: &CellRow| base(&row.block) == id && row.process == process;
        let takes_part = |cell: &&Identity| left_out(rows, id, cell).is_none_or(|row| row.process > process);
        let there = |cell: &&Identity| rows.iter().any(|row| measured(row) && is_of(cell, row));
        let expected: Vec<&Identity> = cells.iter().filter(takes_part).collect();
        let found = expected.iter().filter(|cell| there(cell)).count();
        if found > 0 && found < expected.len() {
            writer.discard(measured)?;
        }
    }
    Ok(())
}

/// The name under which a block goes on: once more `again` for every culprit that was left out of it.
///
/// A culprit of a later process is known by its rows, which begin there. One of the first process cannot be told from a cell whose pilot
/// failed, but what was measured without it has the name; where nothing was, the block begins under its own.
pub fn current(rows: &[CellRow], id: &str) -> String {
    let mine = |row: &&CellRow| base(&row.block) == id;
    let again = |rows: &mut dyn Iterator<Item = &CellRow>| rows.map(|row| block_name::times_again(&row.block)).max();
    let at_first = again(&mut rows.iter().filter(mine).filter(|row| row.process == 0)).unwrap_or(0);
    let name = block_name::left_out(id);
    let mut first: HashMap<Identity, u32> = HashMap::new();
    for row in rows.iter().filter(|row| row.block == name) {
        let process = first.entry(row.identity()).or_insert(row.process);
        *process = row.process.min(*process);
    }
    let later = first.values().filter(|process| **process > 0).count() as u32;
    let written = again(&mut rows.iter().filter(mine)).unwrap_or(0);
    block_name::nth(id, written.max(at_first + later))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_ledger::rows::{CacheState, Probe, Work};
    use rigel_numerics::{Recipe, Shape};

    const ID: &str = "gemm/8x8x8/near-normal/warm";

    fn row(block: &str, path: &str, process: u32) -> CellRow {
        let identity = Identity {
            probe: Probe::Throughput,
            work: Work::Gemm,
            path: path.into(),
            triple: "f32,f32->f32".parse().unwrap(),
            shape: Some(Shape::cube(8)),
            tile: String::new(),
            recipe: Some(Recipe::NearNormal),
            seed: 1,
            cache: CacheState::Warm,
        };
        CellRow { block: block.into(), ..CellRow::blank(&identity, process) }
    }

    /// At every point at which an undisturbed run can be killed it goes on under the name that it had.
    #[test]
    fn a_killed_block_goes_on_under_the_name_it_had() {
        let (left_out, again) = (block_name::left_out(ID), |n| block_name::nth(ID, n));
        let mut rows = vec![row(&left_out, "pilot", 0), row(&left_out, "pilot", 1), row(&left_out, "pilot", 2)];
        assert_eq!(current(&rows, ID), ID);
        // Process 0 was measured again once, so another path died in it.
        rows.extend([
            row(&left_out, "first", 0),
            row(&left_out, "first", 1),
            row(&left_out, "first", 2),
            row(&again(1), "a", 0),
        ]);
        assert_eq!(current(&rows, ID), again(1));
        // In process 1 a path dies; the kill comes before anything is measured without it.
        rows.extend([row(&left_out, "second", 1), row(&left_out, "second", 2)]);
        assert_eq!(current(&rows, ID), again(2));
        rows.push(row(&again(2), "a", 1));
        assert_eq!(current(&rows, ID), again(2));
        rows.push(row(&left_out, "third", 2));
        assert_eq!(current(&rows, ID), again(3));
    }
}
