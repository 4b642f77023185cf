//! Between which of the sorted times does the true median lie?

use super::ns;
use rigel_numerics::Time;
use serde::{Deserialize, Serialize};

/// The level of every interval that stands in a file: 95 %.
pub const LEVEL: f64 = 0.95;

/// A confidence interval, in the unit of what it was asked about: nanoseconds for times, none for ratios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, included.
    pub low: f64,
    /// Upper end, included.
    pub high: f64,
    /// Probability that such an interval holds the true value, for independent repetitions. Order-statistic intervals
    /// state what they attain, which is at least the level asked for; bootstrap intervals state their nominal level.
    pub coverage: f64,
}

impl Interval {
    /// Half the width over the middle of the interval; infinite when the middle is not above zero.
    pub fn relative_half_width(self) -> f64 {
        let middle = (self.low + self.high) / 2.0;
        if middle > 0.0 { (self.high - self.low) / 2.0 / middle } else { f64::INFINITY }
    }

    /// Whether `value` lies in it, ends included.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The interval of operations per second that belongs to this interval of times in nanoseconds: the low rate comes
    /// from the high time. None when a time is not above zero.
    pub fn rate(self, operations: u64) -> Option<Interval> {
        let per_second = |ns: f64| operations as f64 / (ns * 1e-9);
        (self.low > 0.0 && self.high > 0.0).then(|| Interval {
            low: per_second(self.high),
            high: per_second(self.low),
            coverage: self.coverage,
        })
    }
}

/// Why there is no interval.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoInterval {
    /// Even the whole range of the values covers less than the level.
    #[error(
        "{have} values give no interval of the median at level {level}: at least {need} are needed, so take more \
         repetitions or processes"
    )]
    TooFew {
        /// Values given.
        have: usize,
        /// Values needed.
        need: usize,
        /// Level asked for.
        level: f64,
    },
    /// A level outside (0, 1).
    #[error("{level} is not the level of an interval: it must lie above 0 and below 1, such as 0.95")]
    Level {
        /// Level asked for.
        level: f64,
    },
    /// A value that is not a positive number.
    #[error("value {index} is {value}, which is not a positive finite ratio: leave that process out and say so")]
    NotARatio {
        /// Position of the value, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// The order-statistic interval of the median of `sorted` (ascending) at `level`, in nanoseconds.
///
/// Distribution-free: whatever continuous law the times have, the number of times below its median is binomial (n, ½),
/// so the pair of sorted values that [`order_ranks`] names holds the median with exactly the stated coverage, and ties
/// can only raise it (Le Boudec, *Performance Evaluation of Computer and Communication Systems*, 2010, ch. 2).
/// Misleads when repetitions depend on each other: then it is too narrow by about √(n / [`super::effective_n`]).
///
/// # Errors
/// [`NoInterval::TooFew`] below six times at 95 %.
pub fn order_interval(sorted: &[Time], level: f64) -> Result<Interval, NoInterval> {
    let (rank, coverage) = order_ranks(sorted.len(), level)?;
    Ok(Interval { low: ns(sorted[rank]), high: ns(sorted[sorted.len() - 1 - rank]), coverage })
}

/// The narrowest symmetric pair of ranks whose values hold the median of n independent values with at least `level`:
/// (r, coverage) stands for the values at positions r and n − 1 − r, from 0, in ascending order.
///
/// coverage = 1 − 2·P(Bin(n, ½) ≤ r). For n = 6 that is the whole range, with 1 − 2/64 = 96.875 %.
///
/// # Errors
/// [`NoInterval::TooFew`] when the whole range covers less than `level`, [`NoInterval::Level`] for a level outside (0, 1).
pub fn order_ranks(n: usize, level: f64) -> Result<(usize, f64), NoInterval> {
    if !(level > 0.0 && level < 1.0) {
        return Err(NoInterval::Level { level });
    }
    let too_few = NoInterval::TooFew { have: n, need: least_n(level), level };
    if n == 0 {
        return Err(too_few);
    }
    let mut rank = (n - 1) / 2;
    let mut mass = central_mass(n, rank);
    let mut tail = if n % 2 == 1 { 0.5 } else { (1.0 - central_mass(n, n / 2)) / 2.0 };
    loop {
        let coverage = 1.0 - 2.0 * tail;
        if coverage >= level {
            return Ok((rank, coverage));
        }
        if rank == 0 {
            return Err(too_few);
        }
        tail -= mass;
        mass *= rank as f64 / (n - rank + 1) as f64;
        rank -= 1;
    }
}

/// The least n whose whole range covers `level`: 1 − 2^(1−n) ≥ level.
fn least_n(level: f64) -> usize {
    (1..1100).find(|&n| 1.0 - 0.5f64.powi(n - 1) >= level).unwrap_or(1100) as usize
}

/// P(Bin(n, ½) = k) for the central k: n/2 for even n, (n−1)/2 or (n+1)/2 for odd n; for even n also n/2 − 1.
pub(super) fn central_mass(n: usize, k: usize) -> f64 {
    let half = n / 2;
    let even = (1..=half).map(|i| (2 * i - 1) as f64 / (2 * i) as f64).product::<f64>();
    match (n % 2, k == half) {
        (1, _) => even * n as f64 / (n + 1) as f64,
        (_, true) => even,
        (_, false) => even * half as f64 / (half + 1) as f64,
    }
}
