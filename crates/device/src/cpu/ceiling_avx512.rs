//! What do the ceiling loops with 512-bit vectors do?
//!
//! Each step adds the same sum of products to every lane of a chain: 2 × 3 (fused multiply–add), twice 2 × 3
//! (`VPMADDWD`), 2 × 3 + 1 × 4 (`VDPBF16PS`), 1 × 1 + 2 × 2 + 3 × 3 + 4 × (−4) (`VPDPBUSD`). The factors within a sum
//! differ, so a product that was left out would show.

use super::ceiling::{Loop, Rule, by_chains};
use std::arch::{asm, x86_64::*};
use std::mem::transmute;

/// Numbers of chains, in order of growing parallelism.
pub const CHAINS: [usize; 5] = [2, 8, 12, 16, 24];

macro_rules! vector_loop {
    ($(#[$doc:meta])* $name:ident, $run:ident, $features:literal, $type:ty, $lanes:literal, $operations:literal, increment $increment:literal,
     load: $load:expr, store: $store:expr, x: $x:expr, y: $y:expr, step: $step:expr) => {
        /// # Safety
        /// The processor has the features; there are N vectors of lanes.
        #[target_feature(enable = $features)]
        unsafe fn $run<const N: usize>(steps: u64, lanes: &mut [$type]) {
            assert_eq!(lanes.len(), N * $lanes);
            let (mut x, y) = ($x, $y);
            let start = lanes.as_mut_ptr();
            // SAFETY: the assertion bounds every access.
            let mut chains: [_; N] = std::array::from_fn(|i| unsafe { $load(start.add(i * $lanes)) });
            for _ in 0..steps {
                for chain in &mut chains {
                    // SAFETY: the block is empty; it only hides that the operand is the same every time.
                    unsafe { asm!("/* {0} */", inout(zmm_reg) x, options(nomem, nostack, preserves_flags)) };
                    *chain = $step(*chain, x, y);
                }
            }
            for (i, chain) in chains.into_iter().enumerate() {
                // SAFETY: the assertion bounds every access.
                unsafe { $store(start.add(i * $lanes), chain) };
            }
        }

        $(#[$doc])*
        pub fn $name(chains: usize) -> Option<Loop<$type>> {
            let body = by_chains!(chains, $run, [2, 8, 12, 16, 24])?;
            let rule = Rule { multiplier: 1, increment: $increment };
            Some(Loop { chains, lanes: $lanes, operations: $operations, rule, body })
        }
    };
}

vector_loop!(
    /// One `VFMADD231PS` a step.
    fma_f32, run_f32, "avx512f", f32, 16, 32, increment 6,
    load: |p: *mut f32| _mm512_loadu_ps(p), store: |p, v| _mm512_storeu_ps(p, v),
    x: _mm512_set1_ps(2.0), y: _mm512_set1_ps(3.0), step: |sum, x, y| _mm512_fmadd_ps(x, y, sum)
);
vector_loop!(
    /// One `VFMADD231PD` a step.
    fma_f64, run_f64, "avx512f", f64, 8, 16, increment 6,
    load: |p: *mut f64| _mm512_loadu_pd(p), store: |p, v| _mm512_storeu_pd(p, v),
    x: _mm512_set1_pd(2.0), y: _mm512_set1_pd(3.0), step: |sum, x, y| _mm512_fmadd_pd(x, y, sum)
);
vector_loop!(
    /// One `VPMADDWD` and one `VPADDD` a step: two products and two additions per 32-bit lane.
    madd_i16, run_i16, "avx512f,avx512bw", i32, 16, 64, increment 12,
    load: |p: *mut i32| _mm512_loadu_si512(p.cast()), store: |p: *mut i32, v| _mm512_storeu_si512(p.cast(), v),
    x: _mm512_set1_epi16(2), y: _mm512_set1_epi16(3),
    step: |sum, x, y| _mm512_add_epi32(sum, _mm512_madd_epi16(x, y))
);
vector_loop!(
    /// One `VDPBF16PS` a step: two products and two additions per 32-bit lane.
    dot_bf16, run_bf16, "avx512f,avx512bf16", f32, 16, 64, increment 10,
    load: |p: *mut f32| _mm512_loadu_ps(p), store: |p, v| _mm512_storeu_ps(p, v),
    x: _mm512_set1_epi32(0x3F80_4000), y: _mm512_set1_epi32(0x4080_4040),
    step: |sum, x, y| {
        // SAFETY: both types are 512 bits without forbidden patterns.
        unsafe { _mm512_dpbf16_ps(sum, transmute::<__m512i, __m512bh>(x), transmute::<__m512i, __m512bh>(y)) }
    }
);
vector_loop!(
    /// One `VPDPBUSD` a step: four products and four additions per 32-bit lane.
    dot_u8i8, run_u8i8, "avx512f,avx512vnni", i32, 16, 128, increment -2,
    load: |p: *mut i32| _mm512_loadu_si512(p.cast()), store: |p: *mut i32, v| _mm512_storeu_si512(p.cast(), v),
    x: _mm512_set1_epi32(0x0403_0201), y: _mm512_set1_epi32(i32::from_le_bytes([1, 2, 3, -4_i8 as u8])),
    step: |sum, x, y| _mm512_dpbusd_epi32(sum, x, y)
);
