//! Do the summary columns of each cell row follow from its samples?

use super::differences;
use super::report::{Check, CheckName, Failure};
use crate::plan::Sampling;
use crate::rows::{CellId, CellRow, Work};
use crate::share::Share;
use crate::store::{CELLS, Run, Samples};
use rayon::prelude::*;
use rigel_numerics::Megahertz;
use std::collections::HashMap;

pub(super) fn check(run: &Run, samples: &Samples) -> Check {
    let path = run.dir().join(CELLS);
    let mut loops: HashMap<CellId, u64> = HashMap::new();
    for row in run.cells().iter().filter(|row| row.work == Work::Ceiling) {
        if let Some(operations) = row.operations {
            loops.entry(row.cell).or_insert(operations);
        }
    }
    let failures = run.cells().par_iter().enumerate().filter_map(|(i, row)| {
        let derived = derived(row, samples, &loops, &run.plan().sampling);
        (derived != *row).then(|| Failure::line(&path, run.line(i), differences::columns(row, &derived)))
    });
    Check::of(CheckName::Statistics, run.cells().len(), failures.collect())
}

/// The row with its summary columns taken from the samples alone. A loop does the same operations in every process.
fn derived(row: &CellRow, samples: &Samples, loops: &HashMap<CellId, u64>, sampling: &Sampling) -> CellRow {
    let mut derived = row.clone();
    derived.operations = match (row.work, row.shape) {
        (work, Some(shape)) if work.is_product() && row.repetitions.is_some() => {
            Some(work.calculation().operations(shape))
        }
        (Work::Ceiling, _) if row.repetitions.is_some() => loops.get(&row.cell).copied(),
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
    derived.stop = Share::of(sampling).enough(rows.times);
    derived.summarise(rows.times, &clocks, sampling.bootstrap_resamples);
    derived
}
