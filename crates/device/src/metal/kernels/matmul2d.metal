// How does `matmul2d` multiply matrices in device memory into a tensor, or into a cooperative tensor first?
//
// HANDLE says whether the host makes the tensors or the kernel does, COOPERATIVE where the sum is kept, STEP how many k one
// operation takes (0: as many as there are). A tail of k goes to an operation with dynamic k, because a fixed step
// reads past the end. BIAS adds a bias before the one store, GELU applies it there too. An operand with a plane of scales
// (SCALED_…) is made anew for each tile (REBUILT_…) or cut out of the whole as a slice.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

// Extents of the product as declared (format types want multiples of 32, and zeros fill them up), columns of B, and elements
// from one row to the next of each operand.
struct Extents { int m, n, k, wide, left, right, dest; };

using Pair = dextents<int, 2>;
using Mode = matmul2d_descriptor::mode;
using Scope = SCOPE;

constant constexpr int ANY = dynamic_length_v<int>;

#if GELU
inline float activation(float x) { return 0.5f * x * (1.0f + precise::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }
#endif

#if HANDLE
using Left = tensor<device LEFT, Pair, tensor_handle>;
using Right = tensor<device RIGHT, Pair, tensor_handle>;
using Dest = tensor<device DEST, Pair, tensor_handle>;
#else
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
using Dest = tensor<device DEST, Pair, tensor_inline>;
#endif

// Made anew, a tensor declares whole rows whatever k it begins with, so that its scales follow one another as in the whole by extents
// and by strides; an operation takes no more than its step of them.
#if REBUILT_LEFT
inline Left left_at(device LEFT_DATA *left, device uchar *scales, constant Extents &e, int from, int row) {
  const size_t at = size_t(row) * size_t(e.left) + size_t(from);
  return Left(left + at * LEFT_BITS / 8, Pair(e.k, e.m - row), array<int, 2>{1, e.left}, LeftScales(scales + at / 32));
}
#endif
#if REBUILT_RIGHT
inline Right right_at(device RIGHT_DATA *right, device uchar *scales, constant Extents &e, int from, int col) {
  const size_t at = size_t(col) * size_t(e.right) + size_t(from);
  return Right(right + at * RIGHT_BITS / 8, Pair(e.k, e.n - col), array<int, 2>{1, e.right}, RightScales(scales + at / 32));
}
#endif

[[kernel]] void matmul2d_gemm(
#if HANDLE
    Left a [[buffer(0)]], Right b [[buffer(1)]], Dest c [[buffer(2)]],
#else
    device LEFT_DATA *left [[buffer(0)]], device RIGHT_DATA *right [[buffer(1)]], device DEST *dest [[buffer(2)]],
#endif
    constant Extents &e [[buffer(3)]],
#if BIAS
    device float *bias [[buffer(4)]],
#endif
#if SCALED_LEFT
    device uchar *left_scales [[buffer(5)]],
#endif
#if SCALED_RIGHT
    device uchar *right_scales [[buffer(6)]],
#endif
    uint2 group [[threadgroup_position_in_grid]]) {
#if !HANDLE
  const Pair left_extents = TRANSPOSE_LEFT ? Pair(e.m, e.k) : Pair(e.k, e.m);
  const Pair right_extents = TRANSPOSE_RIGHT ? Pair(e.k, e.n) : Pair(e.wide, e.k);
#if SCALED_LEFT
  Left a(left, left_extents, array<int, 2>{1, e.left}, LeftScales(left_scales));
#else
  Left a(left, left_extents, array<int, 2>{1, e.left});
#endif
#if SCALED_RIGHT
  Right b(right, right_extents, array<int, 2>{1, e.right}, RightScales(right_scales));
#else
  Right b(right, right_extents, array<int, 2>{1, e.right});
#endif
  Dest c(dest, Pair(e.n, e.m), array<int, 2>{1, e.dest});
#endif
  const int row = int(group.y) * TILE_M, col = int(group.x) * TILE_N;
  auto z = c.slice(col, row);
  constexpr auto rest = matmul2d_descriptor(TILE_M, TILE_N, ANY, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED, Mode::MODE);
  matmul2d<rest, Scope> whole;
#if COOPERATIVE
  auto sum = whole.template get_destination_cooperative_tensor<Left, Right, DEST>();
  for (ushort i = 0; i < sum.get_capacity(); ++i)
    if (sum.is_valid_element(i)) sum[i] = DEST(0);
#else
  auto sum = z;
#endif
#if STEP
  constexpr auto begun = matmul2d_descriptor(TILE_M, TILE_N, STEP, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED, Mode::MODE);
  constexpr auto more = matmul2d_descriptor(TILE_M, TILE_N, STEP, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED, Mode::multiply_accumulate);
  constexpr auto last = matmul2d_descriptor(TILE_M, TILE_N, ANY, TRANSPOSE_LEFT, TRANSPOSE_RIGHT, RELAXED, Mode::multiply_accumulate);
  matmul2d<begun, Scope> first_step;
  matmul2d<more, Scope> next_step;
  matmul2d<last, Scope> tail;
  int from = 0;
  for (; from + STEP <= e.k; from += STEP) {
#if REBUILT_LEFT
    auto x = left_at(left, left_scales, e, from, row);
#else
    auto x = TRANSPOSE_LEFT ? a.slice(row, from) : a.slice(from, row);
#endif
#if REBUILT_RIGHT
    auto y = right_at(right, right_scales, e, from, col);
#else
    auto y = TRANSPOSE_RIGHT ? b.slice(from, col) : b.slice(col, from);
#endif
    if (from == 0) first_step.run(x, y, sum);
    else next_step.run(x, y, sum);
  }
  if (from < e.k) {
#if REBUILT_LEFT
    auto x = left_at(left, left_scales, e, from, row);
#else
    auto x = TRANSPOSE_LEFT ? a.slice(row, from) : a.slice(from, row);
#endif
#if REBUILT_RIGHT
    auto y = right_at(right, right_scales, e, from, col);
#else
    auto y = TRANSPOSE_RIGHT ? b.slice(from, col) : b.slice(col, from);
#endif
    if (from == 0) whole.run(x, y, sum);
    else tail.run(x, y, sum);
  }
#else
#if REBUILT_LEFT
  auto x = left_at(left, left_scales, e, 0, row);
#else
  auto x = TRANSPOSE_LEFT ? a.slice(row, 0) : a.slice(0, row);
#endif
#if REBUILT_RIGHT
  auto y = right_at(right, right_scales, e, 0, col);
#else
  auto y = TRANSPOSE_RIGHT ? b.slice(0, col) : b.slice(col, 0);
#endif
  whole.run(x, y, sum);
#endif
#if BIAS
  for (ushort i = 0; i < sum.get_capacity(); ++i) {
    if (sum.is_valid_element(i)) {
      const int at = col + sum.get_multidimensional_index(i)[0];
#if GELU
      sum[i] = at < e.n ? DEST(activation(float(sum[i]) + bias[at])) : DEST(0);
#else
      sum[i] = at < e.n ? DEST(float(sum[i]) + bias[at]) : DEST(0);
#endif
    }
  }
#endif
#if COOPERATIVE
  sum.store(z);
#endif
}
