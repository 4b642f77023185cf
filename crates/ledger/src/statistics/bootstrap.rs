//! Between which values does the median of a resample fall?
//!
//! The bootstrap percentile interval (Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993, ch. 13) needs the law
//! of the median of n draws with replacement from the n sorted times x₁ … xₙ. That law is known in closed form, because
//! only the ranks of the draws matter, and each rank is uniform on 1 … n:
//!
//! - At most i are counted by N(i) ~ Bin(n, i/n), the number of draws of rank at most i. The r-th smallest draw has rank
//!   at most i exactly when N(i) ≥ r.
//! - Odd n = 2m+1: the median is the draw of position r = m+1, so its law is P(I ≤ i) = P(Bin(n, i/n) ≥ m+1).
//! - Even n = 2m: the median is (x_I + x_J)/2 with I, J the ranks at positions m and m+1. For i ≤ j, the event
//!   {I ≤ i, J > j} says that exactly m draws have rank at most i and the other m have rank above j, so
//!   P(I ≤ i, J > j) = C(2m, m) · (i/n)^m · (1 − j/n)^m. With P(I = i) from the binomial law this gives
//!   P(x_I + x_J ≤ s) = Σᵢ P(I = i) − P(I = i, J > jᵢ(s)), where jᵢ(s) is the last j with x_j ≤ s − xᵢ.
//!
//! Both ends are the smallest value whose distribution function reaches the probability, here and in the seeded
//! resamples of [`super::bootstrap_resample`].

use super::interval::{Interval, NoInterval, central_mass, order_ranks};
use super::nanoseconds;
use rigel_numerics::Time;
use std::sync::OnceLock;

/// Slack of a comparison of probabilities, far above rounding and far below one resample of 10⁴.
const SLACK: f64 = 1e-10;

/// The bootstrap percentile interval of the median of `sorted` (ascending) in closed form, in nanoseconds.
///
/// It is the limit of [`super::bootstrap_resample`] for infinitely many resamples. For even n above 40 000 the two middle ranks
/// are taken apart (low end from I, high end from J), which can only widen the interval, by less than one rank. Misleads
/// for few times, where it covers less than it says, and for dependent ones; `coverage` is nominal.
///
/// # Errors
/// [`NoInterval::TooFew`] where [`super::order_interval`] has none either (below six times at 95 %).
pub fn bootstrap_interval_closed(sorted: &[Time], level: f64) -> Result<Interval, NoInterval> {
    let n = sorted.len();
    order_ranks(n, level)?;
    let tail = (1.0 - level) / 2.0;
    let fresh;
    let law = match LAWS.get(n) {
        Some(slot) => slot.get_or_init(|| Law::new(n)),
        None => {
            fresh = Law::new(n);
            &fresh
        }
    };
    let low = nanoseconds(law.quantile(sorted, tail, End::Low), 2);
    let high = nanoseconds(law.quantile(sorted, 1.0 - tail, End::High), 2);
    Ok(Interval { low, high, coverage: level })
}

static LAWS: [OnceLock<Law>; 1025] = [const { OnceLock::new() }; 1025];

/// Even n up to which (2i/n)^m stays inside double precision over the whole window.
const JOINT_UP_TO: usize = 40_000;

#[derive(Clone, Copy, PartialEq)]
enum End {
    Low,
    High,
}

/// Law of the two middle ranks of a resample of n, over the ranks that carry all but 1e-11 of it.
struct Law {
    /// First rank of the window, from 1.
    first: usize,
    /// P(I ≤ i), one entry a rank of the window.
    lower: Vec<f64>,
    /// P(J ≤ j); equals `lower` for odd n.
    upper: Vec<f64>,
    /// Even n: C(2m, m)/4^m · ((2i/n)^m − (2(i−1)/n)^m); empty when I and J are not taken together.
    joint_at: Vec<f64>,
    /// Even n: (2(n−j)/n)^m.
    joint_above: Vec<f64>,
}

impl Law {
    fn new(n: usize) -> Law {
        let m = n / 2;
        let reach = (3.5 * (n as f64).sqrt()).ceil() as usize + 2;
        let (first, last) = ((n / 2).saturating_sub(reach).max(1), (n / 2 + reach).min(n));
        let central = central_mass(n, m);
        // P(Bin(n, i/n) = m) and P(Bin(n, i/n) > m): the powers are taken together so that neither over- nor underflows.
        let growth: Vec<f64> = (m..n).map(|k| (n - k) as f64 / (k + 1) as f64).collect();
        let masses = |i: usize| -> (f64, f64) {
            if i == n {
                return (0.0, 1.0);
            }
            let (p, q) = (i as f64 / n as f64, (n - i) as f64 / n as f64);
            let odd_factor = if n % 2 == 1 { 2.0 * q } else { 1.0 };
            let at = central * power(4.0 * p * q, m) * odd_factor;
            let (mut term, mut above) = (at, 0.0);
            for ratio in &growth {
                let next = term * ratio * (p / q);
                above += next;
                if next < term && next < 1e-18 {
                    break;
                }
                term = next;
            }
            (at, above)
        };
        let (at, upper): (Vec<f64>, Vec<f64>) = (first..=last).map(masses).unzip();
        if n % 2 == 1 {
            return Law { first, lower: upper.clone(), upper, joint_at: Vec::new(), joint_above: Vec::new() };
        }
        let lower = at.iter().zip(&upper).map(|(a, u)| a + u).collect();
        let share = |i: usize| power(2.0 * i as f64 / n as f64, m);
        let (joint_at, joint_above) = if n <= JOINT_UP_TO {
            (first..=last).map(|i| (central * (share(i) - share(i - 1)), share(n - i))).unzip()
        } else {
            (Vec::new(), Vec::new())
        };
        Law { first, lower, upper, joint_at, joint_above }
    }

    /// Twice the smallest median whose distribution function reaches `probability`, in picoseconds.
    fn quantile(&self, sorted: &[Time], probability: f64, end: End) -> u128 {
        let reached = |law: &[f64]| {
            let offset = law.partition_point(|&p| p < probability - SLACK).min(law.len() - 1);
            2 * u128::from(sorted[self.first - 1 + offset].0)
        };
        // I ≤ J, so the quantile of the mean lies between theirs.
        let (mut low, mut high) = (reached(&self.lower), reached(&self.upper));
        if self.joint_at.is_empty() {
            return if end == End::Low { low } else { high };
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.reached_by(sorted, middle) >= probability - SLACK {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// P(x_I + x_J ≤ sum) for even n.
    fn reached_by(&self, sorted: &[Time], sum: u128) -> f64 {
        let x = |offset: usize| u128::from(sorted[self.first - 1 + offset].0);
        let (mut total, mut before, mut last) = (0.0, 0.0, self.lower.len());
        for offset in 0..self.lower.len() {
            if 2 * x(offset) > sum {
                break;
            }
            while x(last - 1) > sum - x(offset) {
                last -= 1;
            }
            let above = if last == self.lower.len() { 0.0 } else { self.joint_above[last - 1] };
            total += self.lower[offset] - before - self.joint_at[offset] * above;
            before = self.lower[offset];
        }
        total
    }
}

/// base^exponent by repeated squaring: the same bits on every platform.
fn power(base: f64, mut exponent: usize) -> f64 {
    let (mut square, mut result) = (base, 1.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}
