// How fast does `simdgroup_multiply_accumulate` go, with no memory in the way?
//
// Every SIMD-group keeps CHAINS independent sums in registers. A step adds 8 times `plus` to each element and the next one 8 times
// `minus`, so after an even number of steps a sum is a small integer that the host knows.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

struct Loop { uint steps; float plus, minus, factor; };

[[kernel]] void ceiling(device DEST *out [[buffer(0)]], constant Loop &loop [[buffer(1)]], uint thread_number [[thread_position_in_grid]]) {
  const simdgroup_matrix<LEFT, 8, 8> plus = make_filled_simdgroup_matrix<LEFT, 8, 8>(LEFT(loop.plus));
  const simdgroup_matrix<LEFT, 8, 8> minus = make_filled_simdgroup_matrix<LEFT, 8, 8>(LEFT(loop.minus));
  const simdgroup_matrix<RIGHT, 8, 8> factor = make_filled_simdgroup_matrix<RIGHT, 8, 8>(RIGHT(loop.factor));
  simdgroup_matrix<DEST, 8, 8> sums[CHAINS];
  for (uint i = 0; i < CHAINS; ++i) sums[i] = make_filled_simdgroup_matrix<DEST, 8, 8>(DEST(float(i + thread_number / 32 % 4)));
  for (uint step = 0; step < loop.steps; step += 2) {
    for (uint i = 0; i < CHAINS; ++i) simdgroup_multiply_accumulate(sums[i], plus, factor, sums[i]);
    for (uint i = 0; i < CHAINS; ++i) simdgroup_multiply_accumulate(sums[i], minus, factor, sums[i]);
  }
  for (uint i = 0; i < CHAINS; ++i)
    for (uint slot = 0; slot < 2; ++slot) out[(thread_number * CHAINS + i) * SLOTS + slot] = sums[i].thread_elements()[slot];
}
