//! Do the times of a series move in one direction?

use super::ns;
use super::serial::{effective, lag_one};
use rigel_numerics::Time;
use serde::{Deserialize, Serialize};

/// Result of the drift test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Kendall's τ between index and time: −1 steadily faster, +1 steadily slower.
    pub tau: f64,
    /// Standard score of τ under no drift, after the correction for autocorrelation.
    pub score: f64,
    /// Change over the whole series relative to its median: n times the median slope between repetitions half a series
    /// apart.
    pub change: f64,
}

impl Drift {
    /// Whether no drift would show such a score on at most 1 % of occasions.
    pub fn significant(self) -> bool {
        self.score.abs() > 2.5758
    }
}

/// Mann–Kendall test for drift; none below ten times or when all are equal.
///
/// The variance of τ takes ties into account and is multiplied by n / n_eff, with the effective n of the residuals
/// about the median slope, so that slow noise is not taken for drift (the idea of Hamed & Rao, *J. Hydrology* 204,
/// 1998, with first-order dependence). Robust to outliers, since only the order of times enters. Misleads for movements
/// that come back: it sees one direction only.
pub fn drift(times: &[Time]) -> Option<Drift> {
    let n = times.len();
    if n < 10 {
        return None;
    }
    let half = n / 2;
    let mut slopes: Vec<f64> =
        (0..n - half).map(|i| (i128::from(times[i + half].0) - i128::from(times[i].0)) as f64 / half as f64).collect();
    let (_, &mut slope, _) = slopes.select_nth_unstable_by((n - half) / 2, f64::total_cmp);
    let residuals: Vec<f64> = times
        .iter()
        .enumerate()
        .map(|(i, t)| (i128::from(t.0) - i128::from(times[0].0)) as f64 - slope * i as f64)
        .collect();
    let independent = effective(n, lag_one(&residuals).unwrap_or(0.0));

    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let pairs = |k: usize| k as f64 * (k as f64 - 1.0) / 2.0;
    let spread = |k: usize| k as f64 * (k as f64 - 1.0) * (2.0 * k as f64 + 5.0) / 18.0;
    let (mut tied_pairs, mut variance) = (0.0, spread(n));
    for group in sorted.chunk_by(|a, b| a == b) {
        tied_pairs += pairs(group.len());
        variance -= spread(group.len());
    }
    if variance <= 0.0 {
        return None;
    }
    let rising_less_falling = pairs(n) - tied_pairs - 2.0 * falling_pairs(times) as f64;
    let middle = ns(sorted[n / 2]);
    Some(Drift {
        tau: rising_less_falling / pairs(n),
        score: rising_less_falling / (variance * n as f64 / independent).sqrt(),
        change: if middle > 0.0 { slope * n as f64 / 1000.0 / middle } else { 0.0 },
    })
}

/// Number of pairs i < j with a strictly later time smaller, by merge sort.
fn falling_pairs(times: &[Time]) -> u64 {
    let mut now = times.to_vec();
    let mut next = now.clone();
    let (mut width, mut falling) = (1, 0u64);
    while width < now.len() {
        for (block, out) in now.chunks(2 * width).zip(next.chunks_mut(2 * width)) {
            let (left, right) = block.split_at(width.min(block.len()));
            let (mut l, mut r) = (0, 0);
            for slot in out {
                if r == right.len() || (l < left.len() && left[l] <= right[r]) {
                    *slot = left[l];
                    l += 1;
                } else {
                    falling += (left.len() - l) as u64;
                    *slot = right[r];
                    r += 1;
                }
            }
        }
        std::mem::swap(&mut now, &mut next);
        width *= 2;
    }
    falling
}
