//! What do the ceiling loops with 256-bit vectors do?
//!
//! Each step adds the same product, 2 × 3, to every lane of a chain. The result of a fused multiply–add depends
//! on the accumulator, so no step can be left out; where the product could be hoisted (`VPMADDWD`), an operand is pinned.

use super::ceiling::{Loop, Rule, by_chains};
use std::arch::{asm, x86_64::*};

/// Numbers of chains, in order of growing parallelism; two operands take the remaining registers.
pub const CHAINS: [usize; 4] = [4, 10, 12, 14];

/// Numbers of chains of the integer loop, which needs a register for the product.
pub const INTEGER_CHAINS: [usize; 4] = [2, 4, 8, 12];

macro_rules! fma_loop {
    ($name:ident, $run:ident, $type:ty, $lanes:literal, $load:ident, $store:ident, $spread:ident, $step:ident) => {
        /// # Safety
        /// The processor has AVX2 and FMA; there are N vectors of lanes.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $run<const N: usize>(steps: u64, lanes: &mut [$type]) {
            assert_eq!(lanes.len(), N * $lanes);
            let (two, three) = ($spread(2.0), $spread(3.0));
            // SAFETY: the assertion bounds every access.
            let mut chains: [_; N] = std::array::from_fn(|i| unsafe { $load(lanes.as_ptr().add(i * $lanes)) });
            for _ in 0..steps {
                for chain in &mut chains {
                    *chain = $step(two, three, *chain);
                }
            }
            for (i, chain) in chains.into_iter().enumerate() {
                // SAFETY: the assertion bounds every access.
                unsafe { $store(lanes.as_mut_ptr().add(i * $lanes), chain) };
            }
        }

        /// One fused multiply–add a step.
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [4, 10, 12, 14])?;
            Some(Loop {
                chains,
                lanes: $lanes,
                operations: 2 * $lanes,
                rule: Rule { multiplier: 1, increment: 6 },
                body,
            })
        }
    };
}

fma_loop!(fma_f32, run_f32, f32, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_fmadd_ps);
fma_loop!(fma_f64, run_f64, f64, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_fmadd_pd);

/// # Safety
/// The processor has AVX2; there are N vectors of lanes.
#[target_feature(enable = "avx2")]
unsafe fn run_i32<const N: usize>(steps: u64, lanes: &mut [i32]) {
    assert_eq!(lanes.len(), N * 8);
    let (mut two, three) = (_mm256_set1_epi16(2), _mm256_set1_epi16(3));
    // SAFETY: the assertion bounds every access.
    let mut chains: [_; N] = std::array::from_fn(|i| unsafe { _mm256_loadu_si256(lanes.as_ptr().add(i * 8).cast()) });
    for _ in 0..steps {
        for chain in &mut chains {
            // SAFETY: the block is empty; it only hides that the operand is the same every time.
            unsafe { asm!("/* {0} */", inout(ymm_reg) two, options(nomem, nostack, preserves_flags)) };
            *chain = _mm256_add_epi32(*chain, _mm256_madd_epi16(two, three));
        }
    }
    for (i, chain) in chains.into_iter().enumerate() {
        // SAFETY: the assertion bounds every access.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().add(i * 8).cast(), chain) };
    }
}

/// One `VPMADDWD` and one `VPADDD` a step: two products and two additions per 32-bit lane.
pub fn madd_i16(chains: usize) -> Option<Loop<i32>> {
    let body = by_chains!(chains, run_i32, [2, 4, 8, 12])?;
    Some(Loop { chains, lanes: 8, operations: 32, rule: Rule { multiplier: 1, increment: 12 }, body })
}
