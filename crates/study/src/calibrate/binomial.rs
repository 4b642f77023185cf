//! Between which shares does the true one lie, after k of n?

/// The exact two-sided 95 % interval (Clopper and Pearson, *Biometrika* 26, 1934): the shares that neither k or fewer nor
/// k or more would contradict at 2.5 %. For k = 0 the upper end is near 3.7 / n.
pub(super) fn bounds(k: u32, n: u32) -> (f64, f64) {
    const TAIL: f64 = 0.025;
    if n == 0 {
        return (0.0, 1.0);
    }
    // At most k becomes unlikely as the share grows, at least k as it shrinks.
    let low = if k == 0 { 0.0 } else { bisect(|p| 1.0 - at_most(k - 1, n, p) < TAIL) };
    let high = if k >= n { 1.0 } else { bisect(|p| at_most(k, n, p) >= TAIL) };
    (low, high)
}

/// The share up to which `holds` is true.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if holds(middle) { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// P(X ≤ k) for X binomial (n, p), 0 < p < 1, summed in logarithms from the likeliest term that is asked for.
fn at_most(k: u32, n: u32, p: f64) -> f64 {
    let (n, odds) = (f64::from(n), (p / (1.0 - p)).ln());
    let mut log_term = n * (1.0 - p).ln();
    let mut sum = 0.0;
    for i in 0..=k {
        sum += log_term.exp();
        let i = f64::from(i);
        log_term += odds + ((n - i) / (i + 1.0)).ln();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_intervals_come_out() {
        // None of n: 1 − 0.025^(1/n). One of two: 1 ∓ √0.975 by symmetry.
        let (low, high) = bounds(0, 10_000);
        assert_eq!(low, 0.0);
        assert!((high - (1.0 - 0.025f64.powf(1e-4))).abs() < 1e-12);
        let (low, high) = bounds(1, 2);
        assert!((low - (1.0 - 0.975f64.sqrt())).abs() < 1e-12 && (high - 0.975f64.sqrt()).abs() < 1e-12);
        assert_eq!(bounds(5, 5).1, 1.0);
        assert_eq!(bounds(0, 0), (0.0, 1.0));
    }

    #[test]
    fn the_interval_is_symmetric_and_holds_the_share() {
        for (k, n) in [(1, 10), (156, 10_000), (5_000, 10_000), (9_999, 10_000)] {
            let (low, high) = bounds(k, n);
            let (other_low, other_high) = bounds(n - k, n);
            assert!((low + other_high - 1.0).abs() < 1e-9 && (high + other_low - 1.0).abs() < 1e-9, "{k} of {n}");
            let share = f64::from(k) / f64::from(n);
            assert!(low < share && share < high);
        }
    }
}
