//! How does a register tile look with 256-bit vectors and fused multiply–add?
//!
//! Sixteen registers: 6 × 2 vectors of accumulators, two of B, one or two elements of A spread over all lanes.

use super::kernel::Kernel;
use std::arch::x86_64::*;

macro_rules! avx2_kernel {
    ($(#[$doc:meta])* $name:ident, $operand:ty => $sum:ty, $lanes:literal lanes by $group:literal,
     zero: $zero:ident, b: $load_b:expr, a: $spread:expr, step: $step:expr, add: $add:ident, load: $load:expr, store: $store:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl $name {
            #[target_feature(enable = "avx2,fma")]
            unsafe fn tile(groups: usize, mut a: *const $operand, mut b: *const $operand, c: *mut $sum, stride: usize, first: bool) {
                // SAFETY: the caller vouches for the panels and for the tile of C.
                unsafe {
                    let mut sums = [[$zero(); 2]; 6];
                    for _ in 0..groups {
                        let b0 = $load_b(b);
                        let b1 = $load_b(b.add($lanes * $group));
                        for (i, row) in sums.iter_mut().enumerate() {
                            let x = $spread(a.add(i * $group));
                            row[0] = $step(x, b0, row[0]);
                            row[1] = $step(x, b1, row[1]);
                        }
                        a = a.add(6 * $group);
                        b = b.add(2 * $lanes * $group);
                    }
                    for (i, row) in sums.into_iter().enumerate() {
                        for (j, sum) in row.into_iter().enumerate() {
                            let to = c.add(i * stride + j * $lanes);
                            $store(to, if first { sum } else { $add($load(to), sum) });
                        }
                    }
                }
            }

            #[target_feature(enable = "avx2,fma")]
            fn enabled(work: impl FnOnce()) {
                work();
            }
        }

        impl Kernel for $name {
            type A = $operand;
            type B = $operand;
            type C = $sum;
            const ROWS: usize = 6;
            const COLUMNS: usize = 2 * $lanes;
            const GROUP: usize = $group;

            #[inline(always)]
            unsafe fn multiply(groups: usize, a: *const $operand, b: *const $operand, c: *mut $sum, stride: usize, first: bool) {
                // SAFETY: the caller vouches for features, panels and tile.
                unsafe { Self::tile(groups, a, b, c, stride, first) }
            }

            #[inline(always)]
            unsafe fn with_features(work: impl FnOnce()) {
                // SAFETY: the caller vouches for the features.
                unsafe { Self::enabled(work) }
            }
        }
    };
}

avx2_kernel!(
    /// f32: `VFMADD231PS`.
    Avx2F32, f32 => f32, 8 lanes by 1,
    zero: _mm256_setzero_ps, b: |p| _mm256_load_ps(p), a: |p: *const f32| _mm256_set1_ps(*p), step: _mm256_fmadd_ps,
    add: _mm256_add_ps, load: |p| _mm256_loadu_ps(p), store: |p, v| _mm256_storeu_ps(p, v)
);
avx2_kernel!(
    /// f64: `VFMADD231PD`.
    Avx2F64, f64 => f64, 4 lanes by 1,
    zero: _mm256_setzero_pd, b: |p| _mm256_load_pd(p), a: |p: *const f64| _mm256_set1_pd(*p), step: _mm256_fmadd_pd,
    add: _mm256_add_pd, load: |p| _mm256_loadu_pd(p), store: |p, v| _mm256_storeu_pd(p, v)
);
avx2_kernel!(
    /// 8-bit integers widened to 16 bits: `VPMADDWD` sums the products of a pair, `VPADDD` accumulates.
    Avx2I16, i16 => i32, 8 lanes by 2,
    zero: _mm256_setzero_si256, b: |p: *const i16| _mm256_load_si256(p.cast()),
    a: |p: *const i16| _mm256_set1_epi32(p.cast::<i32>().read_unaligned()),
    step: |x, y, sum| _mm256_add_epi32(sum, _mm256_madd_epi16(x, y)),
    add: _mm256_add_epi32, load: |p: *mut i32| _mm256_loadu_si256(p.cast()), store: |p: *mut i32, v| _mm256_storeu_si256(p.cast(), v)
);
