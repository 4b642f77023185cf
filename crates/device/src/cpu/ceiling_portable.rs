//! What do the ceiling loops of the portable paths do?
//!
//! A fused step does not exist here: each step is a multiplication and an addition. In the float loops a chain is a pair of registers,
//! `product = product · factor` and `sum = sum + product`, so that neither waits for the other; even chains have the factor 1
//! and so count the steps, odd chains the factor −1 and so prove the multiplication. The compiler does not know
//! the factors, and the scalar chains are pinned, so that neighbours do not become a vector. Integers: `5·x + 3`
//! modulo 2^32 (scalar), or the 16-bit products of the kernel, 2 × 3, with one operand pinned (tiled).

use super::ceiling::{Loop, Rule, by_chains};
use super::pin::{pin_f32, pin_f64, pin_i16x8, pin_i32};
use std::hint::black_box;

/// Numbers of chains of the float loops, in order of growing parallelism; a chain takes two registers.
pub const CHAINS: [usize; 4] = [2, 4, 6, 7];

/// Numbers of chains of the scalar integer loop: general registers are fewer, and one multiplication a cycle is usual.
pub const SCALAR_INTEGER_CHAINS: [usize; 4] = [2, 5, 6, 8];

/// Numbers of chains of the tiled integer loop; a chain takes two registers.
pub const TILED_INTEGER_CHAINS: [usize; 3] = [1, 3, 5];

fn turning(chain: usize) -> Rule {
    if chain.is_multiple_of(2) { Rule::Affine { multiplier: 1, increment: 1 } } else { Rule::Turning }
}

fn mixing(_chain: usize) -> Rule {
    Rule::Affine { multiplier: 5, increment: 3 }
}

fn six(_chain: usize) -> Rule {
    Rule::Affine { multiplier: 1, increment: 6 }
}

macro_rules! scalar_loop {
    ($name:ident, $run:ident, $type:ty, $pin:ident) => {
        fn $run<const N: usize>(steps: u64, lanes: &mut [$type]) {
            let (one, minus_one) = (black_box(1.0), black_box(-1.0));
            let mut products: [$type; N] = [1.0; N];
            let mut sums: [$type; N] = std::array::from_fn(|i| lanes[i]);
            for _ in 0..steps {
                for i in 0..N {
                    products[i] = $pin(products[i] * (if i % 2 == 0 { one } else { minus_one }));
                    sums[i] = $pin(sums[i] + products[i]);
                }
            }
            lanes.copy_from_slice(&sums);
        }

        /// One multiplication and one addition a step, one element each.
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [2, 4, 6, 7])?;
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
            let (one, minus_one) = (black_box(1.0), black_box(-1.0));
            let mut products: [[$type; $lanes]; N] = [[1.0; $lanes]; N];
            let mut sums: [[$type; $lanes]; N] =
                std::array::from_fn(|i| std::array::from_fn(|j| lanes[i * $lanes + j]));
            for _ in 0..steps {
                for i in 0..N {
                    for j in 0..$lanes {
                        products[i][j] *= if i % 2 == 0 { one } else { minus_one };
                        sums[i][j] += products[i][j];
                    }
                }
            }
            lanes.copy_from_slice(sums.as_flattened());
        }

        /// One multiplication and one addition a step, on as many lanes as 128 bits hold.
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [2, 4, 6, 7])?;
            Some(Loop { chains, lanes: $lanes, operations: 2 * $lanes, rule: turning, body })
        }
    };
}

tiled_loop!(tiled_f32, run_tiled_f32, f32, 4);
tiled_loop!(tiled_f64, run_tiled_f64, f64, 2);

fn run_tiled_i32<const N: usize>(steps: u64, lanes: &mut [i32]) {
    let (mut x, y) = (black_box([2_i16; 8]), black_box([3_i16; 8]));
    let mut sums: [[i32; 8]; N] = std::array::from_fn(|i| std::array::from_fn(|j| lanes[i * 8 + j]));
    for _ in 0..steps {
        for sum in &mut sums {
            x = pin_i16x8(x);
            for j in 0..8 {
                sum[j] = sum[j].wrapping_add(i32::from(x[j].wrapping_mul(y[j])));
            }
        }
    }
    lanes.copy_from_slice(sums.as_flattened());
}

/// One 16-bit multiplication, one widening and one addition a step, on eight lanes.
pub fn tiled_i32(chains: usize) -> Option<Loop<i32>> {
    let body = by_chains!(chains, run_tiled_i32, [1, 3, 5])?;
    Some(Loop { chains, lanes: 8, operations: 16, rule: six, body })
}
