// One element of C a thread, one multiplication at a time, operands straight from global memory.
//
// A is rows x pitch, B is columns x pitch (its rows are the columns of the mathematical B), both padded with zeros to whole
// launch tiles and to a pitch that is a multiple of 128 bytes. TILE_M x TILE_N threads a block.

extern "C" __global__ void __launch_bounds__(TILE_M * TILE_N)
gemm(const In* a, const In* b, Out* c, int rows, int columns, int pitch, int pitch_c) {
  const int row = blockIdx.y * TILE_M + threadIdx.x / TILE_N;
  const int column = blockIdx.x * TILE_N + threadIdx.x % TILE_N;
  const In* at_a = a + size_t(row) * pitch;
  const In* at_b = b + size_t(column) * pitch;
  Sum sum = number(0);
  for (int k = 0; k < pitch; k += CHUNK) {
    const Chunk x = load(at_a + k), y = load(at_b + k);
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) sum = multiply_add(decoded(x.elements[i]), decoded(y.elements[i]), sum);
  }
  if (row < rows && column < columns) c[size_t(row) * pitch_c + column] = sum;
}
