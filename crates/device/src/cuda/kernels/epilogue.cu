// What follows a product, on its way from registers to C or in a kernel of its own?
//
// EPILOGUE 0 adds a bias, 1 adds it and applies GELU by tanh, 2 GELU by erf. Sums are f32.

// An epilogue waits for the special function unit, so each form asks as little of it as it can.

// tanh as the device has it, off by 2^-11 at most: to the left of -3, where 1 + tanh cancels, few digits of GELU are right.
__device__ __forceinline__ float tanh_of(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float gelu_tanh(float x) {
  const float half = 0.5f * x;
  return half + half * tanh_of(x * (0.79788456080f + 0.0356774081f * (x * x)));
}

// Two neighbours share a reciprocal, of the product of their denominators. A neighbour that is infinite or no number must not spoil the
// other, so denominators are of values that are neither.

__device__ __forceinline__ float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// One over each, from one reciprocal.
__device__ __forceinline__ float2 reciprocals(float2 x) {
  float both;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(both) : "f"(x.x * x.y));
  return make_float2(x.y * both, x.x * both);
}

// erf by Abramowitz and Stegun, 7.1.26, off by 1.5e-7 at most: a polynomial and one exponential, without branches.
__device__ __forceinline__ float gelu_erf(float x, float z, float t) {
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = p * t * power_of_two(-1.4426950409f * z * z);
  return 0.5f * x * (x < 0.0f ? tail : 2.0f - tail);
}

// Beyond 16 the tail is zero in f32.
__device__ __forceinline__ float2 gelu_erf(float2 x) {
  const auto scaled = [](float x) { return fminf(fabsf(x) * 0.70710678118654752f, 16.0f); };
  const float2 z = make_float2(scaled(x.x), scaled(x.y));
  const float2 t = reciprocals(make_float2(1.0f + 0.3275911f * z.x, 1.0f + 0.3275911f * z.y));
  return make_float2(gelu_erf(x.x, z.x, t.x), gelu_erf(x.y, z.y, t.y));
}

__device__ __forceinline__ float2 activated(float2 x) {
#if EPILOGUE == 1
  return make_float2(gelu_tanh(x.x), gelu_tanh(x.y));
#elif EPILOGUE == 2
  return gelu_erf(x);
#else
  return x;
#endif
}

// The bias of column n and its neighbour; there is one for every column of a whole launch tile.
__device__ __forceinline__ float2 bias_of(const float* bias, int n) { return __ldg(reinterpret_cast<const float2*>(bias + n)); }

// Neighbours of one row.
__device__ __forceinline__ float2 finished(float2 sums, float2 added) {
  return activated(make_float2(sums.x + added.x, sums.y + added.y));
}

#if defined(ALONE)
// C in place, four numbers a thread at a time.
extern "C" __global__ void __launch_bounds__(256) activate(float4* c, int count) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
    const float4 x = c[i];
    const float2 left = activated(make_float2(x.x, x.y)), right = activated(make_float2(x.z, x.w));
    c[i] = make_float4(left.x, left.y, right.x, right.y);
  }
}
#endif
