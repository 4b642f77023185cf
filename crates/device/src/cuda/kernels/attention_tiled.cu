// softmax(Q * K^T / sqrt(HEAD)) * V without a matrix instruction, in one kernel: 64 queries a block, 64 keys at a time, f32 inside.
//
// 256 threads stand as 16 x 16: a thread owns four rows, of the scores every 16th key, of the output four neighbouring columns of each 64.
// K and V take turns in one place of shared memory; weights pass through shared memory, since their rows are spread over 16 lanes.

#define TILE 64
#define PITCH (HEAD + 4)
#define PITCH_W (TILE + 4)
#define PARTS (HEAD / 64)

extern __shared__ __align__(16) float shared[];

__device__ __forceinline__ void copy(const In* from, float* to) {
#pragma unroll
  for (int i = threadIdx.x; i < TILE * HEAD / 8; i += 256) {
    const Chunk chunk = load(from + i * 8);
    float* at = to + i / (HEAD / 8) * PITCH + i % (HEAD / 8) * 8;
    float4 x[2];
    float* wide = reinterpret_cast<float*>(x);
#pragma unroll
    for (int e = 0; e < 8; ++e) wide[e] = decoded(chunk.elements[e]);
    reinterpret_cast<float4*>(at)[0] = x[0];
    reinterpret_cast<float4*>(at)[1] = x[1];
  }
}

extern "C" __global__ void __launch_bounds__(256)
attention(const In* q, const In* k, const In* v, float* o, int keys) {
  float* queries = shared;
  float* both = queries + TILE * PITCH;
  float* weights = both + TILE * PITCH;
  const int first = blockIdx.x * TILE, head = first / keys * keys, down = threadIdx.x / 16 * 4, across = threadIdx.x % 16;
  copy(q + size_t(first) * HEAD, queries);
  float4 sums[4][PARTS] = {};
  Row rows[4];

  for (int tile = 0; tile < keys; tile += TILE) {
    __syncthreads();
    copy(k + size_t(head + tile) * HEAD, both);
    __syncthreads();
    float scores[4][4] = {};
#pragma unroll 4
    for (int c = 0; c < HEAD; c += 4) {
      float4 x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = *reinterpret_cast<const float4*>(queries + (down + i) * PITCH + c);
#pragma unroll
      for (int j = 0; j < 4; ++j) y[j] = *reinterpret_cast<const float4*>(both + (across + 16 * j) * PITCH + c);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          scores[i][j] = fmaf(x[i].x, y[j].x, scores[i][j]);
          scores[i][j] = fmaf(x[i].y, y[j].y, scores[i][j]);
          scores[i][j] = fmaf(x[i].z, y[j].z, scores[i][j]);
          scores[i][j] = fmaf(x[i].w, y[j].w, scores[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float most = fmaxf(fmaxf(scores[i][0], scores[i][1]), fmaxf(scores[i][2], scores[i][3]));
      const float shrink = rows[i].grow(largest_of<16>(most));
#pragma unroll
      for (int part = 0; part < PARTS; ++part)
        sums[i][part] = make_float4(sums[i][part].x * shrink, sums[i][part].y * shrink, sums[i][part].z * shrink, sums[i][part].w * shrink);
#pragma unroll
      for (int j = 0; j < 4; ++j) weights[(down + i) * PITCH_W + across + 16 * j] = rows[i].weight(scores[i][j]);
    }
    __syncthreads();
    copy(v + size_t(head + tile) * HEAD, both);
    __syncthreads();
#pragma unroll 4
    for (int key = 0; key < TILE; key += 4) {
      float4 w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) w[i] = *reinterpret_cast<const float4*>(weights + (down + i) * PITCH_W + key);
#pragma unroll
      for (int e = 0; e < 4; ++e)
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
          const float4 y = *reinterpret_cast<const float4*>(both + (key + e) * PITCH + part * 64 + across * 4);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float x = reinterpret_cast<const float*>(&w[i])[e];
            sums[i][part].x = fmaf(x, y.x, sums[i][part].x);
            sums[i][part].y = fmaf(x, y.y, sums[i][part].y);
            sums[i][part].z = fmaf(x, y.z, sums[i][part].z);
            sums[i][part].w = fmaf(x, y.w, sums[i][part].w);
          }
        }
    }
  }

#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float share = 1.0f / sum_of<16>(rows[i].sum);
    float* to = o + size_t(first + down + i) * HEAD + across * 4;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const float4 x = sums[i][part];
      *reinterpret_cast<float4*>(to + part * 64) = make_float4(x.x * share, x.y * share, x.z * share, x.w * share);
    }
  }
}
