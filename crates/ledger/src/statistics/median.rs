//! What is the middle of some times?

use super::{nanoseconds, ns};
use rigel_numerics::Time;

/// The times in ascending order.
pub fn sorted(times: &[Time]) -> Vec<Time> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The median in nanoseconds: the middle value, or the mean of the two middle ones for even n. None for no times.
///
/// `times` may stand in any order. The sum of the two middle values is taken in integers, so the only rounding is that
/// of one division. Misleads when there is more than one mode: for two of nearly equal weight it is the value of
/// neither, so look at [`super::modality`] first.
pub fn median(times: &[Time]) -> Option<f64> {
    let mut times = times.to_vec();
    let middle = times.len() / 2;
    if times.is_empty() {
        return None;
    }
    let odd = times.len() % 2 == 1;
    let (below, &mut upper, _) = times.select_nth_unstable(middle);
    if odd {
        return Some(ns(upper));
    }
    below.iter().max().map(|&lower| mean_of_two(lower, upper))
}

/// The median of times in ascending order.
pub(super) fn median_of_sorted(sorted: &[Time]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(ns(sorted[middle])),
        _ => Some(mean_of_two(sorted[middle - 1], sorted[middle])),
    }
}

fn mean_of_two(lower: Time, upper: Time) -> f64 {
    nanoseconds(u128::from(lower.0) + u128::from(upper.0), 2)
}
