//! How does one measured cell compare with another, process by process?

use super::SampleSource;
use super::cells::Cell;
use super::modes::{ModeRates, Shown};
use crate::rows::{CellId, CellRow};
use crate::statistics::{Interval, ratio_interval_over_processes, ratio_median};
use crate::verdict::{Comparison, Ratio, StatePair, States};

/// Clocks closer than this, relative to the higher, are one clock state.
const SAME_CLOCK: f64 = 0.05;

/// A cell in one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point<'a> {
    pub(super) run: &'a str,
    pub(super) process: u32,
    pub(super) block: &'a str,
    /// Operations per second.
    pub(super) rate: f64,
    /// Operations per core-clock cycle, over all cores.
    pub(super) per_cycle: Option<f64>,
    /// Median core clock, MHz.
    pub(super) clock: Option<f64>,
}

/// A cell process by process, as [`Cell::timed`] orders them.
///
/// Cycles are the median of time × clock over repetitions after warm-up: a product of two medians would mix clock states.
pub(super) fn points<'a>(cell: &Cell<'a>, samples: &dyn SampleSource) -> Vec<Point<'a>> {
    let point = |row: &&'a CellRow| {
        let (operations, median_ns) = (row.operations? as f64, row.median_ns?);
        let clock = row.clock_mhz.filter(|clock| clock.is_finite() && *clock > 0.0);
        let per_cycle = clock.and_then(|_| cycles(row, samples)).map(|cycles| operations / cycles);
        let rate = operations / (median_ns * 1e-9);
        Some(Point { run: &row.run, process: row.process, block: &row.block, rate, per_cycle, clock })
    };
    cell.timed.iter().filter_map(point).collect()
}

/// Median core-clock cycles of a repetition after warm-up, where every clock was read.
fn cycles(row: &CellRow, samples: &dyn SampleSource) -> Option<f64> {
    let (times, clocks) = (samples.times(row.cell, row.process)?, samples.clocks(row.cell, row.process)?);
    let warm = row.warmup.unwrap_or(0) as usize;
    // Picoseconds × megahertz are millionths of a cycle.
    let taken = times.iter().zip(clocks).skip(warm);
    let mut millionths: Vec<u128> = taken.map(|(time, clock)| u128::from(time.0) * u128::from(clock.0)).collect();
    if millionths.is_empty() {
        return None;
    }
    let (middle, even) = (millionths.len() / 2, millionths.len().is_multiple_of(2));
    let (below, &mut upper, _) = millionths.select_nth_unstable(middle);
    let lower = below.iter().max().copied().filter(|_| even).unwrap_or(upper);
    Some((lower + upper) as f64 / 2.0 * 1e-6).filter(|cycles| *cycles > 0.0)
}

/// One side of a comparison: a cell over its processes, sorted by (run, process).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Side<'a> {
    pub(super) points: Vec<Point<'a>>,
    /// Modes, at least two, by position of the process in `points`; empty for one mode.
    pub(super) modes: Vec<ModeRates>,
    /// Launch tiles of which this one is the fastest by these samples.
    pub(super) choices: usize,
    /// Cells that it rests on.
    pub(super) evidence: Vec<CellId>,
}

/// The median of positive numbers and its interval over processes.
pub(super) fn middle(values: &[f64]) -> Option<(f64, Option<Interval>)> {
    Some((ratio_median(values).ok()?, ratio_interval_over_processes(values).ok()))
}

impl Side<'_> {
    /// Operations per second: median over processes, and its interval.
    pub(super) fn rate(&self) -> Option<(f64, Option<Interval>)> {
        middle(&self.points.iter().map(|point| point.rate).collect::<Vec<_>>())
    }

    /// Operations per cycle, where every process read its clock.
    pub(super) fn per_cycle(&self) -> Option<(f64, Option<Interval>)> {
        middle(&self.points.iter().map(|point| point.per_cycle).collect::<Option<Vec<_>>>()?)
    }

    /// The share of a ceiling that this side reaches: per cycle where both clocks were read, since the two were measured
    /// apart, else per time.
    pub(super) fn share_of(&self, ceiling: &Side<'_>) -> Option<f64> {
        if let (Some((own, _)), Some((top, _))) = (self.per_cycle(), ceiling.per_cycle()) {
            return Some(own / top);
        }
        Some(self.rate()?.0 / ceiling.rate()?.0)
    }

    /// The smaller of the shares of a ceiling per time and, where both clocks were read, per cycle.
    pub(super) fn least_share_of(&self, ceiling: &Side<'_>) -> Option<f64> {
        let per_time = self.rate()?.0 / ceiling.rate()?.0;
        let per_cycle = self.per_cycle().zip(ceiling.per_cycle()).map(|((own, _), (top, _))| own / top);
        Some(per_cycle.map_or(per_time, |per_cycle| per_cycle.min(per_time)))
    }

    /// The states of this side: its modes, or itself as the only one, with the clock of each.
    fn states(&self) -> Vec<(Option<f64>, Vec<Option<Shown>>)> {
        if self.modes.is_empty() {
            let clocks: Option<Vec<f64>> = self.points.iter().map(|point| point.clock).collect();
            let clock = clocks.and_then(|clocks| ratio_median(&clocks).ok());
            let shown = |point: &Point<'_>| Some(Shown { rate: point.rate, repetitions: usize::MAX });
            return vec![(clock, self.points.iter().map(shown).collect())];
        }
        self.modes.iter().map(|mode| (mode.clock, mode.shown.clone())).collect()
    }
}

