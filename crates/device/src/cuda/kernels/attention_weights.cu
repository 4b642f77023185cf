// The middle of a decomposed attention: a row of KEYS scores in f32 becomes as many weights in f16 whose sum is 1.
//
// A block takes a row: each of THREADS threads holds its scores in registers, so the row is read once and written once.

#define EACH (KEYS / 4 / THREADS)

extern "C" __global__ void __launch_bounds__(THREADS) weights(const float4* scores, uint2* out) {
  __shared__ float parts[2][THREADS / 32];
  const size_t row = size_t(blockIdx.x) * (KEYS / 4) + threadIdx.x;
  float4 x[EACH];
  float most = -INFINITY;
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    x[i] = scores[row + i * THREADS];
    most = fmaxf(most, fmaxf(fmaxf(x[i].x, x[i].y), fmaxf(x[i].z, x[i].w)));
  }
  most = largest_of<32>(most);
  if (threadIdx.x % 32 == 0) parts[0][threadIdx.x / 32] = most;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < THREADS / 32; ++i) most = fmaxf(most, parts[0][i]);
  Row own;
  own.grow(most);
#pragma unroll
  for (int i = 0; i < EACH; ++i) x[i] = make_float4(own.weight(x[i].x), own.weight(x[i].y), own.weight(x[i].z), own.weight(x[i].w));
  const float sum = sum_of<32>(own.sum);
  if (threadIdx.x % 32 == 0) parts[1][threadIdx.x / 32] = sum;
  __syncthreads();
  float whole = 0.0f;
#pragma unroll
  for (int i = 0; i < THREADS / 32; ++i) whole += parts[1][i];
  const float share = 1.0f / whole;
#pragma unroll
  for (int i = 0; i < EACH; ++i)
    out[row + i * THREADS] = make_uint2(halves(x[i].x * share, x[i].y * share), halves(x[i].z * share, x[i].w * share));
}
