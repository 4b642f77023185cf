// How fast is a product with plain threadgroup tiles and no matrix instruction?
//
// The dull baseline: TILE × TILE threads, one element of C each; a tile of A and of B in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

struct Extents { int m, n, k, wide, left, right, dest; };

[[kernel]] void tiled(device LEFT *a [[buffer(0)]], device RIGHT *b [[buffer(1)]], device DEST *c [[buffer(2)]],
                      constant Extents &e [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]],
                      uint thread_number [[thread_index_in_threadgroup]]) {
  THREADGROUP_ARRAY ACCUMULATE a_tile[TILE][TILE];
  THREADGROUP_ARRAY ACCUMULATE b_tile[TILE][TILE];
  const int x = int(thread_number % TILE), y = int(thread_number / TILE);
  const int row = int(group.y) * TILE + y, col = int(group.x) * TILE + x;
  ACCUMULATE sum = ACCUMULATE(0);
  for (int from = 0; from < e.k; from += TILE) {
    a_tile[y][x] = row < e.m && from + x < e.k ? ACCUMULATE(a[row * e.left + from + x]) : ACCUMULATE(0);
    b_tile[y][x] = col < e.n && from + y < e.k ? ACCUMULATE(b[(from + y) * e.right + col]) : ACCUMULATE(0);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int k = 0; k < TILE; ++k) sum = MULTIPLY_ADD(a_tile[y][k], b_tile[k][x], sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (row < e.m && col < e.n) c[row * e.dest + col] = DEST(sum);
}
