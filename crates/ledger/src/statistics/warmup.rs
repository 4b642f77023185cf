//! From which repetition on has a series settled?

use rigel_numerics::Time;

/// Series shorter than this say nothing about their own beginning.
const SHORTEST: usize = 12;
/// Length of the trailing window.
const WINDOW: usize = 5;

/// Number of leading repetitions that are warm-up; 0 when there is none, or none can be told.
///
/// The first index after which the median of the trailing window (the last five times, fewer at the very start) stays
/// inside the band of the settled half. That band runs from the 5 % to the 95 % quantile of the second half of the
/// series, widened on each side by half its own width and by half a percent of the median. Because the band holds
/// whatever the settled half visits, switching between two clock states is not taken for warm-up, and an outlier cannot
/// move a median of five. Misleads when the whole series is warming up: a beginning that needs more than a quarter of the
/// series is not cut away but left for [`super::drift`] and [`super::modality`] to show. A single odd first repetition
/// counts as warm-up, so a heavy-tailed series of 50 loses its first two on up to one occasion in ten,
/// and the start of a drift may be taken for warm-up up to that quarter.
pub fn warmup(times: &[Time]) -> usize {
    let n = times.len();
    if n < SHORTEST {
        return 0;
    }
    let mut settled = times[n / 2..].to_vec();
    settled.sort_unstable();
    let at = |share: f64| settled[((settled.len() - 1) as f64 * share).round() as usize].0;
    let (low, middle, high) = (at(0.05), at(0.5), at(0.95));
    let margin = (high - low) / 2 + middle / 200;
    let band = low.saturating_sub(margin)..=high.saturating_add(margin);
    let last_outside = (0..n / 2).rev().find(|&i| !band.contains(&window_median(times, i)));
    match last_outside {
        Some(i) if i < n / 4 => i + 1,
        _ => 0,
    }
}

/// The upper median of the window that ends at `end`.
fn window_median(times: &[Time], end: usize) -> u64 {
    let start = (end + 1).saturating_sub(WINDOW);
    let mut window = [0u64; WINDOW];
    let length = end + 1 - start;
    for (slot, time) in window.iter_mut().zip(&times[start..=end]) {
        *slot = time.0;
    }
    window[..length].sort_unstable();
    window[length / 2]
}