/// A comparison and what has to be said about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compared {
    pub(super) comparison: Comparison,
    /// Whether both sides were measured in the same blocks. Cells of different blocks were not interleaved: what changed
    /// between the blocks is in the ratio.
    pub(super) same_block: bool,
}

/// Ours ÷ theirs over the processes that both have; `None` when there is none.
pub(super) fn compare(ours: &Side<'_>, theirs: &Side<'_>) -> Option<Compared> {
    let pairs = paired(ours, theirs);
    let choices = ours.choices.saturating_mul(theirs.choices);
    let ratios: Vec<f64> = pairs.iter().map(|&(i, j)| ours.points[i].rate / theirs.points[j].rate).collect();
    let time = Ratio::over(&ratios, choices)?;
    let cycles: Option<Vec<f64>> =
        pairs.iter().map(|&(i, j)| Some(ours.points[i].per_cycle? / theirs.points[j].per_cycle?)).collect();
    let cycles = cycles.and_then(|cycles| Ratio::over(&cycles, choices));
    let states = if ours.modes.is_empty() && theirs.modes.is_empty() {
        States::One
    } else {
        states(ours, theirs, &pairs, choices)
    };
    let same_block = pairs.iter().all(|&(i, j)| ours.points[i].block == theirs.points[j].block);
    Some(Compared { comparison: Comparison { time, cycles, states }, same_block })
}

/// Positions of the processes that both sides have.
fn paired(ours: &Side<'_>, theirs: &Side<'_>) -> Vec<(usize, usize)> {
    let mut pairs = Vec::with_capacity(ours.points.len());
    let mut j = 0;
    for (i, a) in ours.points.iter().enumerate() {
        while theirs.points.get(j).is_some_and(|b| (b.run, b.process) < (a.run, a.process)) {
            j += 1;
        }
        if theirs.points.get(j).is_some_and(|b| (b.run, b.process) == (a.run, a.process)) {
            pairs.push((i, j));
        }
    }
    pairs
}

fn states(ours: &Side<'_>, theirs: &Side<'_>, pairs: &[(usize, usize)], choices: usize) -> States {
    let (a, b) = (ours.states(), theirs.states());
    let clocks: Option<Vec<f64>> = a.iter().chain(&b).map(|(clock, _)| *clock).collect();
    let unmatched = || {
        let all = (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| (i, j)));
        States::Unmatched(all.filter_map(|(i, j)| state_pair((i, &a[i].1), (j, &b[j].1), pairs, choices)).collect())
    };
    let Some(mut clocks) = clocks else { return unmatched() };
    clocks.sort_unstable_by(f64::total_cmp);
    let steps: Vec<f64> =
        clocks.windows(2).filter(|two| two[1] - two[0] > SAME_CLOCK * two[1]).map(|two| two[1]).collect();
    if steps.is_empty() {
        // One clock for all modes: something else makes them, and no clock can match them.
        return unmatched();
    }
    let state = |clock: Option<f64>| steps.partition_point(|&step| clock.is_some_and(|clock| step <= clock));
    let mut matched = Vec::new();
    // Sum of weights and of weighted logarithms of the ratio inside matched states, process by process.
    let mut inside = vec![(0.0, 0.0); pairs.len()];
    for (i, (clock, shown)) in a.iter().enumerate() {
        for (j, (other, other_shown)) in b.iter().enumerate() {
            if state(*clock) != state(*other) {
                continue;
            }
            matched.extend(state_pair((i, shown), (j, other_shown), pairs, choices));
            for (&(p, q), sums) in pairs.iter().zip(&mut inside) {
                if let (Some(ours), Some(theirs)) = (at(shown, p), at(other_shown, q)) {
                    let weight = ours.repetitions.min(theirs.repetitions) as f64;
                    sums.0 += weight;
                    sums.1 += weight * (ours.rate / theirs.rate).ln();
                }
            }
        }
    }
    let inside: Vec<f64> = inside.iter().filter(|sums| sums.0 > 0.0).map(|sums| (sums.1 / sums.0).exp()).collect();
    States::Matched { inside: Ratio::over(&inside, choices), pairs: matched }
}

fn at(shown: &[Option<Shown>], process: usize) -> Option<Shown> {
    shown.get(process).copied().flatten()
}

fn state_pair(
    (i, ours): (usize, &[Option<Shown>]),
    (j, theirs): (usize, &[Option<Shown>]),
    pairs: &[(usize, usize)],
    choices: usize,
) -> Option<StatePair> {
    let ratios: Vec<f64> = pairs.iter().filter_map(|&(p, q)| Some(at(ours, p)?.rate / at(theirs, q)?.rate)).collect();
    let ends = |shown: &[Option<Shown>]| {
        let rates = || shown.iter().flatten().map(|shown| shown.rate);
        Some((rates().min_by(f64::total_cmp)?, rates().max_by(f64::total_cmp)?))
    };
    let ((low, high), (other_low, other_high)) = (ends(ours)?, ends(theirs)?);
    let ratio = Ratio::over(&ratios, choices);
    Some(StatePair { ours: i, theirs: j, ratio, lowest: low / other_high, highest: high / other_low })
}
