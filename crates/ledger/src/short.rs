//! How many of the rows that a plan asks for does a run lack, and in which blocks?

use std::collections::BTreeMap;

/// Rows that a plan asks for and a run lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Short {
    /// Rows that are asked for.
    pub(crate) asked: usize,
    /// Rows that are missing, by block.
    pub(crate) missing: BTreeMap<String, usize>,
}

/// Blocks that are named when rows of them are missing.
const NAMED: usize = 12;

impl Short {
    /// Rows that are missing.
    pub(crate) fn total(&self) -> usize {
        self.missing.values().sum()
    }

    /// What is missing, in words; none where nothing is.
    pub(crate) fn words(&self) -> Option<String> {
        let named: Vec<String> =
            self.missing.iter().take(NAMED).map(|(block, rows)| format!("{block}: {rows}")).collect();
        let more = if self.missing.len() > NAMED { ", …" } else { "" };
        let (total, asked) = (self.total(), self.asked);
        (total > 0).then(|| {
            format!("{total} of {asked} rows that the plan asks for are not here ({}{more})", named.join(", "))
        })
    }

    /// Of so many rows of a block that are asked for, so many are there.
    pub(crate) fn count(&mut self, block: String, asked: usize, there: usize) {
        self.asked += asked;
        if there < asked {
            *self.missing.entry(block).or_default() += asked - there;
        }
    }
}
