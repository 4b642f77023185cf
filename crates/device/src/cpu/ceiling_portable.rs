//! What do the ceiling loops of the portable paths do?
//!
//! A step adds 6 to its chain by subtracting −2 × 3: a multiplication and then an addition in the same pipe as the kernels'.
//! (Of a plain addition the compiler may swap the operands, and then moves every sum through a second register.)
//! One operand is pinned, so the product cannot be hoisted; the sums of floats are pinned too, so that neighbours do
//! not become a vector, nor vectors of pairs. The scalar integer loop takes its chain through `5·x + 3` modulo 2^32, the tiled one adds 2 × 3.

use super::ceiling::{Loop, Rule, by_chains, unrolled};
use super::pin::{pin_f32, pin_f32x4, pin_f64, pin_f64x2, pin_i16x8, pin_i32};
use std::hint::black_box;

/// Numbers of chains of the float loops, in order of growing parallelism.
pub const CHAINS: [usize; 5] = [2, 4, 8, 10, 12];

/// Numbers of chains of the scalar integer loop: general registers are fewer, and one multiplication a cycle is usual.
pub const SCALAR_INTEGER_CHAINS: [usize; 4] = [2, 5, 6, 8];

/// Numbers of chains of the tiled integer loop; a chain takes two registers.
pub const TILED_INTEGER_CHAINS: [usize; 3] = [1, 3, 5];

const SIX: Rule = Rule { multiplier: 1, increment: 6 };

macro_rules! scalar_loop {
    ($name:ident, $run:ident, $type:ty, $pin:ident) => {
        fn $run<const N: usize>(steps: u64, lanes: &mut [$type]) {
            let (mut x, y): ($type, $type) = (-2.0, black_box(3.0));
            // Pinned from the start, or the compiler keeps all sums in one vector of its own and takes it apart each step.
            let mut sums: [$type; N] = std::array::from_fn(|i| $pin(lanes[i]));
            for _ in 0..steps {
                unrolled::<N>(|i| {
                    x = $pin(x);
                    sums[i] = $pin(sums[i] - x * y);
                });
            }
            lanes.copy_from_slice(&sums);
        }

        /// One multiplication and one addition a step, one element each.
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [2, 4, 8, 10, 12])?;
            Some(Loop { chains, lanes: 1, operations: 2, rule: SIX, body })
        }
    };
}

scalar_loop!(scalar_f32, run_scalar_f32, f32, pin_f32);
scalar_loop!(scalar_f64, run_scalar_f64, f64, pin_f64);

fn run_scalar_i32<const N: usize>(steps: u64, lanes: &mut [i32]) {
    let (factor, increment) = (black_box(5_i32), black_box(3_i32));
    let mut chains: [i32; N] = std::array::from_fn(|i| lanes[i]);
    for _ in 0..steps {
        unrolled::<N>(|i| chains[i] = pin_i32(chains[i].wrapping_mul(factor).wrapping_add(increment)));
    }
    lanes.copy_from_slice(&chains);
}

/// One multiplication and one addition a step, one element each.
pub fn scalar_i32(chains: usize) -> Option<Loop<i32>> {
    let body = by_chains!(chains, run_scalar_i32, [2, 5, 6, 8])?;
    Some(Loop { chains, lanes: 1, operations: 2, rule: Rule { multiplier: 5, increment: 3 }, body })
}

macro_rules! tiled_loop {
    ($name:ident, $run:ident, $type:ty, $lanes:literal, $pin:ident) => {
        fn $run<const N: usize>(steps: u64, lanes: &mut [$type]) {
            let (mut x, y) = ([-2.0; $lanes], black_box([3.0; $lanes]));
            let mut sums: [[$type; $lanes]; N] =
                std::array::from_fn(|i| $pin(std::array::from_fn(|j| lanes[i * $lanes + j])));
            for _ in 0..steps {
                unrolled::<N>(|i| {
                    x = $pin(x);
                    for j in 0..$lanes {
                        sums[i][j] -= x[j] * y[j];
                    }
                    // Pinned, or the compiler turns the sums round and pairs lanes of neighbours.
                    sums[i] = $pin(sums[i]);
                });
            }
            lanes.copy_from_slice(sums.as_flattened());
        }

        /// One multiplication and one addition a step, on as many lanes as 128 bits hold.
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [2, 4, 8, 10, 12])?;
            Some(Loop { chains, lanes: $lanes, operations: 2 * $lanes, rule: SIX, body })
        }
    };
}

tiled_loop!(tiled_f32, run_tiled_f32, f32, 4, pin_f32x4);
tiled_loop!(tiled_f64, run_tiled_f64, f64, 2, pin_f64x2);

fn run_tiled_i32<const N: usize>(steps: u64, lanes: &mut [i32]) {
    let (mut x, y) = ([2_i16; 8], black_box([3_i16; 8]));
    let mut sums: [[i32; 8]; N] = std::array::from_fn(|i| std::array::from_fn(|j| lanes[i * 8 + j]));
    for _ in 0..steps {
        unrolled::<N>(|i| {
            x = pin_i16x8(x);
            for j in 0..8 {
                sums[i][j] = sums[i][j].wrapping_add(i32::from(x[j].wrapping_mul(y[j])));
            }
        });
    }
    lanes.copy_from_slice(sums.as_flattened());
}

/// One 16-bit multiplication, one widening and one addition a step, on eight lanes.
pub fn tiled_i32(chains: usize) -> Option<Loop<i32>> {
    let body = by_chains!(chains, run_tiled_i32, [1, 3, 5])?;
    Some(Loop { chains, lanes: 8, operations: 16, rule: SIX, body })
}
