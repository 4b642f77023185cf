//! Which samples does a planted cell yield, one repetition after another?

use super::noise::{Disturbance, Noise};
use super::random::Stream;
use super::states::{States, Walk};
use super::truth::Clock;
use crate::contract::Sample;
use rigel_numerics::Time;

/// The endless series of samples of one cell in one process.
///
/// It multiplies no matrices, so statistics can be tested on thousands of planted devices a second.
#[derive(Debug, Clone)]
pub struct Timeline {
    seconds: f64,
    clock: Clock,
    walk: Walk,
    disturbance: Disturbance,
}

/// What makes the series of one cell in one process its own.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// Seed of the truth.
    pub seed: u64,
    /// Index of the process.
    pub process: u32,
    /// Key of the cell.
    pub cell: u64,
    /// Key of the place where the mixture of states is planted: cells that share it share a per-process state.
    pub mixture: u64,
}

impl Timeline {
    /// The series around an undisturbed time of `planted` (in seconds, at the reference clock).
    pub fn new(planted_s: f64, clock: Clock, states: &States, noise: Noise, identity: Identity) -> Self {
        let Identity { seed, process, cell, mixture } = identity;
        let process = u64::from(process);
        let walk = Walk::new(
            states.clone(),
            Stream::new(&[seed, 1, process, cell]),
            Stream::new(&[seed, 2, process, mixture]),
        );
        let disturbance = Disturbance::new(noise, Stream::new(&[seed, 3, process, cell]));
        Timeline { seconds: planted_s, clock, walk, disturbance }
    }

    /// The next `n` samples.
    pub fn take(&mut self, n: usize) -> Vec<Sample> {
        (0..n).map(|_| self.step(1.0)).collect()
    }

    /// The next sample, its time multiplied by `factor` (for a cold cache).
    pub fn step(&mut self, factor: f64) -> Sample {
        let state = self.walk.step();
        let reference = self.clock.reference;
        let seconds = self.seconds * factor * self.disturbance.step() / state.rate_factor(reference);
        let time = quantised(Time::from_seconds(seconds), self.clock.resolution);
        Sample { time, clock: self.clock.readable.then(|| state.megahertz(reference)) }
    }
}

/// To the nearest tick of the timer; a time below half a tick reads 0, as it does on real timers.
fn quantised(time: Time, tick: Time) -> Time {
    let tick = tick.0.max(1);
    Time((time.0.saturating_add(tick / 2) / tick).saturating_mul(tick))
}
