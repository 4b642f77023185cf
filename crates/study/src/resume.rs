//! What does a run that was begun already know, and what of it must be measured again?

use crate::units::same_but_tile;
use rigel_ledger::rows::{CellRow, Identity, Outcome, Work};
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
pub fn drop_partial(writer: &mut RunWriter, block: &str, cells: &[Identity], processes: u32) -> Result<(), StoreError> {
    let takes_part = |cell: &&Identity| known(writer.cells(), cell).is_none_or(|known| known.takes_part);
    let expected: Vec<Identity> = cells.iter().filter(takes_part).cloned().collect();
    for process in 0..processes {
        let mine = |row: &CellRow| {
            base(&row.block) == block
                && row.process == process
                && expected.iter().any(|cell| cell.tile == row.tile || same_but_tile(cell, row))
        };
        let there = expected.iter().filter(|cell| {
            let tiled = cell.work != Work::Gemm;
            let same = |row: &CellRow| if tiled { row.identity() == **cell } else { same_but_tile(cell, row) };
            writer.cells().iter().any(|row| row.process == process && same(row))
        });
        let there = there.count();
        if there > 0 && there < expected.len() {
            writer.discard(mine)?;
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
