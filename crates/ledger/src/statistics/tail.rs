//! Does a small cluster of times stand far from the rest?

use super::shape::robust_sigma;

/// Fewest repetitions that make a cluster; fewer are outliers.
pub(super) const FEWEST: usize = 4;
/// Largest share of the repetitions that is looked at as a small cluster.
const LARGEST: f64 = 0.1;
/// Gap before the cluster, in robust standard deviations of all times.
const GAP: f64 = 4.0;
/// Width of the cluster as a share of that gap.
const COMPACT: f64 = 0.125;

/// Index at which `y` (ascending) falls into nearly all and a small compact cluster, above or below.
///
/// Outliers alone do not pass: they scatter, whereas repetitions in another clock state agree with each other. The gap
/// must be wider than four standard deviations (from the quartiles), and all but a fifth of the cluster must lie within an
/// eighth of it.
pub(super) fn tail_cut(y: &[f64]) -> Option<usize> {
    let n = y.len();
    let most = ((n as f64 * LARGEST) as usize).max(FEWEST).min(n / 2);
    let least = GAP * robust_sigma(y);
    if most < FEWEST {
        return None;
    }
    let gap = |cut: usize| y[cut] - y[cut - 1];
    let stands_apart = |&cut: &usize| {
        let cluster = if cut <= n / 2 { &y[..cut] } else { &y[cut..] };
        let kept = cluster.len() - cluster.len() / 5;
        gap(cut) > least && cluster.windows(kept).any(|w| w[kept - 1] - w[0] <= COMPACT * gap(cut))
    };
    (FEWEST..=most).chain(n - most..=n - FEWEST).filter(stands_apart).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))
}
