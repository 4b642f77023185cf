//! How do repetitions of one software device scatter around the planted time?

use super::random::Stream;
use serde::{Deserialize, Serialize};

/// Disturbances of the time of a repetition. All are relative to the undisturbed time; all default to none.
///
/// The factor on the time of repetition i (counted from 0 in the cell's process) is
/// `process × warm-up(i) × (1 + drift·i + sigma·z_i + skew·(e_i − ln 2))`, then `outlier_factor` with probability
/// `outlier_rate`. z is a stationary AR(1) series of unit variance, e is exponential with median ln 2: drift, outliers
/// and warm-up apart, the median of a cell stays the planted one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Relative standard deviation within a process.
    pub sigma: f64,
    /// Lag-1 autocorrelation of the Gaussian part.
    pub rho: f64,
    /// Relative scale of a one-sided exponential part.
    pub skew: f64,
    /// Relative growth of the time per repetition.
    pub drift_per_repetition: f64,
    /// Relative standard deviation between processes, drawn per cell and process.
    pub process_sigma: f64,
    /// Probability that a repetition is an outlier.
    pub outlier_rate: f64,
    /// Factor on the time of an outlier.
    pub outlier_factor: f64,
    /// The first repetitions of a process that are slower.
    pub warmup_repetitions: u32,
    /// Factor on the time of the very first repetition; it falls linearly to 1 over the warm-up.
    pub warmup_factor: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Noise {
            sigma: 0.0,
            rho: 0.0,
            skew: 0.0,
            drift_per_repetition: 0.0,
            process_sigma: 0.0,
            outlier_rate: 0.0,
            outlier_factor: 1.0,
            warmup_repetitions: 0,
            warmup_factor: 1.0,
        }
    }
}

/// The disturbances of one cell in one process, repetition by repetition.
#[derive(Debug, Clone)]
pub struct Disturbance {
    noise: Noise,
    stream: Stream,
    process: f64,
    index: u64,
    z: f64,
}

/// No disturbance makes a repetition faster than this fraction of its planted time.
const FLOOR: f64 = 0.05;

impl Disturbance {
    /// The series of `noise` that `stream` draws.
    pub fn new(noise: Noise, mut stream: Stream) -> Self {
        let process = (1.0 + noise.process_sigma * stream.normal()).max(FLOOR);
        let z = stream.normal();
        Disturbance { noise, stream, process, index: 0, z }
    }

    /// The factor on the time of the next repetition.
    pub fn step(&mut self) -> f64 {
        let n = &self.noise;
        let i = self.index as f64;
        if self.index > 0 {
            self.z = n.rho * self.z + (1.0 - n.rho * n.rho).sqrt() * self.stream.normal();
        }
        let mut factor = 1.0 + n.drift_per_repetition * i + n.sigma * self.z;
        if n.skew > 0.0 {
            factor += n.skew * (self.stream.exponential() - std::f64::consts::LN_2);
        }
        if self.index < u64::from(n.warmup_repetitions) {
            factor *= 1.0 + (n.warmup_factor - 1.0) * (1.0 - i / f64::from(n.warmup_repetitions));
        }
        if n.outlier_rate > 0.0 && self.stream.unit() < n.outlier_rate {
            factor *= n.outlier_factor;
        }
        self.index += 1;
        self.process * factor.max(FLOOR)
    }
}
