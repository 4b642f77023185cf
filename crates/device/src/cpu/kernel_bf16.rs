//! How does the product of bf16 operands use `VDPBF16PS`?
//!
//! Each f32 lane takes the two products of a pair of consecutive k. Intel's description: the odd element first,
//! then the even one, each a fused step rounded to nearest even; subnormal operands and results are taken as zero.

use super::kernel::Kernel;
use super::kernel_avx512::{AHEAD, ROWS, avx512_kernel};
use std::arch::x86_64::*;
use std::mem::transmute;

avx512_kernel!(
    /// bf16 in pairs to f32: `VDPBF16PS`.
    Avx512Bf16, "avx512f,avx512bf16", u16, u16 => f32, 16 lanes by 2,
    b: |p: *const u16| _mm512_load_si512(p.cast()),
    a: |p: *const u16| _mm512_set1_epi32(p.cast::<i32>().read_unaligned()),
    step: |x, y, sum| _mm512_dpbf16_ps(sum, transmute::<__m512i, __m512bh>(x), transmute::<__m512i, __m512bh>(y)),
    add: |x, y| _mm512_add_ps(x, y), load: |p| _mm512_loadu_ps(p), store: |p, v| _mm512_storeu_ps(p, v),
    start: |_| _mm512_setzero_ps()
);
