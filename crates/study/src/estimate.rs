//! How many rows, bytes and minutes will a plan take, roughly, before anything runs?

use crate::sampling::Share;
use crate::units::{Expansion, Unit};
use rigel_ledger::rows::{Identity, Work};
use rigel_numerics::Time;

/// Device time of one ceiling repetition that estimates assume.
const CEILING_REPETITION_S: f64 = 1e-3;
/// Starting a worker and opening a device.
const PROCESS_S: f64 = 0.03;
/// Bytes of one line of each file.
const CELL_BYTES: u64 = 420;
const SAMPLE_BYTES: u64 = 32;
const WITNESS_BYTES: u64 = 32;
/// Witness elements of a product.
const WITNESS: u64 = 24;
/// Terms that the float64 reference takes a second, both sums together, on one core.
const REFERENCE_TERMS_PER_CORE_S: f64 = 1e10;

/// A rough forecast. Device rates are the backend's own guesses; the figures are for planning, never reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Cell rows.
    pub rows: usize,
    /// Repetitions at most.
    pub samples: u64,
    /// Bytes of the run directory.
    pub bytes: u64,
    /// Seconds on an otherwise idle machine.
    pub seconds: f64,
}

/// Forecasts units of an expansion.
pub fn estimate(expansion: &Expansion, units: &[Unit]) -> Estimate {
    let sampling = &expansion.plan.sampling;
    let share = Share::of(sampling);
    let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    let mut total = Estimate { rows: 0, samples: 0, bytes: 0, seconds: 0.0 };
    for unit in units {
        total.rows += unit.rows(sampling.processes);
        match unit {
            Unit::Absent { .. } => {}
            Unit::Climb { cells } => {
                total.seconds += PROCESS_S;
                total.bytes += cells.len() as u64 * WITNESS * WITNESS_BYTES;
                total.seconds += cells.iter().map(|c| repetition(expansion, c) + reference(c, cores)).sum::<f64>();
            }
            Unit::Block { cells, .. } => {
                let mut references = std::collections::HashSet::new();
                for cell in cells {
                    let each = repetition(expansion, cell);
                    let n = repetitions(&share, each);
                    total.samples += n * u64::from(sampling.processes);
                    total.seconds += f64::from(sampling.processes) * each * (n as f64 + n as f64 / share.burst as f64);
                    if cell.work == Work::Gemm {
                        let tiles = expansion.device.tiles(&cell.path, cell.triple).len() as f64;
                        total.seconds +=
                            PROCESS_S + each * f64::from(sampling.pilot + 1) * tiles + reference(cell, cores);
                        total.bytes += u64::from(sampling.processes) * WITNESS * WITNESS_BYTES;
                        if references.insert((cell.triple, cell.recipe)) {
                            total.seconds += f64::from(sampling.processes) * reference(cell, cores);
                        }
                    }
                }
                total.seconds += f64::from(sampling.processes) * PROCESS_S;
            }
        }
    }
    total.bytes += total.rows as u64 * CELL_BYTES + total.samples * SAMPLE_BYTES;
    total
}

fn repetition(expansion: &Expansion, cell: &Identity) -> f64 {
    let Some(shape) = cell.shape else { return CEILING_REPETITION_S };
    let offer = expansion.offers.iter().find(|o| o.path == cell.path && o.triple == cell.triple);
    let rate = offer.map_or(1e9, |o| o.rough_rate).max(1.0);
    shape.operations() as f64 / rate
}

fn reference(cell: &Identity, cores: f64) -> f64 {
    cell.shape.map_or(0.0, |s| s.operations() as f64 / 2.0 / (REFERENCE_TERMS_PER_CORE_S * cores))
}

fn repetitions(share: &Share, each: f64) -> u64 {
    let affordable = share.budget.0 / Time::from_seconds(each).0.max(1);
    affordable.clamp(share.minimum as u64, share.target as u64)
}
