//! Where do sorted times fall into two large modes?

use super::dip::{Exceeded, dip, dip_critical};
use super::tail::FEWEST;

/// Fewest repetitions of the smaller mode that the dip test can speak about.
const FEWEST_IN_MODE: usize = 8;
/// Least distance of two modes, in their own standard deviations; a uniform sample cut in half shows about 2.7.
const NEAR: f64 = 3.15;
/// Distance at which modes of enough repetitions and like width need less proof.
const APART: f64 = 3.5;
/// Enough repetitions of the smaller mode for that: quartiles of fewer make D itself too noisy.
const ENOUGH_IN_MODE: usize = 24;
/// Like width: the wider over the narrower. Scattered outliers are far wider than what they left.
const LIKE_WIDTH: f64 = 4.0;

/// The standard deviation that a normal sample of the same quartiles would have.
pub(super) fn robust_sigma(y: &[f64]) -> f64 {
    (at_share(y, 0.75) - at_share(y, 0.25)) / 1.349
}

/// The value below which about `share` of `y` (ascending, not empty) lies.
pub(super) fn at_share(y: &[f64], share: f64) -> f64 {
    y[((y.len() - 1) as f64 * share) as usize]
}

/// A cut of sorted values into two modes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Valley {
    /// Index of the first value of the upper mode.
    pub cut: usize,
    /// Medians of the two modes.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

/// The cut of `y` (ascending) into two modes, when its shape allows no single one.
///
/// A candidate cut is found first, then two things are asked of it: how far the modes lie apart for their width
/// (Ashman's D, *Astron. J.* 108, 1994: the distance over the quadratic mean of the two standard deviations, here from
/// quartiles), and how improbable one mode is (the dip). The dip looks at the smaller mode and as many of its nearest
/// neighbours in the larger one: a unimodal density stays unimodal when it is cut off, so the test stays valid, and a
/// small mode is not lost in the bound w/2 that its weight w puts on the dip of the whole. Near modes (D = 3.15) need a dip
/// that one uniform sample in 200 exceeds. From D = 3.5 on one in 10 is enough if each mode has at least 24 repetitions
/// and their widths are alike, because a single mode of ordinary shape hardly ever reaches that D; between the two, what
/// is needed falls in a straight line.
pub(super) fn valley(y: &[f64]) -> Option<Valley> {
    let cut = deepest_between_means(y)?;
    let (lower, upper) = y.split_at(cut);
    let small = lower.len().min(upper.len());
    if small < FEWEST_IN_MODE {
        return None;
    }
    let (low, high) = (at_share(lower, 0.5), at_share(upper, 0.5));
    let (a, b) = (robust_sigma(lower), robust_sigma(upper));
    let distance = (high - low) / ((a * a + b * b) / 2.0).sqrt();
    if distance.is_nan() || distance < NEAR {
        return None;
    }
    let enough = small >= ENOUGH_IN_MODE && a.max(b) <= LIKE_WIDTH * a.min(b);
    let relief = if enough { ((distance - NEAR) / (APART - NEAR)).min(1.0) } else { 0.0 };
    let near = &y[cut - small..cut + small];
    let critical = |exceeded| dip_critical(near.len(), exceeded);
    let strict = critical(Exceeded::OneIn200);
    let needed = strict - relief * (strict - critical(Exceeded::OneInTen));
    (dip(near) > needed).then_some(Valley { cut, low, high })
}

/// The widest gap in the emptiest stretch between the two halves of the best two-group partition.
///
/// The partition minimises the sum of squares inside groups (Fisher, *JASA* 53, 1958), after values beyond six robust
/// standard deviations were drawn in, so that an outlier cannot be a group.
fn deepest_between_means(y: &[f64]) -> Option<usize> {
    let n = y.len();
    if n < 2 * FEWEST {
        return None;
    }
    let (middle, reach) = (y[n / 2], 6.0 * robust_sigma(y));
    let drawn_in = |v: f64| v.clamp(middle - reach, middle + reach) - middle;
    let total: f64 = y.iter().map(|&v| drawn_in(v)).sum();
    let (mut sum, mut best) = (0.0, (0.0, 0));
    for cut in 1..=n - FEWEST {
        sum += drawn_in(y[cut - 1]);
        let (below, above) = (cut as f64, (n - cut) as f64);
        let difference = (total - sum) / above - sum / below;
        let score = below * above * difference * difference;
        if cut >= FEWEST && score > best.0 {
            best = (score, cut);
        }
    }
    let (_, cut) = best;
    if cut == 0 {
        return None;
    }
    let stretch = (cut.min(n - cut) / 10).max(1);
    let width = |c: usize| y[c + stretch - 1] - y[c - stretch];
    let emptiest =
        ((cut / 2).max(stretch)..=((cut + n) / 2).min(n - stretch)).max_by(|&a, &b| width(a).total_cmp(&width(b)))?;
    let gap = |c: usize| y[c] - y[c - 1];
    (emptiest + 1 - stretch..emptiest + stretch).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))
}
