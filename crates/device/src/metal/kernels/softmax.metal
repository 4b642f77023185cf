// What does softmax cost as a pass of its own, between the two products of attention?
//
// One SIMD-group a row of scores; weights are rounded to the type that the second product takes.
#include <metal_stdlib>
using namespace metal;

struct Extents { int queries, keys; float scale; };

[[kernel]] void softmax(device float *scores [[buffer(0)]], device INPUT *weights [[buffer(1)]], constant Extents &e [[buffer(2)]],
                        uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {
  device float *from = scores + int(group.x) * e.keys;
  device INPUT *to = weights + int(group.x) * e.keys;
  float greatest = -INFINITY, total = 0.0f;
  for (int key = int(lane); key < e.keys; key += 32) greatest = max(greatest, from[key] * e.scale);
  greatest = simd_max(greatest);
  for (int key = int(lane); key < e.keys; key += 32) total += precise::exp(from[key] * e.scale - greatest);
  total = simd_sum(total);
  for (int key = int(lane); key < e.keys; key += 32) to[key] = INPUT(precise::exp(from[key] * e.scale - greatest) / total);
}
