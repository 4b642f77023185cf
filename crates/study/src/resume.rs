//! What does a run that was begun already know of a block, and what of it must be measured again?
//!
//! Rows of cells that were left out (refused or killed in their pilot, or the culprit of a killed block) stand under the
//! block's name with `!` behind it, from the process in which they were left out to the last one. All other rows stand
//! under its name, or under `name~1`, `name~2`, … after it was measured again without a culprit.

use rigel_ledger::block_name::{self, base};
use rigel_ledger::rows::{CellRow, Identity};
use rigel_ledger::store::{RunWriter, StoreError};

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

/// The name under which a block goes on: that of its rows with the highest `~n`.
pub fn current(rows: &[CellRow], id: &str) -> String {
    let mine = rows.iter().map(|row| row.block.as_str()).filter(|block| base(block) == id);
    mine.max_by_key(|block| block_name::times_again(block)).unwrap_or(id).to_owned()
}
