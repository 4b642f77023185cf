//! How many independent repetitions is a series worth?

use rigel_numerics::Time;

/// Lag-1 autocorrelation of the times in the order taken, rounded to three decimals.
///
/// r = Σ (tᵢ − t̄)(tᵢ₊₁ − t̄) / Σ (tᵢ − t̄)². None below three times, or when all are equal. Misleads in two ways: one
/// large outlier pulls it towards 0, and slow switching between two clock states raises it although the repetitions
/// inside each state are independent.
pub fn autocorrelation(times: &[Time]) -> Option<f64> {
    let n = times.len();
    if n < 3 {
        return None;
    }
    let origin = times[0].0;
    let offsets: Vec<f64> = times.iter().map(|t| (i128::from(t.0) - i128::from(origin)) as f64).collect();
    lag_one(&offsets).map(|r| (r * 1000.0).round() / 1000.0)
}

/// Lag-1 autocorrelation, not rounded; none when the values do not vary.
pub(super) fn lag_one(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    let product = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>();
    (square > 0.0).then(|| product / square)
}

/// Number of independent repetitions that n repetitions of lag-1 autocorrelation r are worth, rounded down.
///
/// n_eff = n·(1 − r)/(1 + r), the large-n variance factor of a mean under first-order dependence. It is at least 1 and
/// at most n: a negative r is not taken as licence to claim more than was measured.
pub fn effective_n(n: usize, autocorrelation: f64) -> usize {
    effective(n, autocorrelation).floor() as usize
}

/// [`effective_n`] before rounding.
pub(super) fn effective(n: usize, autocorrelation: f64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let r = if autocorrelation.is_nan() { 0.0 } else { autocorrelation.clamp(0.0, 1.0) };
    (n as f64 * (1.0 - r) / (1.0 + r)).clamp(1.0, n as f64)
}
