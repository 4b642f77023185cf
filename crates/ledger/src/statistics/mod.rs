//! What can be said about the repetitions of one cell?
//!
//! Everything here is a pure function of the times (and clocks) it is given: no clock is read, no file is opened, and
//! the same input gives the same bits again. Times come in as whole picoseconds ([`Time`]); order statistics of them are
//! exact, and a result in nanoseconds is one correctly rounded division away from an integer.
//!
//! | question | answered by |
//! | --- | --- |
//! | how long does it take? | [`median`], with [`order_interval`] and [`bootstrap_interval_closed`] |
//! | how many repetitions is that worth? | [`autocorrelation`], [`effective_n`] |
//! | did it settle, and does it move? | [`warmup`], [`drift`] |
//! | is one number enough? | [`modality`] |
//! | does one beat the other? | [`ratio_interval_over_processes`] |
//! | may sampling stop? | [`precise_enough`], [`next_look`] |
//!
//! The rules follow Hoefler & Belli, *Scientific Benchmarking of Parallel Computing Systems*, SC'15 (report medians with
//! non-parametric intervals, say how many repetitions there were, and never average rates): a rate is operations over
//! time, so the low end of a rate is operations over the high end of the time.

mod bootstrap;
mod clock_states;
mod dip;
mod drift;
mod interval;
mod median;
mod modality;
mod modes;
mod ratio;
mod resample;
mod serial;
mod shape;
mod stopping;
mod summary;
mod switching;
mod tail;
mod ties;
mod warmup;

pub use bootstrap::bootstrap_interval_closed;
pub use dip::{Exceeded, dip, dip_critical, uniform_dips};
pub use drift::{Drift, drift};
pub use interval::{Interval, LEVEL, NoInterval, order_interval, order_ranks};
pub use median::{median, sorted};
pub use modality::modality;
pub use modes::{BadModes, Kind, Modality, Mode, Split};
pub use ratio::{ratio_interval_over_processes, ratio_median};
pub use resample::{RESAMPLES, bootstrap_resample};
pub use serial::{autocorrelation, effective_n};
pub use stopping::{next_look, precise_enough};
pub use summary::{Bootstrap, Summary, summary};
pub use warmup::warmup;

use rigel_numerics::{Megahertz, Time};

/// The clock of repetition `index`; none where `clocks` is shorter or was not read there.
fn clock_at(clocks: &[Option<Megahertz>], index: usize) -> Option<Megahertz> {
    clocks.get(index).copied().flatten()
}

/// A number of repetitions as a row holds it.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Picoseconds over `parts` as nanoseconds: one division, correctly rounded for everything below 2^53 ps (2.5 hours).
fn nanoseconds(picoseconds: u128, parts: u32) -> f64 {
    picoseconds as f64 / (1000.0 * f64::from(parts))
}

/// A time in nanoseconds that prints in its shortest form (division by 1000 rounds to the nearest decimal's double;
/// multiplication by 0.001 does not).
fn ns(time: Time) -> f64 {
    nanoseconds(u128::from(time.0), 1)
}
