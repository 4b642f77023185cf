// How fast is attention in one kernel that stays on the matrix path?
//
// O = softmax(Q Kᵀ · scale) V over HEAD columns, for as many heads as there are threadgroups in y. One SIMD-group takes ROWS rows of Q and meets KEYS keys at a time: scores come from a
// `matmul2d` and go through threadgroup memory, where the lanes turn them into weights; the sums of values stay in a cooperative
// tensor that is scaled when a greater score comes, and its coordinates say which row an element belongs to. The last keys go to an
// operation with dynamic k, because a fixed one reads past the end.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

struct Extents { int queries, keys; float scale; };

using Pair = dextents<int, 2>;
using Mode = matmul2d_descriptor::mode;
using Input = tensor<device INPUT, Pair, tensor_inline>;
using Output = tensor<device OUTPUT, Pair, tensor_inline>;
using Scores = tensor<threadgroup float, Pair, tensor_inline>;
using Weights = tensor<threadgroup INPUT, Pair, tensor_inline>;

template <class Scope> using Score = matmul2d<matmul2d_descriptor(ROWS, KEYS, HEAD, false, true, false, Mode::multiply), Scope>;
template <class Scope> using Sum = matmul2d<matmul2d_descriptor(ROWS, HEAD, KEYS, false, false, false, Mode::multiply_accumulate), Scope>;
template <class Scope> using Rest = matmul2d<matmul2d_descriptor(ROWS, HEAD, dynamic_length_v<int>, false, false, false, Mode::multiply_accumulate), Scope>;

[[kernel]] void attention_matmul2d(device INPUT *q [[buffer(0)]], device INPUT *k [[buffer(1)]], device INPUT *v [[buffer(2)]],
                                   device OUTPUT *o [[buffer(3)]], constant Extents &e [[buffer(4)]],
                                   uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {
  THREADGROUP_ARRAY float score_tile[ROWS * KEYS];
  THREADGROUP_ARRAY INPUT weight_tile[ROWS * KEYS];
  THREADGROUP_ARRAY float shrinks[ROWS], totals[ROWS], greatest[ROWS];
  const int first = int(group.x) * ROWS, head = int(group.y);
  q += head * e.queries * HEAD, o += head * e.queries * HEAD;
  k += head * e.keys * HEAD, v += head * e.keys * HEAD;
  Input queries(q, Pair(HEAD, e.queries)), keys(k, Pair(HEAD, e.keys)), values(v, Pair(HEAD, e.keys));
  Output out(o, Pair(HEAD, e.queries));
  Scores scores(score_tile, Pair(KEYS, ROWS));
  Weights weights(weight_tile, Pair(KEYS, ROWS));
  auto mine = queries.slice(0, first);
  Score<execution_simdgroup> score;
  Sum<execution_simdgroup> add;
  Rest<execution_simdgroup> add_rest;
  auto sums = add.get_destination_cooperative_tensor<Weights, Input, OUTPUT>();
  for (ushort i = 0; i < sums.get_capacity(); ++i) sums[i] = OUTPUT(0);
  for (int row = int(lane); row < ROWS; row += 32) greatest[row] = -INFINITY, totals[row] = 0.0f;
  for (int from = 0; from < e.keys; from += KEYS) {
    auto near = keys.slice(0, from);
    auto near_values = values.slice(0, from);
    auto found = score.get_destination_cooperative_tensor<Input, Input, float>();
    for (ushort i = 0; i < found.get_capacity(); ++i) found[i] = 0.0f;
    score.run(mine, near, found);
    found.store(scores);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (int row = int(lane); row < ROWS; row += 32) {
      float next = greatest[row];
      for (int i = 0; i < KEYS && from + i < e.keys; ++i) next = max(next, score_tile[row * KEYS + i] * e.scale);
      const float shrink = precise::exp(greatest[row] - next);
      float total = totals[row] * shrink;
      for (int i = 0; i < KEYS; ++i) {
        const float weight = from + i < e.keys ? precise::exp(score_tile[row * KEYS + i] * e.scale - next) : 0.0f;
        weight_tile[row * KEYS + i] = INPUT(weight);
        total += weight;
      }
      greatest[row] = next, totals[row] = total, shrinks[row] = shrink;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort i = 0; i < sums.get_capacity(); ++i)
      if (sums.is_valid_element(i)) sums[i] *= OUTPUT(shrinks[sums.get_multidimensional_index(i)[1]]);
    if (e.keys - from >= KEYS) add.run(weights, near_values, sums);
    else {
      Weights rest(weight_tile, Pair(e.keys - from, ROWS), array<int, 2>{1, KEYS});
      add_rest.run(rest, near_values, sums);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (ushort i = 0; i < sums.get_capacity(); ++i)
    if (sums.is_valid_element(i)) sums[i] /= OUTPUT(totals[sums.get_multidimensional_index(i)[1]]);
  auto to = out.slice(0, first);
  sums.store(to);
}
