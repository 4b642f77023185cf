//! How many repetitions of a cell does a plan ask for in one process, and why did they end?

use crate::plan::Sampling;
use crate::rows::Stop;
use crate::statistics;
use rigel_numerics::Time;

/// What a cell is asked for in one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Repetitions at which it stops.
    pub target: usize,
    /// Repetitions at which its budget or precision may stop it.
    pub minimum: usize,
    /// Device time.
    pub budget: Time,
    /// Relative half-width; 0 = never.
    pub precision: f64,
    /// Repetitions in a row.
    pub burst: usize,
}

impl Share {
    /// The share of one process: repetitions of the plan divided by its processes, rounded up.
    pub fn of(sampling: &Sampling) -> Self {
        let each = |n: u32| n.div_ceil(sampling.processes.max(1)).max(1) as usize;
        Share {
            target: each(sampling.repetitions),
            minimum: each(sampling.minimum_repetitions).min(each(sampling.repetitions)),
            budget: Time::from_seconds(sampling.budget_s),
            precision: sampling.precision,
            burst: sampling.burst.max(1) as usize,
        }
    }

    /// Whether repetitions are enough, and why. It follows from their times, so `verify` asks again.
    pub fn enough(&self, times: &[Time]) -> Option<Stop> {
        if times.len() >= self.target {
            return Some(Stop::Repetitions);
        }
        if times.len() < self.minimum {
            return None;
        }
        if self.precision > 0.0 && statistics::precise_enough(times, self.precision) {
            return Some(Stop::Precise);
        }
        let spent: u64 = times.iter().map(|time| time.0).fold(0, u64::saturating_add);
        (spent >= self.budget.0).then_some(Stop::Budget)
    }
}
