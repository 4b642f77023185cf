//! What did the timer's resolution hide between equal times?

use rigel_numerics::Time;

/// Share of the median time above which a step between times is not taken for the timer's resolution.
const COARSEST: f64 = 1.0 / 64.0;

/// Times in ascending order as picoseconds above the shortest, ties spread evenly over the timer's resolution.
///
/// A lattice of ticks looks like many modes to any test of shape, so equal times are first placed where they may have
/// been before the timer rounded them. This is deterministic, keeps the order and is even, so it adds no lumps of its own.
/// The resolution is the lower quartile of the steps between different times, at most 1/64 of the median: two clock
/// states without noise stay apart, and the ticks of one state do not.
pub(super) fn spread_ties(sorted: &[Time]) -> Vec<f64> {
    let Some(&first) = sorted.first() else { return Vec::new() };
    let above = |time: Time| (time.0 - first.0) as f64;
    let mut steps: Vec<u64> = sorted.windows(2).map(|w| w[1].0 - w[0].0).filter(|&step| step > 0).collect();
    let ties = steps.len() + 1 < sorted.len();
    if !ties || steps.is_empty() {
        return sorted.iter().map(|&t| above(t)).collect();
    }
    let quartile = steps.len() / 4;
    let step = *steps.select_nth_unstable(quartile).1 as f64;
    let resolution = step.min(sorted[sorted.len() / 2].0 as f64 * COARSEST);
    let mut values = Vec::with_capacity(sorted.len());
    let mut to_previous = resolution;
    let mut groups = sorted.chunk_by(|a, b| a == b).peekable();
    while let Some(group) = groups.next() {
        let value = above(group[0]);
        let to_next = groups.peek().map_or(resolution, |next| (above(next[0]) - value).min(resolution));
        let (start, width) = (value - to_previous / 2.0, (to_previous + to_next) / 2.0);
        let count = group.len() as f64;
        values.extend((0..group.len()).map(|j| start + width * (j as f64 + 0.5) / count));
        to_previous = to_next;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untied_times_stay_and_order_is_kept() {
        let untied: Vec<Time> = [5u64, 9, 40, 1000].map(Time).to_vec();
        assert_eq!(spread_ties(&untied), [0.0, 4.0, 35.0, 995.0]);
        let tied: Vec<Time> = [1000u64, 1000, 1000, 1001, 1001, 1003, 1900].map(Time).to_vec();
        let spread = spread_ties(&tied);
        assert!(spread.is_sorted() && spread.len() == tied.len(), "{spread:?}");
        assert!(spread_ties(&[]).is_empty());
    }

    #[test]
    fn ticks_become_even_and_states_stay_apart() {
        let ticks: Vec<Time> = (0..40u64).map(|i| Time(100_000 + 1000 * (i / 10))).collect();
        let gaps: Vec<f64> = spread_ties(&ticks).windows(2).map(|w| w[1] - w[0]).collect();
        assert!(gaps.iter().all(|&g| (g - 100.0).abs() < 1e-6), "{gaps:?}");
        let states: Vec<Time> = (0..40u64).map(|i| Time(100_000 * (1 + i / 20))).collect();
        let spread = spread_ties(&states);
        assert!(spread[20] - spread[19] > 90_000.0);
    }
}
