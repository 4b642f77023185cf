//! How does time pass on the software device?
//!
//! Its clock is virtual: a launch takes what its operations take at planted rates, a thousandth of a large GPU's, so that nobody
//! takes one for the other, with a little planted unrest. How long this processor works for it plays no part.

use rigel_numerics::Time;
use rigel_numerics::random::draw;

/// Kinds of what a launch spends, in the order in which the process tells them.
pub const SPENDINGS: usize = 6;

/// What passes in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Threads that are started.
    pub threads: f64,
    /// Multiply-adds of the scalar ALUs.
    pub scalar: f64,
    /// Threads that come to a barrier.
    pub meetings: f64,
    /// Multiply-adds of `simdgroup_matrix`.
    pub matrix: f64,
    /// Multiply-adds of `matmul2d` whose operands have 16 bits or more.
    pub tensor: f64,
    /// Multiply-adds of `matmul2d` with an operand of 8 bits or fewer.
    pub narrow: f64,
}

impl Rates {
    /// In the proportions that the study reports of one M4 Max: `matmul2d` at nearly the rate of the scalar ALUs, narrow types a
    /// little slower. They are planted, so they say nothing about that device.
    pub const PLANTED: Rates =
        Rates { threads: 1e9, scalar: 7.5e9, meetings: 2e8, matrix: 7.4e9, tensor: 7.4e9, narrow: 6.96e9 };
}

/// Largest part by which a launch is longer or shorter than planted.
const UNREST: f64 = 0.004;

/// The clock.
#[derive(Debug, Clone)]
pub struct Clock {
    rates: Rates,
    process: u64,
    launches: u64,
}

impl Clock {
    /// A clock with these rates.
    pub fn new(rates: Rates) -> Clock {
        Clock { rates, process: 0, launches: 0 }
    }

    /// Unrest differs from process to process.
    pub fn enter_process(&mut self, process: u32) {
        self.process = u64::from(process);
    }

    /// The time of so many launches that each spent this.
    pub fn time(&mut self, spent: &[f64; SPENDINGS], repeats: u32) -> Time {
        let Rates { threads, scalar, meetings, matrix, tensor, narrow } = self.rates;
        let rates = [threads, scalar, meetings, matrix, tensor, narrow];
        let seconds: f64 = spent.iter().zip(rates).map(|(count, rate)| count / rate).sum();
        self.launches += 1;
        let part = (draw(self.process ^ 0x6d65_7461_6c00, self.launches) >> 11) as f64 / (1_u64 << 53) as f64;
        Time::from_seconds(seconds * f64::from(repeats) * (1.0 + UNREST * (2.0 * part - 1.0)))
    }
}
