//! Do measured clocks fall into states that explain the times?

use super::tail::FEWEST;
use rigel_numerics::{Megahertz, Time};

/// Least relative distance of two neighbouring clock states.
const APART: f64 = 0.03;
/// Width of a state, without its outermost fifth, as a share of the gap beside it.
const COMPACT: f64 = 0.5;
/// Share of pairs in which the repetition of the lower clock must be the slower one.
const SLOWER: f64 = 0.95;
/// Share of the clock's ratio that the ratio of median times must show.
const EXPLAINED: f64 = 0.25;

/// Upper ends of all clock states but the highest, ascending; empty when the clocks are one state, do not explain the
/// times, or were not read for every repetition.
///
/// Two neighbouring states are told apart when a gap of at least 3 % lies between them that is twice as wide as either
/// state, each holds at least four repetitions, 95 % of the pairs have the slower time at the lower clock, and the median
/// times differ by at least a quarter of what the clocks do. The clock is the cause that is looked for, so no test of the
/// times' shape is needed; that also finds states whose times overlap.
pub(super) fn clock_states(times: &[Time], clocks: &[Option<Megahertz>]) -> Vec<Megahertz> {
    let mut pairs: Vec<(u32, u64)> = times.iter().zip(clocks).filter_map(|(t, c)| Some((c.as_ref()?.0, t.0))).collect();
    let mut bounds = Vec::new();
    if pairs.len() == times.len() {
        pairs.sort_unstable();
        divide(&pairs, &mut bounds);
    }
    bounds.sort_unstable();
    bounds
}

fn divide(pairs: &[(u32, u64)], bounds: &mut Vec<Megahertz>) {
    let n = pairs.len();
    if n < 2 * FEWEST {
        return;
    }
    let gap = |cut: usize| pairs[cut].0 - pairs[cut - 1].0;
    let Some(cut) = (FEWEST..=n - FEWEST).max_by_key(|&cut| gap(cut)) else { return };
    let (low, high) = pairs.split_at(cut);
    let apart = f64::from(gap(cut)) >= APART * f64::from(pairs[cut].0);
    if apart && compact(low, gap(cut)) && compact(high, gap(cut)) && explains(low, high) {
        bounds.push(Megahertz(pairs[cut - 1].0));
        divide(low, bounds);
        divide(high, bounds);
    }
}

/// Whether all but the outermost fifth of a state lies within half the gap beside it.
fn compact(state: &[(u32, u64)], gap: u32) -> bool {
    let kept = state.len() - state.len() / 5;
    state.windows(kept).any(|w| f64::from(w[kept - 1].0 - w[0].0) <= COMPACT * f64::from(gap))
}

fn explains(low: &[(u32, u64)], high: &[(u32, u64)]) -> bool {
    let times = |state: &[(u32, u64)]| {
        let mut times: Vec<u64> = state.iter().map(|p| p.1).collect();
        times.sort_unstable();
        times
    };
    let (slow, fast) = (times(low), times(high));
    let slower: usize = slow.iter().map(|t| fast.partition_point(|f| f < t)).sum();
    let of_pairs = slower as f64 / (slow.len() as f64 * fast.len() as f64);
    let time_ratio = slow[slow.len() / 2] as f64 / fast[fast.len() / 2].max(1) as f64;
    let clock_ratio = f64::from(high[high.len() / 2].0) / f64::from(low[low.len() / 2].0.max(1));
    of_pairs >= SLOWER && time_ratio - 1.0 >= EXPLAINED * (clock_ratio - 1.0)
}
