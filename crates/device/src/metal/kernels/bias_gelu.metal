// What does the pass after a product cost when it is a kernel of its own: bias and GELU over C in place?
#include <metal_stdlib>
using namespace metal;

struct Extents { int m, n, k, wide, left, right, dest; };

inline float gelu(float x) { return 0.5f * x * (1.0f + precise::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }

[[kernel]] void bias_gelu(device DEST *c [[buffer(2)]], constant Extents &e [[buffer(3)]], device float *bias [[buffer(4)]],
                          uint2 group [[threadgroup_position_in_grid]], uint thread_number [[thread_index_in_threadgroup]]) {
  const int col = int(group.x) * 256 + int(thread_number), row = int(group.y);
  if (row < e.m && col < e.n) c[row * e.dest + col] = DEST(gelu(float(c[row * e.dest + col]) + bias[col]));
}
