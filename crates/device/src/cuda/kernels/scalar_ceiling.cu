// CHAINS independent sums a thread, each of which a step raises by exactly 1; operands never leave the registers.
//
// Chain i starts at start + i, in every round anew. After a round's last step every sum must be start + i + steps: a thread stores how
// many are not.
// f16 goes two to a register, as the instruction takes them.

#if defined(ELEMENT_F16_IN_F16)
typedef u32 Lane;
__device__ __forceinline__ Lane step_of(Lane x, Lane y, Lane sum) {
  Lane next;
  asm volatile("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(next) : "r"(x), "r"(y), "r"(sum));
  return next;
}
__device__ __forceinline__ Lane lane(int x) { return u32(number(x)) * 0x10001u; }
#else
typedef Sum Lane;
__device__ __forceinline__ Lane step_of(Lane x, Lane y, Lane sum) {
  Lane next;
#if defined(ELEMENT_F64)
  asm volatile("fma.rn.f64 %0, %1, %2, %3;" : "=d"(next) : "d"(x), "d"(y), "d"(sum));
#elif defined(ELEMENT_I8)
  asm volatile("mad.lo.s32 %0, %1, %2, %3;" : "=r"(next) : "r"(x), "r"(y), "r"(sum));
#else
  asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=f"(next) : "f"(x), "f"(y), "f"(sum));
#endif
  return next;
}
__device__ __forceinline__ Lane lane(int x) { return number(x); }
#endif

extern "C" __global__ void ceiling(int* wrong, int start, int steps, int rounds, int one) {
  const Lane x = lane(one), y = lane(one);
  int bad = 0;
  for (int round = 0; round < rounds; ++round) {
    Lane sums[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sums[i] = lane(start + i);
    for (int step = 0; step < steps; step += 4) {
#pragma unroll
      for (int again = 0; again < 4; ++again)
#pragma unroll
        for (int i = 0; i < CHAINS; ++i) sums[i] = step_of(x, y, sums[i]);
    }
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) bad += sums[i] != lane(start + i + steps);
  }
  wrong[blockIdx.x * blockDim.x + threadIdx.x] = bad;
}
