//! In which modes do the repetitions of a cell lie, over all its processes?

use super::SampleSource;
use super::cells::Cell;
use crate::statistics::{Kind, Modality, modality};
use rigel_numerics::{Megahertz, Time};

/// Repetitions that a process must have in a mode before its median speaks for the mode.
const LEAST: usize = 3;

/// A mode in one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shown {
    /// Operations per second of the median time in this mode.
    pub(super) rate: f64,
    /// Repetitions in it.
    pub(super) repetitions: usize,
}

/// One mode of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModeRates {
    /// Median core clock, MHz, where it was read.
    pub(super) clock: Option<f64>,
    /// By position of the process in [`Cell::timed`]; `None` where the process does not show it.
    pub(super) shown: Vec<Option<Shown>>,
}

/// The modes of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Modes {
    pub(super) modality: Modality,
    /// Modes that are no tail, when there are several; else empty.
    pub(super) several: Vec<ModeRates>,
}

impl Modes {
    /// The modes of all repetitions after each process's warm-up. `None` when there are no repetitions to look at.
    pub(super) fn of(cell: &Cell<'_>, samples: &dyn SampleSource) -> Option<Modes> {
        let mut times: Vec<Time> = Vec::new();
        let mut clocks: Vec<Option<Megahertz>> = Vec::new();
        let mut ends = Vec::with_capacity(cell.timed.len());
        for row in &cell.timed {
            let all = samples.times(row.cell, row.process).unwrap_or(&[]);
            let warm = (row.warmup.unwrap_or(0) as usize).min(all.len());
            times.extend_from_slice(&all[warm..]);
            match samples.clocks(row.cell, row.process).filter(|read| read.len() == all.len()) {
                Some(read) => clocks.extend(read[warm..].iter().copied().map(Some)),
                None => clocks.resize(times.len(), None),
            }
            ends.push(times.len());
        }
        if times.is_empty() {
            return None;
        }
        let modality = modality(&times, &clocks);
        let several = match modality.kind {
            Kind::Several => states(cell, &modality, &times, &clocks, &ends),
            Kind::One | Kind::Tail { .. } => Vec::new(),
        };
        Some(Modes { modality, several })
    }

    /// `1`, `2`, … or `tail K of N`.
    pub(super) fn value(&self) -> String {
        match self.modality.kind {
            Kind::One => "1".to_owned(),
            Kind::Several => self.modality.modes.len().to_string(),
            Kind::Tail { .. } => self.modality.kind.to_string(),
        }
    }
}

fn states(
    cell: &Cell<'_>,
    modality: &Modality,
    times: &[Time],
    clocks: &[Option<Megahertz>],
    ends: &[usize],
) -> Vec<ModeRates> {
    let modes = modality.modes.len();
    let mut shown: Vec<Vec<Option<Shown>>> = vec![Vec::with_capacity(ends.len()); modes];
    let mut start = 0;
    for (row, &end) in cell.timed.iter().zip(ends) {
        let mut of_mode: Vec<Vec<u64>> = vec![Vec::new(); modes];
        for (&time, &clock) in times[start..end].iter().zip(&clocks[start..end]) {
            if let Some(times) = modality.mode_of(time, clock).and_then(|mode| of_mode.get_mut(mode)) {
                times.push(time.0);
            }
        }
        for (shown, times) in shown.iter_mut().zip(&mut of_mode) {
            shown.push(in_mode(times, row.operations));
        }
        start = end;
    }
    let whole = |mode: &usize| modality.weight(*mode) >= Kind::TAIL_BELOW;
    (0..modes)
        .filter(whole)
        .map(|mode| ModeRates { clock: modality.modes[mode].clock_mhz, shown: std::mem::take(&mut shown[mode]) })
        .collect()
}

/// `None` below [`LEAST`] repetitions.
fn in_mode(picoseconds: &mut [u64], operations: Option<u64>) -> Option<Shown> {
    let repetitions = picoseconds.len();
    if repetitions < LEAST {
        return None;
    }
    let (below, &mut upper, _) = picoseconds.select_nth_unstable(repetitions / 2);
    let lower = below.iter().max().copied().filter(|_| repetitions.is_multiple_of(2)).unwrap_or(upper);
    let seconds = (lower as f64 + upper as f64) / 2.0 * 1e-12;
    let rate = operations.filter(|_| seconds > 0.0)? as f64 / seconds;
    Some(Shown { rate, repetitions })
}
