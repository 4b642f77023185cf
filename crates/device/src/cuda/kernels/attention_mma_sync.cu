// softmax(Q * K^T / sqrt(HEAD)) * V by mma.sync in one kernel: TILE_M queries a block, TILE_N keys at a time.
//
// A warp owns 16 * BLOCKS rows. Its scores leave the matrix unit in registers, become weights there and go back as the left operand of the
// second product: the registers in which a lane holds C of two neighbouring instructions are those in which it hands over A, so nothing
// moves between lanes. Q, K and V lie row by row, HEAD f16 a row; a row in shared memory is chunks of 16 bytes, chunk j of row r at
// j ^ (r & 7). K and V have one tile each there: the next K is fetched behind the softmax, V behind the scores.

#define THREADS (WARPS * 32)
#define BLOCKS (TILE_M / WARPS / 16)
#define ROW_BYTES (HEAD * 2)
#define STEPS (HEAD / 16)
#define BYTES_Q (TILE_M * ROW_BYTES)
#define BYTES_K (TILE_N * ROW_BYTES)
// Queries stay in registers where there is room for them beside the sums.
#define KEEPS (BLOCKS * HEAD <= 128)

extern __shared__ __align__(1024) u8 shared[];

__device__ __forceinline__ u32 shared_address(const void* at) { return u32(__cvta_generic_to_shared(at)); }

__device__ __forceinline__ u32 place(int row, int chunk) { return row * ROW_BYTES + ((chunk ^ (row & 7)) << 4); }

template <int ROWS>
__device__ __forceinline__ void copy(const u8* from, u32 to) {
#pragma unroll
  for (int i = threadIdx.x; i < ROWS * (HEAD / 8); i += THREADS) {
    const int row = i / (HEAD / 8), chunk = i % (HEAD / 8);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + place(row, chunk)), "l"(from + size_t(i) * 16));
  }
  asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ void matrices(u32 from, u32& a, u32& b, u32& c, u32& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from));
}
__device__ __forceinline__ void matrices_transposed(u32 from, u32& a, u32& b, u32& c, u32& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from));
}

template <int MAY_RUN>
__device__ __forceinline__ void arrived() {
  asm volatile("cp.async.wait_group %0;" ::"n"(MAY_RUN) : "memory");
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention(const u8* q, const u8* k, const u8* v, float* o, int keys) {
  const int first = blockIdx.x * TILE_M, head = first / keys * keys, tiles = keys / TILE_N;
  const u32 at_q = shared_address(shared), at_k = at_q + BYTES_Q, at_v = at_k + BYTES_K;
  const u8* from_k = k + size_t(head) * ROW_BYTES;
  const u8* from_v = v + size_t(head) * ROW_BYTES;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, matrix = lane / 8, line = lane % 8;
  const int own = warp * BLOCKS * 16;

  copy<TILE_M>(q + size_t(first) * ROW_BYTES, at_q);
  copy<TILE_N>(from_k, at_k);

  float sums[BLOCKS][HEAD / 8][4] = {};
  Row rows[BLOCKS][2];
  u32 queries[KEEPS ? STEPS : 1][BLOCKS][4];
  auto take_queries = [&](int step, u32 (&into)[BLOCKS][4]) {
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i)
      matrices(at_q + place(own + i * 16 + (matrix & 1) * 8 + line, step * 2 + (matrix >> 1)), into[i][0], into[i][1], into[i][2],
               into[i][3]);
  };

  for (int tile = 0; tile < tiles; ++tile) {
    arrived<0>();
    copy<TILE_N>(from_v + size_t(tile) * BYTES_K, at_v);
    if (KEEPS && tile == 0) {
#pragma unroll
      for (int step = 0; step < STEPS; ++step) take_queries(step, queries[KEEPS ? step : 0]);
    }

    float scores[BLOCKS][TILE_N / 8][4] = {};
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      if (!KEEPS) take_queries(step, queries[0]);
#pragma unroll
      for (int j = 0; j < TILE_N / 8; j += 2) {
        u32 y[2][2];
        matrices(at_k + place(j * 8 + (matrix >> 1) * 8 + line, step * 2 + (matrix & 1)), y[0][0], y[0][1], y[1][0], y[1][1]);
#pragma unroll
        for (int i = 0; i < BLOCKS; ++i) {
          multiply(scores[i][j], queries[KEEPS ? step : 0][i], y[0]);
          multiply(scores[i][j + 1], queries[KEEPS ? step : 0][i], y[1]);
        }
      }
    }
    arrived<0>();
    if (tile + 1 < tiles) copy<TILE_N>(from_k + size_t(tile + 1) * BYTES_K, at_k);

#pragma unroll
    for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float most = -INFINITY;
#pragma unroll
        for (int j = 0; j < TILE_N / 8; ++j) most = fmaxf(most, fmaxf(scores[i][j][2 * half], scores[i][j][2 * half + 1]));
        const float shrink = rows[i][half].grow(largest_of<4>(most));
#pragma unroll
        for (int j = 0; j < HEAD / 8; ++j) sums[i][j][2 * half] *= shrink, sums[i][j][2 * half + 1] *= shrink;
#pragma unroll
        for (int j = 0; j < TILE_N / 8; ++j)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) scores[i][j][e] = rows[i][half].weight(scores[i][j][e]);
      }

#pragma unroll
    for (int step = 0; step < TILE_N / 16; ++step) {
      u32 weights[BLOCKS][4];
#pragma unroll
      for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float* c = scores[i][2 * step + e / 2];
          weights[i][e] = halves(c[e % 2 * 2], c[e % 2 * 2 + 1]);
        }
#pragma unroll
      for (int j = 0; j < HEAD / 8; j += 2) {
        u32 y[2][2];
        matrices_transposed(at_v + place(step * 16 + (matrix & 1) * 8 + line, j + (matrix >> 1)), y[0][0], y[0][1], y[1][0], y[1][1]);
#pragma unroll
        for (int i = 0; i < BLOCKS; ++i) {
          multiply(sums[i][j], weights[i], y[0]);
          multiply(sums[i][j + 1], weights[i], y[1]);
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float share = 1.0f / sum_of<4>(rows[i][half].sum);
      float* to = o + size_t(first + own + i * 16 + half * 8 + lane / 4) * HEAD + lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < HEAD / 8; ++j)
        *reinterpret_cast<float2*>(to + j * 8) = make_float2(sums[i][j][2 * half] * share, sums[i][j][2 * half + 1] * share);
    }
}
