// Which element does each slot of each lane hold, by the device's own answer?
//
// For every lane: the capacity of each operand's cooperative tensor; then for every slot whether it lives and both
// coordinates as the device orders them. Words beyond the capacity stay as the host left them.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

using Pair = dextents<int, 2>;

template <class Scope>
using One = matmul2d<matmul2d_descriptor(TILE_M, TILE_N, STEP, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED,
                                         matmul2d_descriptor::mode::multiply_accumulate), Scope>;
using Left = tensor<device LEFT, Pair, tensor_inline>;
using Right = tensor<device RIGHT, Pair, tensor_inline>;


template <typename Held> void tell(const thread Held &held, device int *words, int most) {
  words[0] = held.get_capacity();
  for (ushort i = 0; i < held.get_capacity() && i < most; ++i) {
    auto at = held.get_multidimensional_index(i);
    words[1 + 3 * i] = held.is_valid_element(i) ? 1 : 0;
    words[2 + 3 * i] = at[0];
    words[3 + 3 * i] = at[1];
  }
}

[[kernel]] void layout(device int *words [[buffer(0)]], constant int &most [[buffer(1)]], uint lane [[thread_index_in_threadgroup]]) {
  One<SCOPE> op;
  const int each = 1 + 3 * most;
  auto sum = op.get_destination_cooperative_tensor<Left, Right, DEST>();
  tell(sum, words + (int(lane) * 3 + 2) * each, most);
#if FRAGMENTS
  auto a = op.get_left_input_cooperative_tensor<LEFT, RIGHT, DEST>();
  auto b = op.get_right_input_cooperative_tensor<LEFT, RIGHT, DEST>();
  tell(a, words + int(lane) * 3 * each, most);
  tell(b, words + (int(lane) * 3 + 1) * each, most);
#endif
}
