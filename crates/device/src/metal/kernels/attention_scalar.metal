// How fast is attention in one kernel that leaves the matrix path: one thread a row of Q?
//
// O = softmax(Q Kᵀ · scale) V over HEAD columns, for as many heads as there are threadgroups in y. Keys are met one by one; the greatest score so far, the sum of exponentials and the
// sum of values stay in registers and are scaled when a greater score comes.
#include <metal_stdlib>
using namespace metal;

struct Extents { int queries, keys; float scale; };

[[kernel]] void attention_scalar(device INPUT *q [[buffer(0)]], device INPUT *k [[buffer(1)]], device INPUT *v [[buffer(2)]],
                                 device OUTPUT *o [[buffer(3)]], constant Extents &e [[buffer(4)]],
                                 uint2 group [[threadgroup_position_in_grid]], uint thread_number [[thread_index_in_threadgroup]]) {
  const int row = int(group.x) * THREADS + int(thread_number), head = int(group.y);
  if (row >= e.queries) return;
  q += head * e.queries * HEAD, o += head * e.queries * HEAD;
  k += head * e.keys * HEAD, v += head * e.keys * HEAD;
  float query[HEAD], sums[HEAD], greatest = -INFINITY, total = 0.0f;
  for (int i = 0; i < HEAD; ++i) {
    query[i] = float(q[row * HEAD + i]);
    sums[i] = 0.0f;
  }
  for (int key = 0; key < e.keys; ++key) {
    float score = 0.0f;
    for (int i = 0; i < HEAD; ++i) score = fma(query[i], float(k[key * HEAD + i]), score);
    score *= e.scale;
    const float next = max(greatest, score), shrink = precise::exp(greatest - next), weight = precise::exp(score - next);
    greatest = next;
    total = fma(total, shrink, weight);
    for (int i = 0; i < HEAD; ++i) sums[i] = fma(weight, float(v[key * HEAD + i]), sums[i] * shrink);
  }
  for (int i = 0; i < HEAD; ++i) o[row * HEAD + i] = OUTPUT(sums[i] / total);
}
