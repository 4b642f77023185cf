//! Which facts follow from the cells and samples of a run?
//!
//! | name | subject | value, unit, interval |
//! | --- | --- | --- |
//! | `rung.advertised` `rung.compiles` `rung.loads` `rung.runs` `rung.right` `rung.faster` | path, triple | `yes`, `no` or `not tried`; the reason in words |
//! | `ceiling` | path, triple | rate of the accepted ceiling loop, `op/s` |
//! | `ceiling.per_clock` | path, triple | the same per core-clock cycle over all cores, `op/cycle` |
//! | `ceiling.plateau` | path, triple | `yes` or `no`: whether neighbours in parallelism agree |
//! | `ceiling.of_stated` | path, triple | measured ÷ stated limit |
//! | `rate` | path, triple, shape, recipe, cache | operations per second of the best launch tile, `op/s` |
//! | `rate.per_clock` | the same | `op/cycle` |
//! | `rate.of_ceiling` | the same | share of the path's own ceiling |
//! | `modes` | the same | `1`, `2`, … or `tail K of N`; the modes in words |
//! | `ratio.match_path` | the same | rate ÷ match on the same path, interval over processes |
//! | `ratio.match_device` | the same | rate ÷ match on the device's fastest path |
//! | `ratio.baseline_b` `ratio.baseline_c` `ratio.baseline_d` | the same | rate ÷ baseline |
//! | `ratio.ceiling_match` | path, triple | ceiling ÷ the match's ceiling |
//! | `verdict.acceleration` | path, triple | `accelerated`, `same rate`, `slower`, `faster`, `not accelerated`, `emulated`, `undecided`, `undecided: clock states`, … |
//! | `verdict.win` | path, triple | `win over B, C`, `no win`, `undecided` |
//! | `signal.ceiling` `signal.shootout` `signal.energy` | path | what each of the three signals says, and what it could not see |
//! | `verdict.where` | path | `shader cores`, `dedicated unit`, `undetermined`, with `k of 3 signals` |

use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::rows::{CellId, CellRow, FactRow};
use rigel_numerics::{Megahertz, Time};

/// Where the repetitions of a cell are read from: the store in `verify`, memory in a run.
///
/// Both calls answer for one cell in one process, in the order in which the repetitions were taken, warm-up included.
pub trait SampleSource: Sync {
    /// Device times; `None` where the cell has no repetitions in that process.
    fn times(&self, cell: CellId, process: u32) -> Option<&[Time]>;
    /// Core clocks around the same repetitions, as many as there are times; `None` unless every repetition has one.
    fn clocks(&self, cell: CellId, process: u32) -> Option<&[Megahertz]>;
}

/// Everything that facts are derived from. Rows may come in any order.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// Where and with what: one record, or several after `merge`.
    pub provenance: &'a [Provenance],
    /// Every cell row of every process.
    pub cells: &'a [CellRow],
    /// The repetitions behind them.
    pub samples: &'a dyn SampleSource,
}

/// Every fact that follows from the evidence, sorted by (probe, path, triple, shape, recipe, cache, name).
///
/// Pure and deterministic: equal evidence gives equal rows, bit for bit, in whatever order the cell rows come.
pub fn derive(evidence: &Evidence<'_>) -> Vec<FactRow> {
    let _ = evidence;
    Vec::new()
}
