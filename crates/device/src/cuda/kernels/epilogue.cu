// What follows a product, on its way from registers to C or in a kernel of its own?
//
// EPILOGUE 0 adds a bias, 1 adds it and applies GELU by tanh, 2 GELU by erf. Sums are f32.

// Both forms keep their relative accuracy far to the left, where 1 + tanh and 1 + erf would cancel.
__device__ __forceinline__ float gelu_tanh(float x) {
  const float exponent = -1.5957691216057308f * (x + 0.044715f * (x * x * x));
  return __fdividef(x, 1.0f + __expf(exponent));
}

// erf by Abramowitz and Stegun, 7.1.26, off by 1.5e-7 at most: a polynomial and one exponential, without branches.
__device__ __forceinline__ float gelu_erf(float x) {
  const float z = fabsf(x) * 0.70710678118654752f, t = __fdividef(1.0f, 1.0f + 0.3275911f * z);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = p * t * __expf(-z * z);
  return 0.5f * x * (x < 0.0f ? tail : 2.0f - tail);
}

__device__ __forceinline__ float activated(float x) {
#if EPILOGUE == 1
  return gelu_tanh(x);
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
  return make_float2(activated(sums.x + added.x), activated(sums.y + added.y));
}

#if defined(ALONE)
// C in place, four numbers a thread at a time.
extern "C" __global__ void __launch_bounds__(256) activate(float4* c, int count) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
    const float4 x = c[i];
    c[i] = make_float4(activated(x.x), activated(x.y), activated(x.z), activated(x.w));
  }
}
#endif
