//! Do the summary columns of each cell row follow from its samples?

use super::differences;
use super::report::{Check, CheckName, Failure};
use crate::rows::{CellRow, Work};
use crate::store::{CELLS, Run, Samples};
use rayon::prelude::*;
use rigel_numerics::Megahertz;

pub(super) fn check(run: &Run, samples: &Samples) -> Check {
    let path = run.dir().join(CELLS);
    let failures = run.cells().par_iter().enumerate().filter_map(|(i, row)| {
        let derived = derived(row, samples, run.plan().sampling.bootstrap_resamples);
        (derived != *row).then(|| Failure::line(&path, run.line(i), differences::columns(row, &derived)))
    });
    Check::of(CheckName::Statistics, run.cells().len(), failures.collect())
}

/// The row with its summary columns taken from the samples alone.
fn derived(row: &CellRow, samples: &Samples, resamples: u32) -> CellRow {
    let mut derived = row.clone();
    derived.operations = match (row.work, row.shape) {
        (work, Some(shape)) if work.is_product() && row.repetitions.is_some() => Some(shape.operations()),
        (Work::Ceiling, _) if row.repetitions.is_some() => row.operations,
        _ => None,
    };
    let Some(rows) = samples.of(row.cell, row.process) else {
        derived.repetitions = None;
        derived.warmup = None;
        derived.stop = None;
        derived.median_ns = None;
        (derived.ci_low_ns, derived.ci_high_ns) = (None, None);
        (derived.bootstrap_low_ns, derived.bootstrap_high_ns) = (None, None);
        (derived.autocorrelation, derived.effective_n, derived.clock_mhz) = (None, None, None);
        derived.modes.clear();
        return derived;
    };
    let clocks: Vec<Option<Megahertz>> = rows.each_clock().collect();
    derived.summarise(rows.times, &clocks, resamples);
    derived
}
