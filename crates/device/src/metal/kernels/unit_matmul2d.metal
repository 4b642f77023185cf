// What does one `matmul2d` give for raw bits: a tile by coordinates, or a fragment by registers?
//
// One SIMD-group a tile. By coordinates the operands lie in device memory, tile behind tile: in tensors that the kernel makes, the sum in
// a cooperative tensor, or in tensors of the host (HANDLE), the result where the addend was. By registers every lane writes its
// slots of both inputs and of the sum, and reads its slots of the result, so no load or store hides which lane holds what.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

using Pair = dextents<int, 2>;

template <class Scope>
using One = matmul2d<matmul2d_descriptor(TILE_M, TILE_N, STEP, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED,
                                         matmul2d_descriptor::mode::MODE), Scope>;

#if HANDLE
using Left = tensor<device LEFT, Pair, tensor_handle>;
using Right = tensor<device RIGHT, Pair, tensor_handle>;
using Dest = tensor<device DEST, Pair, tensor_handle>;
#else
#if SCALED
using Scales = tensor_blockwise<tensor_plane_scales, device metal_fp8_ue8m0_format, 32, 1>;
using Left = tensor<device LEFT, Pair, tensor_inline, Scales>;
using Right = tensor<device RIGHT, Pair, tensor_inline, Scales>;
#else
using Left = tensor<device LEFT, Pair, tensor_inline>;
using Right = tensor<device RIGHT, Pair, tensor_inline>;
#endif
using Dest = tensor<device DEST, Pair, tensor_inline>;
#endif

[[kernel]] void unit_tile(
#if HANDLE
    Left left [[buffer(0)]], Right right [[buffer(1)]], Dest dest [[buffer(2)]],
#else
    device LEFT_DATA *left [[buffer(0)]], device RIGHT_DATA *right [[buffer(1)]], device DEST *addend [[buffer(2)]],
    device DEST *dest [[buffer(3)]],
#if SCALED
    device uchar *left_scales [[buffer(5)]], device uchar *right_scales [[buffer(6)]],
#endif
#endif
    uint2 group [[threadgroup_position_in_grid]]) {
  const int tile = int(group.x);
  const int left_row = tile * (TRANSPOSE_LEFT ? STEP : TILE_M), right_row = tile * (TRANSPOSE_RIGHT ? TILE_N : STEP);
  One<execution_simdgroup> op;
#if HANDLE
  auto a = left.slice(0, left_row);
  auto b = right.slice(0, right_row);
  auto d = dest.slice(0, tile * TILE_M);
  op.run(a, b, d);
#else
  device LEFT_DATA *left_tile = left + left_row * LEFT_PITCH * LEFT_BITS / 8 / int(sizeof(LEFT_DATA));
  device RIGHT_DATA *right_tile = right + right_row * RIGHT_PITCH * RIGHT_BITS / 8 / int(sizeof(RIGHT_DATA));
  const array<int, 2> left_strides{1, LEFT_PITCH}, right_strides{1, RIGHT_PITCH};
#if SCALED
  // Rows are declared to their end, so that rows of scales are as far apart by extents and by strides; the operation takes STEP of them.
  Left a(left_tile, Pair(LEFT_PITCH, TILE_M), left_strides, Scales(left_scales + left_row * LEFT_PITCH / 32));
  Right b(right_tile, Pair(RIGHT_PITCH, TILE_N), right_strides, Scales(right_scales + right_row * RIGHT_PITCH / 32));
#else
  Left a(left_tile, TRANSPOSE_LEFT ? Pair(TILE_M, STEP) : Pair(STEP, TILE_M), left_strides);
  Right b(right_tile, TRANSPOSE_RIGHT ? Pair(STEP, TILE_N) : Pair(TILE_N, STEP), right_strides);
#endif
  Dest c(addend + tile * (TILE_M * TILE_N), Pair(TILE_N, TILE_M));
  Dest d(dest + tile * (TILE_M * TILE_N), Pair(TILE_N, TILE_M));
  auto sum = op.get_destination_cooperative_tensor<Left, Right, DEST>();
  sum.load(c);
  op.run(a, b, sum);
  sum.store(d);
#endif
}

#if FRAGMENTS
// Registers that a lane has of each operand in the buffers.
struct Slots { int left, right, dest; };

[[kernel]] void unit_fragment(device LEFT *left [[buffer(0)]], device RIGHT *right [[buffer(1)]], device DEST *addend [[buffer(2)]],
                              device DEST *dest [[buffer(3)]], constant Slots &slots [[buffer(4)]],
                              uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {
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
