// How do scores become weights while keys go by, tile after tile?
//
// Weights are 2^((score - largest so far) * STEEPNESS), STEEPNESS = log2(e) / sqrt(HEAD). Where the largest grows, what was summed before
// shrinks by the same power.

__device__ __forceinline__ float power(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two f32 as two f16 in a word, the first in the lower half.
__device__ __forceinline__ u32 halves(float low, float high) {
  u32 both;
  asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// The largest of LANES neighbours, or their sum.
template <int LANES>
__device__ __forceinline__ float largest_of(float x) {
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
  return x;
}
template <int LANES>
__device__ __forceinline__ float sum_of(float x) {
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// A row of the output as one of its lanes sees it.
struct Row {
  float largest, sum;
  __device__ __forceinline__ Row() : largest(-INFINITY), sum(0.0f) {}
  // Takes the largest score of a tile; by what earlier sums shrink.
  __device__ __forceinline__ float grow(float tile) {
    const float before = largest;
    largest = fmaxf(before, tile);
    const float shrink = power((before - largest) * STEEPNESS);
    sum *= shrink;
    return shrink;
  }
  __device__ __forceinline__ float weight(float score) {
    const float w = power(fmaf(score, STEEPNESS, -largest * STEEPNESS));
    sum += w;
    return w;
  }
};
