// What does one `matmul2d` give for raw bits: a tile by coordinates, or a fragment by registers?
//
// One SIMD-group a tile. By coordinates the operands lie in device memory; by registers every lane writes its slots of both
// inputs and of the sum, and reads its slots of the result, so no load or store hides which lane holds what.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

using Pair = dextents<int, 2>;

template <class Scope>
using One = matmul2d<matmul2d_descriptor(TILE_M, TILE_N, STEP, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED,
                                         matmul2d_descriptor::mode::MODE), Scope>;


[[kernel]] void unit_tile(device LEFT_DATA *left [[buffer(0)]], device RIGHT_DATA *right [[buffer(1)]], device DEST *addend [[buffer(2)]],
                          device DEST *dest [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]]) {
  using Left = tensor<device LEFT, Pair, tensor_inline>;
  using Right = tensor<device RIGHT, Pair, tensor_inline>;
  using Dest = tensor<device DEST, Pair, tensor_inline>;
  const int tile = int(group.x);
  Left a(left + tile * (TILE_M * STEP * LEFT_BITS / 8 / int(sizeof(LEFT_DATA))), TRANSPOSE_LEFT ? Pair(TILE_M, STEP) : Pair(STEP, TILE_M));
  Right b(right + tile * (STEP * TILE_N * RIGHT_BITS / 8 / int(sizeof(RIGHT_DATA))), TRANSPOSE_RIGHT ? Pair(STEP, TILE_N) : Pair(TILE_N, STEP));
  Dest c(addend + tile * (TILE_M * TILE_N), Pair(TILE_N, TILE_M));
  Dest d(dest + tile * (TILE_M * TILE_N), Pair(TILE_N, TILE_M));
  One<execution_simdgroup> op;
  auto sum = op.get_destination_cooperative_tensor<Left, Right, DEST>();
  sum.load(c);
  op.run(a, b, sum);
  sum.store(d);
}

#if FRAGMENTS
// Registers that a lane has of each operand in the buffers.
struct Slots { int left, right, dest; };

[[kernel]] void unit_fragment(device LEFT *left [[buffer(0)]], device RIGHT *right [[buffer(1)]], device DEST *addend [[buffer(2)]],
                              device DEST *dest [[buffer(3)]], constant Slots &slots [[buffer(4)]],
                              uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {
  using Left = tensor<device LEFT, Pair, tensor_inline>;
  using Right = tensor<device RIGHT, Pair, tensor_inline>;
  One<execution_simdgroup> op;
  auto a = op.get_left_input_cooperative_tensor<LEFT, RIGHT, DEST>();
  auto b = op.get_right_input_cooperative_tensor<LEFT, RIGHT, DEST>();
  auto sum = op.get_destination_cooperative_tensor<Left, Right, DEST>();
  const int row = int(group.x) * 32 + int(lane);
  for (ushort i = 0; i < a.get_capacity(); ++i) a[i] = left[row * slots.left + i];
  for (ushort i = 0; i < b.get_capacity(); ++i) b[i] = right[row * slots.right + i];
  for (ushort i = 0; i < sum.get_capacity(); ++i) sum[i] = addend[row * slots.dest + i];
  op.run(a, b, sum);
  for (ushort i = 0; i < sum.get_capacity(); ++i) dest[row * slots.dest + i] = sum.is_valid_element(i) ? sum[i] : DEST(0);
}
#endif
