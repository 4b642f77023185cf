// How fast does `matmul2d` go, with no traffic to memory in the way?
//
// Every SIMD-group keeps CHAINS independent sums in cooperative tensors. Inputs are cooperative as well where the types can be
// (FRAGMENTS); else they are one tile that every step reads again, so that it stays in the nearest cache. A step adds STEP times
// the left value of `plus` and the next one that of `minus`; the host knows the small integer that is left. Scales are all 1.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

using Pair = dextents<int, 2>;

struct Loop { uint steps; float plus, minus, factor; int left, right; };

template <class Scope>
using One = matmul2d<matmul2d_descriptor(TILE_M, TILE_N, STEP, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED,
                                         matmul2d_descriptor::mode::MODE), Scope>;

[[kernel]] void ceiling(device DEST *out [[buffer(0)]], constant Loop &loop [[buffer(1)]], device LEFT_DATA *plus_tile [[buffer(2)]],
                        device LEFT_DATA *minus_tile [[buffer(3)]], device RIGHT_DATA *factor_tile [[buffer(4)]],
#if SCALED_LEFT
                        device uchar *left_scales [[buffer(5)]],
#endif
#if SCALED_RIGHT
                        device uchar *right_scales [[buffer(6)]],
#endif
                        uint thread_number [[thread_position_in_grid]]) {
#if SCALED_LEFT
  using LeftScales = tensor_blockwise<tensor_plane_scales, device metal_fp8_ue8m0_format, 32, 1>;
  using Left = tensor<device LEFT, Pair, tensor_inline, LeftScales>;
#else
  using Left = tensor<device LEFT, Pair, tensor_inline>;
#endif
#if SCALED_RIGHT
  using RightScales = tensor_blockwise<tensor_plane_scales, device metal_fp8_ue8m0_format, 32, 1>;
  using Right = tensor<device RIGHT, Pair, tensor_inline, RightScales>;
#else
  using Right = tensor<device RIGHT, Pair, tensor_inline>;
#endif
  One<execution_simdgroup> op;
#if FRAGMENTS
  auto plus = op.get_left_input_cooperative_tensor<LEFT, RIGHT, DEST>();
  auto minus = op.get_left_input_cooperative_tensor<LEFT, RIGHT, DEST>();
  auto factor = op.get_right_input_cooperative_tensor<LEFT, RIGHT, DEST>();
  for (ushort i = 0; i < plus.get_capacity(); ++i) plus[i] = LEFT(loop.plus);
  for (ushort i = 0; i < minus.get_capacity(); ++i) minus[i] = LEFT(loop.minus);
  for (ushort i = 0; i < factor.get_capacity(); ++i) factor[i] = RIGHT(loop.factor);
#else
#if SCALED_LEFT
  Left plus(plus_tile, Pair(STEP, TILE_M), array<int, 2>{1, loop.left}, LeftScales(left_scales));
  Left minus(minus_tile, Pair(STEP, TILE_M), array<int, 2>{1, loop.left}, LeftScales(left_scales));
#else
  Left plus(plus_tile, Pair(STEP, TILE_M), array<int, 2>{1, loop.left});
  Left minus(minus_tile, Pair(STEP, TILE_M), array<int, 2>{1, loop.left});
#endif
  const Pair across = TRANSPOSE_RIGHT ? Pair(STEP, TILE_N) : Pair(TILE_N, STEP);
#if SCALED_RIGHT
  Right factor(factor_tile, across, array<int, 2>{1, loop.right}, RightScales(right_scales));
#else
  Right factor(factor_tile, across, array<int, 2>{1, loop.right});
#endif
#endif
#define BEGIN(i) \
  auto sum##i = op.get_destination_cooperative_tensor<Left, Right, DEST>(); \
  for (ushort slot = 0; slot < sum##i.get_capacity(); ++slot) sum##i[slot] = DEST(float(i + thread_number / 32 % 4));
#define ADD(i) op.run(plus, factor, sum##i);
#define TAKE(i) op.run(minus, factor, sum##i);
#define END(i) \
  for (ushort slot = 0; slot < sum##i.get_capacity() && slot < SLOTS; ++slot) \
    if (sum##i.is_valid_element(slot)) out[(thread_number * CHAINS + i) * SLOTS + slot] = sum##i[slot];
  EACH(BEGIN)
  for (uint step = 0; step < loop.steps; step += 2) {
    EACH(ADD)
    EACH(TAKE)
  }
  EACH(END)
#undef BEGIN
#undef ADD
#undef TAKE
#undef END
}
