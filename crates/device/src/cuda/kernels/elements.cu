// How does an element of A or B become a number, and a sum an element of C, without a tensor instruction?
//
// ELEMENT_* names the operands' type, WIDE the type of sums. Every conversion is exact. Codes of tf32 are f32 words.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(ELEMENT_F64)
typedef double In;
typedef double Sum;
typedef double Out;
__device__ __forceinline__ Sum decoded(In x) { return x; }
__device__ __forceinline__ Sum multiply_add(Sum x, Sum y, Sum sum) { return fma(x, y, sum); }
__device__ __forceinline__ Sum number(int x) { return x; }
#elif defined(ELEMENT_F32)
typedef float In;
typedef float Sum;
typedef float Out;
__device__ __forceinline__ Sum decoded(In x) { return x; }
__device__ __forceinline__ Sum multiply_add(Sum x, Sum y, Sum sum) { return fmaf(x, y, sum); }
__device__ __forceinline__ Sum number(int x) { return x; }
#elif defined(ELEMENT_I8)
typedef signed char In;
typedef int Sum;
typedef int Out;
__device__ __forceinline__ Sum decoded(In x) { return x; }
__device__ __forceinline__ Sum multiply_add(Sum x, Sum y, Sum sum) { return x * y + sum; }
__device__ __forceinline__ Sum number(int x) { return x; }
#elif defined(ELEMENT_F16_IN_F16)
// Sums are f16, rounded after every product and addition together.
typedef u16 In;
typedef u16 Sum;
typedef u16 Out;
__device__ __forceinline__ Sum decoded(In x) { return x; }
__device__ __forceinline__ Sum multiply_add(Sum x, Sum y, Sum sum) {
  Sum next;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(next) : "h"(x), "h"(y), "h"(sum));
  return next;
}
__device__ __forceinline__ Sum number(int x) {
  Sum half;
  asm("cvt.rn.f16.s32 %0, %1;" : "=h"(half) : "r"(x));
  return half;
}
#else
typedef float Sum;
typedef float Out;
__device__ __forceinline__ Sum multiply_add(Sum x, Sum y, Sum sum) { return fmaf(x, y, sum); }
__device__ __forceinline__ Sum number(int x) { return x; }
#if defined(ELEMENT_F16)
typedef u16 In;
__device__ __forceinline__ Sum decoded(In x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}
#elif defined(ELEMENT_BF16)
typedef u16 In;
__device__ __forceinline__ Sum decoded(In x) { return __uint_as_float(u32(x) << 16); }
#elif defined(ELEMENT_E4M3) || defined(ELEMENT_E5M2)
typedef u8 In;
__device__ __forceinline__ Sum decoded(In x) {
  u32 halves;
#if defined(ELEMENT_E4M3)
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(u16(x)));
#else
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(u16(x)));
#endif
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(u16(halves)));
  return wide;
}
#endif
#endif

// Elements of one 16-byte load.
#define CHUNK (16 / int(sizeof(In)))

union Chunk {
  uint4 words;
  In elements[CHUNK];
  __device__ __forceinline__ Chunk() {}
};

__device__ __forceinline__ Chunk load(const In* at) {
  Chunk chunk;
#if defined(BY_ELEMENT)
#pragma unroll
  for (int i = 0; i < CHUNK; ++i) chunk.elements[i] = at[i];
#else
  chunk.words = *reinterpret_cast<const uint4*>(at);
#endif
  return chunk;
}
