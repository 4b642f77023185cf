//! What does a run that was begun already know of a block, and what of it must be measured again?
//!
//! Rows of cells that were left out (refused or killed in their pilot, or the culprit of a killed block) stand under the
//! block's name with `!` behind it, from the process in which they were left out to the last one. All other rows stand
//! under its name, or under `name~1`, `name~2`, … after it was measured again without a culprit.

use rigel_ledger::rows::{CellRow, Identity};
use rigel_ledger::store::{RunWriter, StoreError};

/// The name under which left-out cells of a block have their rows.
pub fn left_out_block(id: &str) -> String {
    format!("{id}!")
}

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
    let name = left_out_block(id);
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
    let number = |block: &str| block.rsplit_once('~').and_then(|(_, n)| n.parse::<u32>().ok()).unwrap_or(0);
    let mine = rows.iter().map(|row| row.block.as_str()).filter(|block| base(block) == id);
    mine.max_by_key(|block| number(block)).unwrap_or(id).to_owned()
}

/// The id of a block that is measured again without a culprit: `~1`, `~2`, … behind the block's id.
pub fn without(id: &str, current: &str) -> String {
    let again = current.strip_prefix(id).and_then(|r| r.strip_prefix('~')).and_then(|n| n.parse::<u32>().ok());
    format!("{id}~{}", again.unwrap_or(0) + 1)
}

/// A block id without its `~n`; one of left-out cells keeps its `!` and so is no block's.
pub fn base(block: &str) -> &str {
    match block.rsplit_once('~') {
        Some((base, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_blocks_are_numbered_and_keep_their_base() {
        let first = without("gemm/64x64x64", "gemm/64x64x64");
        assert_eq!(first, "gemm/64x64x64~1");
        assert_eq!(without("gemm/64x64x64", &first), "gemm/64x64x64~2");
        assert_eq!(base("gemm/64x64x64~2"), "gemm/64x64x64");
        assert_eq!(base("ceilings"), "ceilings");
        assert_eq!(base(&left_out_block("ceilings")), "ceilings!");
    }
}
