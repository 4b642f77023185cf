// What follows a product, on its way from registers to C or in a kernel of its own?
//
// EPILOGUE 0 adds a bias, 1 adds it and applies GELU by tanh, 2 GELU by erf. Sums are f32.

// Both forms keep their relative accuracy far to the left, where 1 + tanh and 1 + erf would cancel.
__device__ __forceinline__ float gelu_tanh(float x) {
  const float exponent = -1.5957691216057308f * (x + 0.044715f * (x * x * x));
  return __fdividef(x, 1.0f + __expf(exponent));
}

__device__ __forceinline__ float gelu_erf(float x) { return 0.5f * x * erfcf(-0.70710678118654752f * x); }

__device__ __forceinline__ float activated(float x) {
#if EPILOGUE == 1
  return gelu_tanh(x);
#elif EPILOGUE == 2
  return gelu_erf(x);
#else
  return x;
#endif
}

// Neighbours of one row; column n is the first one's.
__device__ __forceinline__ float2 finished(float2 sums, const float* bias, int n) {
  const float2 added = __ldg(reinterpret_cast<const float2*>(bias + n));
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
