// How fast is a product by one thread an element of C, with nothing shared?
//
// TILE × TILE threads a threadgroup. No rival, but what the scalar ALUs do when nobody helps them.
#include <metal_stdlib>
using namespace metal;

struct Extents { int m, n, k, wide, left, right, dest; };

[[kernel]] void scalar(device LEFT *a [[buffer(0)]], device RIGHT *b [[buffer(1)]], device DEST *c [[buffer(2)]],
                       constant Extents &e [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]],
                       uint thread_number [[thread_index_in_threadgroup]]) {
  const int row = int(group.y) * TILE + int(thread_number) / TILE, col = int(group.x) * TILE + int(thread_number) % TILE;
  if (row >= e.m || col >= e.n) return;
  ACCUMULATE sum = ACCUMULATE(0);
  for (int k = 0; k < e.k; ++k) sum = MULTIPLY_ADD(ACCUMULATE(a[row * e.left + k]), ACCUMULATE(b[k * e.right + col]), sum);
  c[row * e.dest + col] = DEST(sum);
}
