//! At which frequency does this core run right now?
//!
//! A chain of additions, each of which needs the result of the one before, takes one core cycle per
//! addition on every processor that Rigel knows. Its length over its time is the core clock. Three windows
//! of about ten microseconds are timed and the fastest counts, so that an interrupt in one of them does no harm.
//!
//! What it misses: it sees the calling thread's core only, just after the work and not during it; a
//! processor that slows down for wide vectors may have recovered by then; time that a hypervisor takes away
//! in every window reads as a lower clock. Interruptions only lengthen a window, so they cannot make it read
//! high. A core that finished dependent register additions in less than a cycle each would, and so would a
//! system clock that runs slow; neither is tested for.

use rigel_numerics::Megahertz;
use std::time::{Duration, Instant};

/// Additions in one window: about 11 µs at 3.6 GHz.
const ADDITIONS: u64 = 40_960;
const WINDOWS: usize = 3;

/// Work that must have passed since the last probe for a new one to cost at most 5 % of it.
const INTERVAL: Duration = Duration::from_micros(700);

/// Attaches a core clock to repetitions without spending more than a twentieth of their time on it.
pub struct ClockProbe {
    unprobed: Duration,
    last: Option<Megahertz>,
}

impl Default for ClockProbe {
    /// A probe that has not measured yet.
    fn default() -> Self {
        ClockProbe { unprobed: INTERVAL, last: None }
    }
}

impl ClockProbe {
    /// The clock to report for a repetition that took `time` and has just ended: measured now, or, for
    /// repetitions shorter than 0.7 ms, shared with the others of the same 0.7 ms.
    pub fn after(&mut self, time: Duration) -> Option<Megahertz> {
        self.unprobed += time;
        if self.unprobed >= INTERVAL {
            self.unprobed = Duration::ZERO;
            self.last = measure();
        }
        self.last
    }
}

/// Measures the calling core's clock in about 35 µs; `None` where the chain's cost per addition is not known.
pub fn measure() -> Option<Megahertz> {
    let fastest = (0..WINDOWS)
        .filter_map(|_| {
            let start = Instant::now();
            let known = dependent_additions(ADDITIONS / 64);
            known.then(|| start.elapsed())
        })
        .min()?;
    let hertz = ADDITIONS as f64 / fastest.as_secs_f64();
    Some(Megahertz((hertz * 1e-6).round() as u32))
}

/// Runs `blocks` × 64 dependent register additions; false where this build has no such chain.
#[cfg(target_arch = "x86_64")]
fn dependent_additions(blocks: u64) -> bool {
    // SAFETY: registers only; the loop ends because `blocks` is at least 1 and counts down to 0.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "add {sum}, {one}",
            ".endr",
            "dec {count}",
            "jnz 2b",
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            count = inout(reg) blocks.max(1) => _,
            options(nomem, nostack)
        );
    }
    true
}

/// Runs `blocks` × 64 dependent register additions; false where this build has no such chain.
#[cfg(target_arch = "aarch64")]
fn dependent_additions(blocks: u64) -> bool {
    // SAFETY: registers only; the loop ends because `blocks` is at least 1 and counts down to 0.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "add {sum}, {sum}, {one}",
            ".endr",
            "subs {count}, {count}, #1",
            "b.ne 2b",
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            count = inout(reg) blocks.max(1) => _,
            options(nomem, nostack)
        );
    }
    true
}

/// Runs `blocks` × 64 dependent register additions; false where this build has no such chain.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn dependent_additions(_blocks: u64) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_repetitions_share_a_clock() {
        let mut probe = ClockProbe::default();
        let first = probe.after(Duration::from_nanos(100));
        assert_eq!(first.is_some(), cfg!(any(target_arch = "x86_64", target_arch = "aarch64")));
        assert_eq!(probe.after(Duration::from_nanos(100)), first);
    }
}
