//! May sampling of a cell stop?

use super::interval::{LEVEL, order_interval};
use super::median::sorted;
use super::serial::{autocorrelation, effective_n};
use rigel_numerics::Time;

/// Whether the 95 % order-statistic interval of the median is narrower than ± `half_width` of its middle.
///
/// The width is first widened by √(n / effective n), since dependent repetitions look more precise than they are.
/// `half_width` is relative (0.005 = half a percent); zero, negative and NaN targets are never met, and nor is any with
/// fewer than six times. Look only at the sizes that [`next_look`] gives: every further look is another chance to stop
/// on a lucky streak.
pub fn precise_enough(times: &[Time], half_width: f64) -> bool {
    let Ok(interval) = order_interval(&sorted(times), LEVEL) else { return false };
    let independent = autocorrelation(times).map_or(times.len(), |r| effective_n(times.len(), r));
    let widening = (times.len() as f64 / independent as f64).sqrt();
    half_width > 0.0 && interval.relative_half_width() * widening <= half_width
}

/// The next number of repetitions at which to look, after a look at n: a quarter more, at least `minimum`.
pub fn next_look(n: usize, minimum: usize) -> usize {
    n.saturating_add(n / 4).saturating_add(1).max(minimum)
}
