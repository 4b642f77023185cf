//! What do the ceiling loops of the portable paths do?
//!
//! Floats: even chains add 1 each step (`1·x + 1`) and so count the steps, odd chains change sign (`−1·x + 1`) and
//! so prove the multiplication. Integers: `5·x + 3` modulo 2^32. The compiler does not know the factors, and the
//! scalar chains are pinned, so that neighbours do not become a vector.

use super::ceiling::{Loop, Rule, by_chains};
use super::pin::{pin_f32, pin_f64, pin_i32};
use std::hint::black_box;

/// Numbers of chains, in order of growing parallelism.
pub const CHAINS: [usize; 4] = [4, 8, 10, 12];

/// Numbers of chains of the scalar integer loop: general registers are fewer, and one multiplication a cycle is usual.
pub const INTEGER_CHAINS: [usize; 4] = [2, 5, 6, 8];

fn turning(chain: usize) -> Rule {
    Rule { multiplier: if chain.is_multiple_of(2) { 1 } else { -1 }, increment: 1 }
}

fn mixing(_chain: usize) -> Rule {
    Rule { multiplier: 5, increment: 3 }
}

macro_rules! scalar_loop {
    ($name:ident, $run:ident, $type:ty, $pin:ident) => {
        fn $run<const N: usize>(steps: u64, lanes: &mut [$type]) {
            let (one, minus_one, increment) = (black_box(1.0), black_box(-1.0), black_box(1.0));
            let mut chains: [$type; N] = std::array::from_fn(|i| lanes[i]);
            for _ in 0..steps {
                for (i, chain) in chains.iter_mut().enumerate() {
                    *chain = $pin(*chain * (if i % 2 == 0 { one } else { minus_one }) + increment);
                }
            }
            lanes.copy_from_slice(&chains);
        }

        /// One multiplication and one addition a step, one element each.
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [4, 8, 10, 12])?;
            Some(Loop { chains, lanes: 1, operations: 2, rule: turning, body })
        }
    };
}

scalar_loop!(scalar_f32, run_scalar_f32, f32, pin_f32);
scalar_loop!(scalar_f64, run_scalar_f64, f64, pin_f64);

fn run_scalar_i32<const N: usize>(steps: u64, lanes: &mut [i32]) {
    let (factor, increment) = (black_box(5_i32), black_box(3_i32));
    let mut chains: [i32; N] = std::array::from_fn(|i| lanes[i]);
    for _ in 0..steps {
        for chain in &mut chains {
            *chain = pin_i32(chain.wrapping_mul(factor).wrapping_add(increment));
        }
    }
    lanes.copy_from_slice(&chains);
}

/// One multiplication and one addition a step, one element each.
pub fn scalar_i32(chains: usize) -> Option<Loop<i32>> {
    let body = by_chains!(chains, run_scalar_i32, [2, 5, 6, 8])?;
    Some(Loop { chains, lanes: 1, operations: 2, rule: mixing, body })
}

macro_rules! tiled_loop {
    ($name:ident, $run:ident, $type:ty, $lanes:literal) => {
        fn $run<const N: usize>(steps: u64, lanes: &mut [$type]) {
            let (one, minus_one, increment) = (black_box(1.0), black_box(-1.0), black_box(1.0));
            let mut chains: [[$type; $lanes]; N] =
                std::array::from_fn(|i| std::array::from_fn(|j| lanes[i * $lanes + j]));
            for _ in 0..steps {
                for (i, chain) in chains.iter_mut().enumerate() {
                    for lane in chain {
                        *lane = *lane * (if i % 2 == 0 { one } else { minus_one }) + increment;
                    }
                }
            }
            lanes.copy_from_slice(chains.as_flattened());
        }

        /// One multiplication and one addition a step, on as many lanes as 128 bits hold.
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [4, 8, 10, 12])?;
            Some(Loop { chains, lanes: $lanes, operations: 2 * $lanes, rule: turning, body })
        }
    };
}

tiled_loop!(tiled_f32, run_tiled_f32, f32, 4);
tiled_loop!(tiled_f64, run_tiled_f64, f64, 2);

fn run_tiled_i32<const N: usize>(steps: u64, lanes: &mut [i32]) {
    let (factor, increment) = (black_box(5_i32), black_box(3_i32));
    let mut chains: [[i32; 4]; N] = std::array::from_fn(|i| std::array::from_fn(|j| lanes[i * 4 + j]));
    for _ in 0..steps {
        for lane in chains.as_flattened_mut() {
            *lane = lane.wrapping_mul(factor).wrapping_add(increment);
        }
    }
    lanes.copy_from_slice(chains.as_flattened());
}

/// One multiplication and one addition a step, on as many lanes as 128 bits hold.
pub fn tiled_i32(chains: usize) -> Option<Loop<i32>> {
    let body = by_chains!(chains, run_tiled_i32, [4, 8, 10, 12])?;
    Some(Loop { chains, lanes: 4, operations: 8, rule: mixing, body })
}
