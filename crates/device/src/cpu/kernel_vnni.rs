//! How does the product of 8-bit integers use `VPDPBUSD`, whose first operand is unsigned?
//!
//! Each i32 lane takes the four products of a group of consecutive k, and wraps. For a signed A, packing adds 128
//! to every element; the surplus, 128 times the sum of a column of B, is the same for every row. It is
//! computed once per packed panel of B, stored behind it, and subtracted by starting the accumulators there: exact
//! modulo 2^32.

use super::kernel::Kernel;
use super::kernel_avx512::{AHEAD, ROWS, avx512_kernel};
use std::arch::x86_64::*;

avx512_kernel!(
    /// u8·i8 in groups of four to i32: `VPDPBUSD`.
    VnniU8, "avx512f,avx512vnni", u8, i8 => i32, 16 lanes by 4,
    b: |p: *const i8| _mm512_load_si512(p.cast()),
    a: |p: *const u8| _mm512_set1_epi32(p.cast::<i32>().read_unaligned()),
    step: |x, y, sum| _mm512_dpbusd_epi32(sum, x, y),
    add: |x, y| _mm512_add_epi32(x, y), load: |p: *mut i32| _mm512_loadu_si512(p.cast()),
    store: |p: *mut i32, v| _mm512_storeu_si512(p.cast(), v), start: |_| _mm512_setzero_si512()
);
avx512_kernel!(
    /// i8·i8 in groups of four to i32: `VPDPBUSD` on A + 128, less the surplus.
    VnniI8, "avx512f,avx512vnni", u8, i8 => i32, 16 lanes by 4,
    b: |p: *const i8| _mm512_load_si512(p.cast()),
    a: |p: *const u8| _mm512_set1_epi32(p.cast::<i32>().read_unaligned()),
    step: |x, y, sum| _mm512_dpbusd_epi32(sum, x, y),
    add: |x, y| _mm512_add_epi32(x, y), load: |p: *mut i32| _mm512_loadu_si512(p.cast()),
    store: |p: *mut i32, v| _mm512_storeu_si512(p.cast(), v),
    start: |p: *const i8| _mm512_load_si512(p.cast()), trailer: 1, finish: subtract_surplus
);

/// Writes −128 times the column sums of a packed panel of B behind its groups.
///
/// # Safety
/// The processor has AVX512F and AVX512_VNNI; the panel starts on 64 bytes and holds `groups` groups of 32
/// columns × 4, and room for one more.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn subtract_surplus(groups: usize, panel: *mut i8) {
    let offset = _mm512_set1_epi8(-128); // 128 as an unsigned byte
    for half in [0, 64] {
        let mut surplus = _mm512_setzero_si512();
        // SAFETY: the caller vouches for the panel.
        unsafe {
            for group in 0..groups {
                let columns = _mm512_load_si512(panel.add(group * 128 + half).cast());
                surplus = _mm512_dpbusd_epi32(surplus, offset, columns);
            }
            let start = _mm512_sub_epi32(_mm512_setzero_si512(), surplus);
            _mm512_store_si512(panel.add(groups * 128 + half).cast(), start);
        }
    }
}
