//! What is wrong with the names under which blocks were measured again?

use crate::asked_key::Key;
use crate::block_name::{self, LEFT_OUT};
use crate::rows::{CellRow, Outcome, Work};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What is wrong with the names under which blocks were measured again: of each the index of a row and why.
///
/// All of a process of a block stands under one name, the number in it never falls from one process to the next, and
/// each step has its culprit: a cell that was left out because its process died.
pub(crate) fn repeated(cells: &[CellRow]) -> Vec<(usize, String)> {
    let mut names: BTreeMap<(&str, u32), (usize, u32)> = BTreeMap::new();
    let mut culprits: HashMap<&str, BTreeSet<Key<'_>>> = HashMap::new();
    let mut faults = Vec::new();
    let compared = |row: &CellRow| row.work.is_product() || row.work == Work::Ceiling;
    for (i, row) in cells.iter().enumerate().filter(|(_, row)| compared(row)) {
        if let Some(block) = row.block.strip_suffix(LEFT_OUT) {
            if row.repetitions.is_some() {
                faults.push((i, format!("block is `{}`, where no cell has repetitions", row.block)));
            }
            let died = [Outcome::Crashed, Outcome::Hung, Outcome::OutOfMemory, Outcome::DeviceLost, Outcome::Failed];
            if died.contains(&row.outcome) {
                culprits.entry(block).or_default().insert(Key::of(row));
            }
            continue;
        }
        let (block, times) = (block_name::base(&row.block), block_name::times_again(&row.block));
        let (_, known) = *names.entry((block, row.process)).or_insert((i, times));
        if known != times {
            let what = format!("block is `{}`; other rows of its process stand under number {known}", row.block);
            faults.push((i, what));
        }
    }
    let mut before: HashMap<&str, u32> = HashMap::new();
    for ((block, process), (i, times)) in names {
        let known = culprits.get(block).map_or(0, BTreeSet::len) as u64;
        let last = before.insert(block, times).unwrap_or(0);
        if times < last || u64::from(times) > known {
            let what = format!(
                "block is `{}` in process {process}, after number {last} and with {known} cells left out that died",
                cells[i].block
            );
            faults.push((i, what));
        }
    }
    faults
}
