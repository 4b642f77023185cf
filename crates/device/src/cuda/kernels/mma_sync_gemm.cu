// A tile of C a block by mma.sync: operands through shared memory by cp.async, STAGES slabs of 128 bytes of k deep.
//
// Operands lie as for scalar_gemm.cu, in bytes. In shared memory a row of a slab is eight chunks of 16 bytes, chunk j of row r
// at j ^ (r & 7), so that ldmatrix meets no bank twice. multiply() and its register counts are written by the host for each
// instruction; all but f64 take 32 bytes of k.

typedef unsigned char u8;
typedef unsigned int u32;

#define WARPS_N (TILE_N / WARP_N)
#define THREADS (TILE_M / WARP_M * WARPS_N * 32)
#define SLAB 128
// Bytes of one asynchronous copy, and slabs of k, where they are not the path's own.
#ifndef COPY_BYTES
#define COPY_BYTES 16
#endif
#ifndef SLABS
#define SLABS (pitch / SLAB)
#endif
#define STAGE_BYTES ((TILE_M + TILE_N) * SLAB)
#define BLOCKS_M (WARP_M / UNIT_M)
#define BLOCKS_N (WARP_N / UNIT_N)

extern __shared__ __align__(1024) u8 shared[];

__device__ __forceinline__ u32 shared_address(const void* at) { return u32(__cvta_generic_to_shared(at)); }

__device__ __forceinline__ u32 place(int row, int chunk) { return row * SLAB + ((chunk ^ (row & 7)) << 4); }

template <int ROWS>
__device__ __forceinline__ void copy(const u8* from, size_t pitch, u32 to) {
#if COPY_BYTES == 16
#pragma unroll
  for (int i = threadIdx.x; i < ROWS * 8; i += THREADS) {
    const int row = i / 8, chunk = i % 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + place(row, chunk)), "l"(from + row * pitch + chunk * 16));
  }
#else
#pragma unroll
  for (int i = threadIdx.x; i < ROWS * SLAB / COPY_BYTES; i += THREADS) {
    const int row = i / (SLAB / COPY_BYTES), byte = i % (SLAB / COPY_BYTES) * COPY_BYTES;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to + place(row, byte / 16) + byte % 16), "l"(from + row * pitch + byte),
                 "n"(COPY_BYTES));
  }
#endif
}

#if defined(DOUBLES)
__device__ __forceinline__ double element(const u8* slab, int row, int k) {
  return *reinterpret_cast<const double*>(slab + place(row, k >> 1) + (k & 1) * 8);
}
#else
__device__ __forceinline__ void matrices(u32 from, Register& a, Register& b, Register& c, Register& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from));
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const u8* a, const u8* b, Out* c, int rows, int pitch, int pitch_c, int tiles_m, int tiles_n BIAS) {
  // Blocks that run together work on tiles near each other, so that operands are found in the L2 cache.
  const int band = GROUP * tiles_n, first = blockIdx.x / band * GROUP;
  const int high = min(tiles_m - first, GROUP), inside = blockIdx.x % band;
  const int tile_row = (first + inside % high) * TILE_M, tile_column = inside / high * TILE_N;
  const u8* from_a = a + size_t(tile_row) * pitch;
  const u8* from_b = b + size_t(tile_column) * pitch;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
  const int warp_row = warp / WARPS_N * WARP_M, warp_column = warp % WARPS_N * WARP_N;
  const int slabs = SLABS;

  Accumulator sums[BLOCKS_M][BLOCKS_N][SUMS];
#pragma unroll
  for (int i = 0; i < BLOCKS_M * BLOCKS_N * SUMS; ++i) (&sums[0][0][0])[i] = 0;

  auto fetch = [&](int slab) {
    if (slab < slabs) {
      const u32 to = shared_address(shared) + slab % STAGES * STAGE_BYTES;
      copy<TILE_M>(from_a + size_t(slab) * SLAB, pitch, to);
      copy<TILE_N>(from_b + size_t(slab) * SLAB, pitch, to + TILE_M * SLAB);
    }
    asm volatile("cp.async.commit_group;");
  };
#pragma unroll
  for (int slab = 0; slab < STAGES - 1; ++slab) fetch(slab);

  for (int slab = 0; slab < slabs; ++slab) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    fetch(slab + STAGES - 1);
#if defined(DOUBLES)
    const u8* slab_a = shared + slab % STAGES * STAGE_BYTES;
    const u8* slab_b = slab_a + TILE_M * SLAB;
    Register y[BLOCKS_N][REGISTERS_B];
#pragma unroll
    for (int j = 0; j < BLOCKS_N; ++j)
#pragma unroll
      for (int i = 0; i < REGISTERS_B; ++i) y[j][i] = element(slab_b, warp_column + j * UNIT_N + group, quad + 4 * i);
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
      Register x[REGISTERS_A];
#pragma unroll
      for (int e = 0; e < REGISTERS_A; ++e)
        x[e] = element(slab_a, warp_row + i * UNIT_M + group + 8 * (e & 1), quad + 4 * (e >> 1));
#pragma unroll
      for (int j = 0; j < BLOCKS_N; ++j) multiply(sums[i][j], x, y[j]);
    }
#else
    const u32 slab_a = shared_address(shared) + slab % STAGES * STAGE_BYTES;
    const u32 slab_b = slab_a + TILE_M * SLAB;
    const int matrix = lane / 8, line = lane % 8;
    // Operands of the next step are on their way while this one multiplies.
    Register x[2][BLOCKS_M][REGISTERS_A], y[2][BLOCKS_N][REGISTERS_B];
    auto take = [&](int step) {
      const int to = step & 1;
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i)
        matrices(slab_a + place(warp_row + i * UNIT_M + (matrix & 1) * 8 + line, step * 2 + (matrix >> 1)), x[to][i][0],
                 x[to][i][1], x[to][i][2], x[to][i][3]);
#pragma unroll
      for (int j = 0; j < BLOCKS_N; j += 2)
        matrices(slab_b + place(warp_column + j * UNIT_N + (matrix >> 1) * 8 + line, step * 2 + (matrix & 1)), y[to][j][0],
                 y[to][j][1], y[to][j + 1][0], y[to][j + 1][1]);
    };
    take(0);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      if (step < 3) take(step + 1);
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i)
#pragma unroll
        for (int j = 0; j < BLOCKS_N; ++j) multiply(sums[i][j], x[step & 1][i], y[step & 1][j]);
    }
#endif
  }

#if defined(EPILOGUE)
  float2 biases[BLOCKS_N];
#pragma unroll
  for (int j = 0; j < BLOCKS_N; ++j) biases[j] = bias_of(bias, tile_column + warp_column + j * UNIT_N + 2 * quad);
#endif
  // C has whole 16 rows and a pitch of whole 16 elements, so pairs never straddle its end.
#pragma unroll
  for (int i = 0; i < BLOCKS_M; ++i)
#pragma unroll
    for (int j = 0; j < BLOCKS_N; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = tile_row + warp_row + i * UNIT_M + group + 8 * half;
        const int column = tile_column + warp_column + j * UNIT_N + 2 * quad;
        if (row < rows && column < pitch_c)
          *reinterpret_cast<Pair*>(c + size_t(row) * pitch_c + column) = FINISHED(pair(sums[i][j], 0, half), biases[j]);
      }
}
