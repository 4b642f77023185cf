//! How does a register tile look with 512-bit vectors?
//!
//! Thirty-two registers: 14 × 2 vectors of accumulators, two of B, one or two elements of A spread over all
//! lanes. Every element of A is loaded once for two instructions, every vector of B once for fourteen. The same frame
//! serves fused multiply–add, `VPMADDWD`, `VDPBF16PS` and `VPDPBUSD`; they differ in the step.

use super::kernel::Kernel;
use std::arch::x86_64::*;

/// Rows of the register tile.
pub const ROWS: usize = 14;

/// How far ahead of use a panel of B is asked for, in bytes; it comes from the second-level cache.
pub const AHEAD: usize = 512;

macro_rules! avx512_kernel {
    ($(#[$doc:meta])* $name:ident, $features:literal, $a:ty, $b:ty => $sum:ty, $lanes:literal lanes by $group:literal,
     b: $load_b:expr, a: $spread:expr, step: $step:expr, add: $add:expr, load: $load:expr, store: $store:expr,
     start: $start:expr $(, trailer: $trailer:literal, finish: $finish:path)?) => {
        $(#[$doc])*
        pub struct $name;

        impl $name {
            #[target_feature(enable = $features)]
            unsafe fn tile(groups: usize, mut a: *const $a, mut b: *const $b, c: *mut $sum, stride: usize, first: bool) {
                // SAFETY: the caller vouches for the panels and for the tile of C; a prefetch of any address is harmless.
                unsafe {
                    let trailer = b.add(groups * 2 * $lanes * $group);
                    let mut sums = [[$start(trailer), $start(trailer.add($lanes * $group))]; ROWS];
                    for i in 0..ROWS {
                        _mm_prefetch::<_MM_HINT_T0>(c.wrapping_add(i * stride).cast());
                        _mm_prefetch::<_MM_HINT_T0>(c.wrapping_add(i * stride + $lanes).cast());
                    }
                    for _ in 0..groups {
                        let b0 = $load_b(b);
                        let b1 = $load_b(b.add($lanes * $group));
                        _mm_prefetch::<_MM_HINT_T0>(b.cast::<i8>().wrapping_add(AHEAD));
                        _mm_prefetch::<_MM_HINT_T0>(b.cast::<i8>().wrapping_add(AHEAD + 64));
                        for (i, row) in sums.iter_mut().enumerate() {
                            let x = $spread(a.add(i * $group));
                            row[0] = $step(x, b0, row[0]);
                            row[1] = $step(x, b1, row[1]);
                        }
                        a = a.add(ROWS * $group);
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

            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn enabled(work: impl FnOnce()) {
                work();
            }
        }

        impl Kernel for $name {
            type A = $a;
            type B = $b;
            type C = $sum;
            const ROWS: usize = ROWS;
            const COLUMNS: usize = 2 * $lanes;
            const GROUP: usize = $group;
            $(const TRAILER: usize = $trailer;)?

            #[inline(always)]
            unsafe fn multiply(groups: usize, a: *const $a, b: *const $b, c: *mut $sum, stride: usize, first: bool) {
                // SAFETY: the caller vouches for features, panels and tile.
                unsafe { Self::tile(groups, a, b, c, stride, first) }
            }

            $(
                #[inline(always)]
                unsafe fn finish_panel(groups: usize, panel: *mut $b) {
                    // SAFETY: the caller vouches for features and panel.
                    unsafe { $finish(groups, panel) }
                }
            )?

            #[inline(always)]
            unsafe fn with_features(work: impl FnOnce()) {
                // SAFETY: the caller vouches for the features.
                unsafe { Self::enabled(work) }
            }
        }
    };
}
pub(super) use avx512_kernel;

avx512_kernel!(
    /// f32: `VFMADD231PS`.
    Avx512F32, "avx512f", f32, f32 => f32, 16 lanes by 1,
    b: |p| _mm512_load_ps(p), a: |p: *const f32| _mm512_set1_ps(*p), step: _mm512_fmadd_ps,
    add: |x, y| _mm512_add_ps(x, y), load: |p| _mm512_loadu_ps(p), store: |p, v| _mm512_storeu_ps(p, v),
    start: |_| _mm512_setzero_ps()
);
avx512_kernel!(
    /// f64: `VFMADD231PD`.
    Avx512F64, "avx512f", f64, f64 => f64, 8 lanes by 1,
    b: |p| _mm512_load_pd(p), a: |p: *const f64| _mm512_set1_pd(*p), step: _mm512_fmadd_pd,
    add: |x, y| _mm512_add_pd(x, y), load: |p| _mm512_loadu_pd(p), store: |p, v| _mm512_storeu_pd(p, v),
    start: |_| _mm512_setzero_pd()
);
avx512_kernel!(
    /// 8-bit integers widened to 16 bits: `VPMADDWD` sums the products of a pair, `VPADDD` accumulates.
    Avx512I16, "avx512f,avx512bw", i16, i16 => i32, 16 lanes by 2,
    b: |p: *const i16| _mm512_load_si512(p.cast()),
    a: |p: *const i16| _mm512_set1_epi32(p.cast::<i32>().read_unaligned()),
    step: |x, y, sum| _mm512_add_epi32(sum, _mm512_madd_epi16(x, y)),
    add: |x, y| _mm512_add_epi32(x, y), load: |p: *mut i32| _mm512_loadu_si512(p.cast()),
    store: |p: *mut i32, v| _mm512_storeu_si512(p.cast(), v), start: |_| _mm512_setzero_si512()
);
