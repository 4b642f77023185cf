// A unit's tile of C a warp by mma.sync, operands through shared memory whose rows begin OFFSET bytes past an aligned address and lie
// DISTANCE bytes apart, read by ldmatrix.
//
// Operands lie as for mma_sync_gemm.cu. Bytes are stored one by one, so that stores take every address. multiply() and its register counts
// are written by the host for each instruction; all take 32 bytes of k.

typedef unsigned char u8;
typedef unsigned int u32;

#define SLAB 128
#define ROWS_A 16
#define ROWS_B 8

extern __shared__ __align__(1024) u8 shared[];

extern "C" __global__ void __launch_bounds__(32)
gemm(const u8* a, const u8* b, Out* c, int rows, int pitch, int pitch_c, int tiles_m, int tiles_n) {
  const int tile_row = int(blockIdx.x) / tiles_n * ROWS_A, tile_column = int(blockIdx.x) % tiles_n * ROWS_B;
  const int lane = threadIdx.x, line = lane % 8, matrix = lane / 8;
  u8* const rows_a = shared + OFFSET;
  u8* const rows_b = rows_a + ROWS_A * DISTANCE;
  Accumulator sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; ++i) sums[i] = 0;

  for (int slab = 0; slab < pitch / SLAB; ++slab) {
    __syncwarp();
    for (int i = lane; i < (ROWS_A + ROWS_B) * SLAB; i += 32) {
      const int row = i / SLAB, byte = i % SLAB;
      const u8* from = row < ROWS_A ? a + size_t(tile_row + row) * pitch : b + size_t(tile_column + row - ROWS_A) * pitch;
      rows_a[row * DISTANCE + byte] = from[slab * SLAB + byte];
    }
    __syncwarp();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Register x[4], y[2];
      const u32 at_a = u32(__cvta_generic_to_shared(rows_a + ((matrix & 1) * 8 + line) * DISTANCE + (step * 2 + (matrix >> 1)) * 16));
      const u32 at_b = u32(__cvta_generic_to_shared(rows_b + line * DISTANCE + (step * 2 + (matrix & 1)) * 16));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at_a) : "memory");
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(at_b) : "memory");
      multiply(sums, x, y);
    }
  }

  // C has whole 16 rows and a pitch of whole 16 elements, so pairs never straddle its end.
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = tile_row + lane / 4 + 8 * half, column = tile_column + 2 * (lane % 4);
    if (row < rows && column < pitch_c) *reinterpret_cast<Pair*>(c + size_t(row) * pitch_c + column) = pair(sums, 0, half);
  }
}
