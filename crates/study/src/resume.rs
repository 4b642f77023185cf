//! What does a run that was begun already know, and what of it must be measured again?

use crate::units::same_but_tile;
use rigel_ledger::rows::{CellRow, Identity, Outcome};
use rigel_ledger::store::{RunWriter, StoreError};

/// What earlier rows say of a block cell whose launch tile is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The tile it was measured with.
    pub tile: String,
    /// Whether it takes part in the remaining processes.
    pub takes_part: bool,
}

/// What earlier rows say of a cell; `None` when there are none. A cell that was measured at least once takes part.
pub fn known(rows: &[CellRow], cell: &Identity) -> Option<Known> {
    let mut mine = rows.iter().filter(|row| same_but_tile(cell, row)).peekable();
    let first = mine.peek()?;
    let tile = first.tile.clone();
    let left_out = |row: &CellRow| {
        matches!(row.outcome, Outcome::Crashed | Outcome::Hung) || (row.repetitions.is_none() && row.process == 0)
    };
    Some(Known { tile, takes_part: !mine.any(left_out) })
}

/// Drops what a killed run left of a block's process that it did not finish: cells that are compared must be interleaved
/// in one process, so part of one is worth nothing. Rows of cells that were left out stay.
pub fn drop_partial(
    writer: &mut RunWriter,
    block: &str,
    cells: &[Identity],
    processes: u32,
) -> Result<(), StoreError> {
    let mine = |row: &CellRow| base(&row.block) == block;
    for process in 0..processes {
        let there = writer.cells().iter().filter(|r| mine(r) && r.process == process).count();
        let measured = |r: &CellRow| mine(r) && r.process == process && r.repetitions.is_some();
        let any = writer.cells().iter().any(measured);
        let left_out = |cell: &Identity| {
            let rows = writer.cells();
            known(rows, cell).is_some_and(|k| !k.takes_part) && !rows.iter().any(|r| same_but_tile(cell, r) && r.process == process)
        };
        let expected = cells.iter().filter(|cell| !left_out(cell)).count();
        if any && there < expected {
            writer.discard(measured)?;
        }
    }
    Ok(())
}

/// The id of a block that is measured again without a culprit: `~1`, `~2`, … behind the block's id.
pub fn without(id: &str, current: &str) -> String {
    let again = current.strip_prefix(id).and_then(|r| r.strip_prefix('~')).and_then(|n| n.parse::<u32>().ok());
    format!("{id}~{}", again.unwrap_or(0) + 1)
}

/// A block id without its `~n`.
pub fn base(block: &str) -> &str {
    block.rsplit_once('~').map_or(block, |(base, _)| base)
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
    }
}
