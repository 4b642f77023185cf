//! How fast can a path go when its operands never leave the registers, and how do we know that it really worked?
//!
//! Each chain is one accumulator register that every step changes by a fixed rule: add a product (or a sum of
//! products) that is the same small integer every time, or multiply by a constant and add another. After the last step the
//! registers are stored, and every lane must hold the integer that the rule predicts; a loop that the
//! compiler had shortened, or a chain it had left out or merged, would hold another.

use super::clock::ClockProbe;
use super::pool::Pool;
use crate::contract::{Ceiling, Fault, Sample};
use rigel_numerics::Time;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Instant;

/// What one step does to a chain: `multiplier · value + increment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Factor of the old value.
    pub multiplier: i64,
    /// What is added.
    pub increment: i64,
}

impl Rule {
    /// The value after `steps` steps from `start`, modulo 2^64.
    pub fn after(self, start: i64, steps: u64) -> i64 {
        let (mut multiplier, mut increment) = (1_i64, 0_i64);
        let (mut m, mut c, mut left) = (self.multiplier, self.increment, steps);
        while left > 0 {
            if left & 1 == 1 {
                increment = increment.wrapping_mul(m).wrapping_add(c);
                multiplier = multiplier.wrapping_mul(m);
            }
            c = c.wrapping_mul(m).wrapping_add(c);
            m = m.wrapping_mul(m);
            left >>= 1;
        }
        multiplier.wrapping_mul(start).wrapping_add(increment)
    }
}

/// An accumulator lane.
pub trait Lane: Copy + PartialEq + Display + Send + Default + 'static {
    /// The lane that holds this integer (integers: modulo their width).
    fn of(value: i64) -> Self;
}
impl Lane for f32 {
    fn of(value: i64) -> f32 {
        value as f32
    }
}
impl Lane for f64 {
    fn of(value: i64) -> f64 {
        value as f64
    }
}
impl Lane for i32 {
    fn of(value: i64) -> i32 {
        value as i32
    }
}

/// A loop of a fixed number of chains.
#[derive(Clone, Copy)]
pub struct Loop<T> {
    /// Chains: independent accumulator registers.
    pub chains: usize,
    /// Lanes of one register.
    pub lanes: usize,
    /// Operations of one step of one chain, over all lanes.
    pub operations: u64,
    /// What a step does to each of its chains.
    pub rule: Rule,
    /// Runs the steps on the lanes, chain after chain; in go the starting values, out come the results.
    ///
    /// # Safety
    /// The path's features are present, and there are `chains · lanes` lanes.
    pub body: unsafe fn(steps: u64, lanes: &mut [T]),
}

/// The loop function for a number of chains known only at run time; `None` for a number that is not listed.
macro_rules! by_chains {
    ($chains:expr, $run:ident, [$($n:literal),*]) => {
        match $chains {
            $($n => Some($run::<$n> as unsafe fn(u64, &mut [_])),)*
            _ => None,
        }
    };
}
pub(super) use by_chains;

/// Calls `step` with 0, 1, … N − 1, each in code of its own: a compiler left to unroll a loop may decide not to, and
/// then the chains lie in memory.
#[inline(always)]
pub(super) fn unrolled<const N: usize>(mut step: impl FnMut(usize)) {
    const { assert!(N <= 24) };
    macro_rules! calls {
        ($($i:literal)*) => { $(if $i < N { step($i); })* };
    }
    calls!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);
}

/// Instructions of one repetition and thread: one to two milliseconds at one a cycle.
const INSTRUCTIONS: u64 = 6_000_000;

/// The largest integer up to which every f32 sum of small integers is exact.
const EXACT_IN_F32: u64 = 1 << 24;

/// A ceiling loop on some threads.
pub struct CpuCeiling<T> {
    body: Loop<T>,
    steps: u64,
    pool: Rc<Pool>,
    results: Vec<Mutex<Vec<T>>>,
    ran: bool,
}

