// How do elements under scales become bf16?
//
// ELEMENT_BITS is 8 for E4M3 and 4 for E2M1, GROUP the elements of a scale group, SCALES_UE4M3 set where scales are not E8M0. Rows have a
// multiple of 64 elements, so elements and scales are one run each. A thread makes eight elements, which lie in one scale group.
//
// Element times scale has at most 6 significant bits (2 of E2M1 by 4 of UE4M3; a power of two adds none to the 4 of E4M3): f32 and the 8
// bits of bf16 hold it, so cutting the lower half of the f32 off rounds nothing. Only E8M0 scales at either end of its range (above 2^119,
// or where the product falls below 2^-126) take it out of bf16's: it becomes an infinity, or loses bits. f16 would hold fewer: its
// exponents end at 2^15 and 2^-24.

typedef unsigned char u8;
typedef unsigned int u32;

__device__ __forceinline__ float power(int exponent) { return __uint_as_float(u32(exponent + 127) << 23); }

// Exponent and fraction are moved to where f32 has them, subnormals too; the product corrects the bias.
__device__ __forceinline__ float e4m3(u32 code) {
  const float magnitude = __uint_as_float((code & 0x7F) << 20) * power(120);
  const u32 bits = (code & 0x7F) == 0x7F ? 0x7FC00000u : __float_as_uint(magnitude);
  return __uint_as_float(bits | (code & 0x80) << 24);
}

__device__ __forceinline__ float e2m1(u32 code) {
  const float magnitude = __uint_as_float((code & 7) << 22) * power(126);
  return __uint_as_float(__float_as_uint(magnitude) | (code & 8) << 28);
}

__device__ __forceinline__ float scale_of(u32 code) {
#if defined(SCALES_UE4M3)
  return e4m3(code & 0x7F);
#else
  return __uint_as_float(code == 0 ? 1u << 22 : code == 0xFF ? 0x7FC00000u : code << 23);
#endif
}

#if ELEMENT_BITS == 8
typedef uint2 Eight;
__device__ __forceinline__ float element(Eight codes, int i) { return e4m3((i < 4 ? codes.x : codes.y) >> 8 * (i & 3) & 0xFF); }
#else
typedef u32 Eight;
__device__ __forceinline__ float element(Eight codes, int i) { return e2m1(codes >> 4 * i & 0xF); }
#endif

extern "C" __global__ void dequantise(const Eight* elements, const u8* scales, uint4* out, int eights) {
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < eights; at += gridDim.x * blockDim.x) {
    const Eight codes = elements[at];
    const float scale = scale_of(scales[at / (GROUP / 8)]);
    u32 pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 low = __float_as_uint(element(codes, 2 * i) * scale);
      const u32 high = __float_as_uint(element(codes, 2 * i + 1) * scale);
      pairs[i] = low >> 16 | (high & 0xFFFF0000u);
    }
    out[at] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
}
