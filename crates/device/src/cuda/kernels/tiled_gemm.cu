// A tile of C a block through shared memory, a smaller one a thread in registers, no tensor instruction.
//
// Operands lie as for scalar_gemm.cu. TILE_M x TILE_N is the block's tile, EACH_M x EACH_N a thread's; a step is DEPTH deep.

// Elements of k, where rows lie further apart than they are long.
#ifndef EXTENT_K
#define EXTENT_K pitch
#endif

#define ACROSS (TILE_N / EACH_N)
#define THREADS (TILE_M / EACH_M * ACROSS)

__shared__ Sum shared_a[DEPTH][TILE_M + 4];
__shared__ Sum shared_b[DEPTH][TILE_N + 4];

template <int ROWS>
__device__ __forceinline__ void stage(const In* from, int pitch, Sum (*to)[ROWS + 4]) {
  constexpr int PARTS = DEPTH / CHUNK;
#pragma unroll
  for (int i = threadIdx.x; i < ROWS * PARTS; i += THREADS) {
    const int row = i / PARTS, part = i % PARTS * CHUNK;
    const Chunk chunk = load(from + size_t(row) * pitch + part);
#pragma unroll
    for (int e = 0; e < CHUNK; ++e) to[part + e][row] = decoded(chunk.elements[e]);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const In* a, const In* b, Out* c, int rows, int columns, int pitch, int pitch_c) {
  const In* from_a = a + size_t(blockIdx.y) * TILE_M * pitch;
  const In* from_b = b + size_t(blockIdx.x) * TILE_N * pitch;
  const int row = threadIdx.x / ACROSS * EACH_M, column = threadIdx.x % ACROSS * EACH_N;
  Sum sums[EACH_M][EACH_N];
#pragma unroll
  for (int i = 0; i < EACH_M * EACH_N; ++i) sums[i / EACH_N][i % EACH_N] = number(0);
  for (int k = 0; k < EXTENT_K; k += DEPTH) {
    __syncthreads();
    stage<TILE_M>(from_a + k, pitch, shared_a);
    stage<TILE_N>(from_b + k, pitch, shared_b);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < DEPTH; ++step) {
      Sum x[EACH_M], y[EACH_N];
#pragma unroll
      for (int i = 0; i < EACH_M; ++i) x[i] = shared_a[step][row + i];
#pragma unroll
      for (int j = 0; j < EACH_N; ++j) y[j] = shared_b[step][column + j];
#pragma unroll
      for (int i = 0; i < EACH_M; ++i)
#pragma unroll
        for (int j = 0; j < EACH_N; ++j) sums[i][j] = multiply_add(x[i], y[j], sums[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < EACH_M; ++i)
#pragma unroll
    for (int j = 0; j < EACH_N; ++j) {
      const int r = blockIdx.y * TILE_M + row + i, n = blockIdx.x * TILE_N + column + j;
      if (r < rows && n < columns) c[size_t(r) * pitch_c + n] = sums[i][j];
    }
}