impl<T: Lane> CpuCeiling<T> {
    /// The loop on `threads` threads.
    ///
    /// # Safety
    /// The processor has the features of the loop's path.
    pub unsafe fn new(body: Loop<T>, threads: usize, pool: Rc<Pool>) -> Self {
        let largest = body.rule.increment.unsigned_abs().max(1);
        let steps = (INSTRUCTIONS / body.chains as u64).min(EXACT_IN_F32 / largest - 64);
        let results = (0..threads).map(|_| Mutex::new(vec![T::default(); body.chains * body.lanes])).collect();
        CpuCeiling { body, steps, pool, results, ran: false }
    }

    /// Every chain starts elsewhere, so that no two can be merged.
    fn start(chain: usize) -> i64 {
        chain as i64 + 1
    }
}

impl<T: Lane> Ceiling for CpuCeiling<T> {
    fn operations(&self) -> u64 {
        self.results.len() as u64 * self.steps * self.body.chains as u64 * self.body.operations
    }

    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault> {
        let lock = |thread: usize| self.results[thread].lock().unwrap_or_else(|e| e.into_inner());
        let mut clock = ClockProbe::default();
        let mut samples = Vec::with_capacity(repetitions);
        for _ in 0..repetitions {
            for thread in 0..self.results.len() {
                for (i, lane) in lock(thread).iter_mut().enumerate() {
                    *lane = T::of(Self::start(i / self.body.lanes));
                }
            }
            let start = Instant::now();
            self.pool.run(self.results.len(), &|thread| {
                // SAFETY: `new` demands the features and made the lanes.
                unsafe { (self.body.body)(self.steps, &mut lock(thread)) };
            });
            let time = start.elapsed();
            samples.push(Sample { time: Time::from_ns(time.as_nanos() as u64), clock: clock.after(time) });
        }
        self.ran |= repetitions > 0;
        Ok(samples)
    }

    fn check(&self) -> Result<(), String> {
        if !self.ran {
            return Err("the loop has not run yet".into());
        }
        for (thread, lanes) in self.results.iter().enumerate() {
            let lanes = lanes.lock().unwrap_or_else(|e| e.into_inner());
            for (i, &lane) in lanes.iter().enumerate() {
                let chain = i / self.body.lanes;
                let expected = T::of(self.body.rule.after(Self::start(chain), self.steps));
                if lane != expected {
                    return Err(format!(
                        "thread {thread}, chain {chain}, lane {}: {lane} after {} steps, must be {expected}",
                        i % self.body.lanes,
                        self.steps
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { multiplier: 1, increment: 6 };

    fn honest(steps: u64, lanes: &mut [f32]) {
        lanes.iter_mut().for_each(|lane| *lane += 6.0 * steps as f32);
    }

    fn check(body: unsafe fn(u64, &mut [f32])) -> Result<(), String> {
        let body = Loop { chains: 2, lanes: 4, operations: 8, rule: RULE, body };
        // SAFETY: the loop needs no features.
        let mut ceiling = unsafe { CpuCeiling::new(body, 2, Rc::new(Pool::new(2))) };
        assert!(ceiling.check().is_err(), "a loop that has not run is not checked");
        ceiling.run(2).unwrap();
        ceiling.check()
    }

    #[test]
    fn an_honest_loop_passes() {
        assert_eq!(check(honest), Ok(()));
    }

    #[test]
    fn sabotage_is_seen() {
        let sabotages: [unsafe fn(u64, &mut [f32]); 5] = [
            |_, _| {},
            |steps, lanes| honest(steps - 1, lanes),
            |steps, lanes| honest(steps, &mut lanes[..7]),
            |steps, lanes| lanes.iter_mut().for_each(|lane| *lane += 3.0 * steps as f32),
            |steps, lanes| {
                honest(steps, lanes);
                lanes.copy_within(0..4, 4);
            },
        ];
        for (i, body) in sabotages.into_iter().enumerate() {
            assert!(check(body).is_err(), "sabotage {i}");
        }
    }

    #[test]
    fn a_rule_is_its_own_repetition() {
        for (multiplier, increment) in [(1, 6), (-1, 1), (5, 3)] {
            let mut value = 7_i64;
            for steps in 0..200 {
                assert_eq!(Rule { multiplier, increment }.after(7, steps), value, "{multiplier} {steps}");
                value = value.wrapping_mul(multiplier).wrapping_add(increment);
            }
        }
    }
}
