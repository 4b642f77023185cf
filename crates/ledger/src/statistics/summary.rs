//! What stands in the summary columns of a cell row?

use super::bootstrap::bootstrap_interval_closed;
use super::count;
use super::interval::{Interval, LEVEL, order_interval};
use super::median::{median_of_sorted, sorted};
use super::modality::modality;
use super::modes::Modality;
use super::resample::bootstrap_resample;
use super::serial::{autocorrelation, effective_n};
use super::warmup::warmup;
use rigel_numerics::{Megahertz, Time};

/// Everything that a cell row says about its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Repetitions after warm-up, which all that follows rests on.
    pub n: u32,
    /// Leading repetitions left out as warm-up.
    pub warmup: u32,
    /// Median time, ns; none for no repetitions.
    pub median_ns: Option<f64>,
    /// 95 % order-statistic interval of the median, ns; none below six repetitions.
    pub interval: Option<Interval>,
    /// 95 % bootstrap percentile interval, ns; none below six repetitions.
    pub bootstrap: Option<Interval>,
    /// Lag-1 autocorrelation, three decimals; none when the times do not vary.
    pub autocorrelation: Option<f64>,
    /// Effective number of independent repetitions, from `n` and the rounded autocorrelation; none without one.
    pub effective_n: Option<u32>,
    /// Modes.
    pub modality: Modality,
    /// Median core clock, MHz; none where none was read.
    pub clock_mhz: Option<f64>,
}

/// How the bootstrap interval of a median is found. The two agree within the resampling's own error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bootstrap {
    /// From the law of the resampled median's ranks.
    Closed,
    /// From seeded resamples, as the study did it.
    Resampled {
        /// How many.
        resamples: u32,
        /// Their seed.
        seed: u64,
    },
}

impl Bootstrap {
    /// The 95 % interval of ascending times; none below six.
    fn interval(self, sorted: &[Time]) -> Option<Interval> {
        match self {
            Bootstrap::Closed => bootstrap_interval_closed(sorted, LEVEL).ok(),
            Bootstrap::Resampled { resamples, seed } => bootstrap_resample(sorted, LEVEL, seed, resamples).ok(),
        }
    }
}

/// The summary of one cell in one process, repetitions in the order taken, warm-up included.
///
/// `clocks[i]` belongs to `times[i]`; a shorter slice means that the clock of the rest was not read.
pub fn summary(times: &[Time], clocks: &[Option<Megahertz>], bootstrap: Bootstrap) -> Summary {
    let leading = warmup(times);
    let times = &times[leading..];
    let clocks = clocks.get(leading..).unwrap_or_default();
    let clocks = &clocks[..clocks.len().min(times.len())];
    let sorted = sorted(times);
    let autocorrelation = autocorrelation(times);
    Summary {
        n: count(times.len()),
        warmup: count(leading),
        median_ns: median_of_sorted(&sorted),
        interval: order_interval(&sorted, LEVEL).ok(),
        bootstrap: bootstrap.interval(&sorted),
        autocorrelation,
        effective_n: autocorrelation.map(|r| count(effective_n(times.len(), r))),
        modality: modality(times, clocks),
        clock_mhz: median_clock(clocks.iter().copied().flatten().collect()),
    }
}

/// The median of clocks, MHz.
pub(super) fn median_clock(mut clocks: Vec<Megahertz>) -> Option<f64> {
    clocks.sort_unstable();
    let middle = clocks.len() / 2;
    match clocks.len() {
        0 => None,
        n if n % 2 == 1 => Some(f64::from(clocks[middle].0)),
        _ => Some((f64::from(clocks[middle - 1].0) + f64::from(clocks[middle].0)) / 2.0),
    }
}
