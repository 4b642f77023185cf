//! Is one number enough for the times of a cell, or are there several modes?

use super::clock_states::clock_states;
use super::median::median;
use super::modes::{Kind, Modality, Mode, Split};
use super::shape::valley;
use super::summary::median_clock;
use super::switching::jumps;
use super::tail::tail_cut;
use super::ties::spread_ties;
use super::{clock_at, count};
use rigel_numerics::{Megahertz, Time};
use std::ops::Range;

/// Fewest repetitions that are looked at for modes.
const FEWEST: usize = 20;
/// Most modes that are told apart; a cell with more has no modes worth naming.
const MOST_MODES: usize = 8;

/// The modes of some repetitions, in the order taken. `clocks[i]` belongs to `times[i]`; a shorter slice means that the
/// clock of the rest was not read.
///
/// Where every clock was read and the clocks fall into states that explain the times, those states are the modes.
/// Otherwise the times are divided, again and again, wherever a small compact cluster stands far from the rest, or the
/// shape has a valley (a dip test, after ties were spread over the timer's resolution) and the series jumps across it.
/// Large modes make the cell [`Kind::Several`]; small ones are a [`Kind::Tail`]. Fewer than 20 repetitions are one mode,
/// and no more than eight modes are told apart.
///
/// Misleads when a second state holds fewer than four repetitions (then it looks like outliers), when modes lie closer
/// than about four of their standard deviations, and when the clock ramps so slowly that the series walks between
/// its states: that is drift, and [`super::drift`] reports it. The error rates are printed by the `modality` example.
pub fn modality(times: &[Time], clocks: &[Option<Megahertz>]) -> Modality {
    if times.len() < FEWEST {
        return assemble(times, clocks, Split::Times(Vec::new()));
    }
    let states = clock_states(times, clocks);
    if !states.is_empty() {
        return assemble(times, clocks, Split::Clocks(states));
    }
    let sample = Sample::new(times);
    let mut cuts = Vec::new();
    sample.divide(0..times.len(), &mut cuts);
    cuts.sort_unstable();
    let last_below = |&cut: &usize| sample.sorted[cut - 1].0;
    assemble(times, clocks, Split::Times(cuts.iter().map(last_below).collect()))
}

/// Times in ascending order, each with the repetition it is of, and the same with ties spread.
struct Sample {
    sorted: Vec<(Time, usize)>,
    values: Vec<f64>,
}

impl Sample {
    fn new(times: &[Time]) -> Sample {
        let mut sorted: Vec<(Time, usize)> = times.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let values = spread_ties(&sorted.iter().map(|&(time, _)| time).collect::<Vec<_>>());
        Sample { sorted, values }
    }

    /// Adds the places at which a range of the sorted times falls apart.
    fn divide(&self, range: Range<usize>, cuts: &mut Vec<usize>) {
        if range.len() < FEWEST || cuts.len() + 1 >= MOST_MODES {
            return;
        }
        if let Some(cut) = self.cut(&range).filter(|&cut| self.sorted[cut - 1].0 < self.sorted[cut].0) {
            cuts.push(cut);
            self.divide(range.start..cut, cuts);
            self.divide(cut..range.end, cuts);
        }
    }

    fn cut(&self, range: &Range<usize>) -> Option<usize> {
        let y = &self.values[range.clone()];
        if let Some(cut) = tail_cut(y) {
            return Some(range.start + cut);
        }
        let found = valley(y)?;
        let mut taken: Vec<(usize, f64)> = self.sorted[range.clone()].iter().zip(y).map(|(s, &v)| (s.1, v)).collect();
        taken.sort_unstable_by_key(|&(index, _)| index);
        let series: Vec<f64> = taken.into_iter().map(|(_, v)| v).collect();
        jumps(&series, found).then_some(range.start + found.cut)
    }
}

/// Counts, medians and clocks of the modes that a split makes.
fn assemble(times: &[Time], clocks: &[Option<Megahertz>], split: Split) -> Modality {
    let modes = match &split {
        Split::Times(bounds) => bounds.len() + 1,
        Split::Clocks(bounds) => bounds.len() + 1,
    };
    let mut found = Modality { modes: Vec::new(), kind: Kind::One, split };
    let mut members = vec![(Vec::new(), Vec::new()); modes];
    for (index, &time) in times.iter().enumerate() {
        let clock = clock_at(clocks, index);
        let (mode_times, mode_clocks) = &mut members[found.mode_of(time, clock).unwrap_or(0)];
        mode_times.push(time);
        mode_clocks.extend(clock);
    }
    found.modes.extend(members.into_iter().filter_map(|(times, clocks)| {
        Some(Mode { count: count(times.len()), median_ns: median(&times)?, clock_mhz: median_clock(clocks) })
    }));
    found.kind = Kind::of(&found.modes);
    found
}
