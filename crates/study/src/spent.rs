//! Where does a run spend its time?

use rigel_device::{Fault, Sample};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// Time of one worker process, or of all of them together, by what it went into. What is none of these is the tool's own:
/// starting processes, compiling and loading, reading and writing rows, turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Kernels, by the device's own clock; a virtual clock's time is none of the wall's.
    pub kernels: Duration,
    /// In calls that run kernels, besides the kernels: core-clock chains, caches filled or emptied, launches, waiting.
    pub around: Duration,
    /// Making inputs, references and proofs, packing, reading outputs back, judging.
    pub gate: Duration,
    /// Windows in which the device is left idle on purpose.
    pub waiting: Duration,
    /// Workers that died, hung or were killed, from their start to their end.
    pub lost: Duration,
}

impl Spent {
    /// Runs something that runs kernels.
    pub fn run(&mut self, call: impl FnOnce() -> Result<Vec<Sample>, Fault>) -> Result<Vec<Sample>, Fault> {
        let begun = Instant::now();
        let samples = call();
        let wall = begun.elapsed();
        let device: u64 = samples.iter().flatten().map(|sample| sample.time.0 / 1000).sum();
        let kernels = Duration::from_nanos(device).min(wall);
        self.kernels += kernels;
        self.around += wall - kernels;
        samples
    }

    /// Keeps kernels running that nobody times; their time is then the wall's.
    pub fn load(&mut self, call: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
        let begun = Instant::now();
        let done = call();
        self.kernels += begun.elapsed();
        done
    }

    /// Does something for the gate.
    pub fn gate<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        self.gate += begun.elapsed();
        done
    }

    /// Leaves the device idle.
    pub fn wait(&mut self, idle: impl FnOnce()) {
        let begun = Instant::now();
        idle();
        self.waiting += begun.elapsed();
    }

    /// All of it.
    pub fn total(&self) -> Duration {
        self.kernels + self.around + self.gate + self.waiting + self.lost
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.around += other.around;
        self.gate += other.gate;
        self.waiting += other.waiting;
        self.lost += other.lost;
    }
}
