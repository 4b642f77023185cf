//! Are the witness elements of a product those that the seed prescribes, and the worst one?

use crate::gate::places::{most_others, of_row};
use crate::rows::{CellRow, GateMethod, WitnessRow, name_of};
use std::collections::BTreeSet;

/// By how much the worst element may seem better than a prescribed one: the gate found it by the float64 reference, which is
/// good to 2^-37 of Σ|a||b|.
const REFERENCE: f64 = 1.0 / (1u64 << 36) as f64;

/// The prescribed elements of a row's witness.
pub(super) struct Places(BTreeSet<(usize, usize)>);

impl Places {
    pub(super) fn of(row: &CellRow) -> Places {
        Places(of_row(row))
    }

    /// Whether the seed prescribes an element.
    pub(super) fn prescribes(&self, element: &WitnessRow) -> bool {
        self.0.contains(&(element.row as usize, element.column as usize))
    }

    /// What keeps a witness from being the one that the seed prescribes, if anything does.
    pub(super) fn fault(&self, witness: &[WitnessRow], whole: bool) -> Option<String> {
        let there: BTreeSet<(usize, usize)> =
            witness.iter().map(|element| (element.row as usize, element.column as usize)).collect();
        if let Some((row, column)) = self.0.difference(&there).next() {
            return Some(format!("witness.csv lacks element ({row}, {column}) of it, which the seed prescribes"));
        }
        let others: Vec<_> = there.difference(&self.0).collect();
        let most = most_others(whole);
        let (row, column) = others.first().filter(|_| others.len() > most)?;
        Some(format!(
            "witness.csv holds element ({row}, {column}) of it and {} more besides those that the seed prescribes; the gate \
             looks at {most} at most",
            others.len() - 1
        ))
    }
}

/// Whether the only element besides the prescribed ones is the worst, as that of a full check is.
pub(super) fn is_worst(other: f64, prescribed: f64) -> bool {
    other >= 0.999 * prescribed - REFERENCE
}

/// Whether the plan's limit has every element of a product checked.
pub(super) fn is_whole(row: &CellRow, full_check: u64) -> bool {
    row.shape.is_some_and(|shape| shape.operations() / 2 <= full_check)
}

/// What keeps a row's gate from being the one that the plan's limit and its shape prescribe.
pub(super) fn method_fault(row: &CellRow, full_check: u64) -> Option<String> {
    let whole = is_whole(row, full_check);
    let method = row.gate.filter(|gate| match gate {
        GateMethod::Full => !whole,
        GateMethod::Sampled => whole,
        GateMethod::Inherited | GateMethod::Accumulators => false,
    })?;
    let (terms, instead) =
        (row.shape.map_or(0, |shape| shape.operations() / 2), if whole { "full" } else { "sampled" });
    Some(format!("gate is `{}`; {terms} terms under full_check = {full_check} make it `{instead}`", name_of(&method)))
}

/// A sampled check alone states what it would have seen.
pub(super) fn visible_fault(row: &CellRow, full_check: u64) -> Option<String> {
    let sampled = matches!(row.gate, Some(GateMethod::Sampled | GateMethod::Inherited)) && !is_whole(row, full_check);
    row.gate_visible
        .filter(|_| !sampled)
        .map(|seen| format!("gate_visible is `{seen:?}`, which only a sampled check has"))
}
