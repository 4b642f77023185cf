// Which small mistakes does a compiler refuse, and what is the smallest edit that compiles?
//
// One macro names the mistake; EDIT mends it and changes nothing else.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

using Pair = dextents<int, 2>;
template <class T> using In = tensor<device T, Pair, tensor_inline>;

#if RENAMED
// A kernel of half in which the name of the type was changed and nothing else: memory of a format type is bytes.
#if EDIT
using Data = uchar;
#else
using Data = metal_fp8_e4m3_format;
#endif
[[kernel]] void trap(device Data *left [[buffer(0)]], device Data *right [[buffer(1)]], device float *dest [[buffer(2)]]) {
  In<metal_fp8_e4m3_format> a(left, Pair(64, 64)), b(right, Pair(64, 64));
  In<float> c(dest, Pair(64, 64));
  matmul2d<matmul2d_descriptor(16, 32, 32), execution_simdgroup> op;
  op.run(a, b, c);
}
#else
[[kernel]] void trap(device uchar *left [[buffer(0)]], device uchar *right [[buffer(1)]], device float *dest [[buffer(2)]]) {
  In<float> c(dest, Pair(64, 64));
#if HANDLE
#if EDIT
  In<metal_fp8_e4m3_format> a(left, Pair(64, 64)), b(right, Pair(64, 64));
#else
  In<metal_fp8_e4m3_format> a((device metal_fp8_e4m3_format *)left, Pair(64, 64)), b((device metal_fp8_e4m3_format *)right, Pair(64, 64));
#endif
  matmul2d<matmul2d_descriptor(16, 32, 32), execution_simdgroup> op;
  op.run(a, b, c);
#endif
#if LOCAL
  In<half> a((device half *)left, Pair(64, 64)), b((device half *)right, Pair(64, 64));
  matmul2d<matmul2d_descriptor(16, 32, 32), execution_simdgroup> op;
#if EDIT
  auto sum = op.get_destination_cooperative_tensor<remove_addrspace_t<decltype(a)>, remove_addrspace_t<decltype(b)>, float>();
#else
  auto sum = op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
#endif
  op.run(a, b, sum);
  sum.store(c);
#endif
#if ORDER
  In<half> a((device half *)left, Pair(64, 64));
  In<int8_t> b((device int8_t *)right, Pair(64, 64));
  matmul2d<matmul2d_descriptor(16, 32, 32), execution_simdgroup> op;
  auto sum = op.get_destination_cooperative_tensor<In<half>, In<int8_t>, float>();
#if EDIT
  op.run(a, b, sum);
#else
  op.run(b, a, sum);
#endif
  sum.store(c);
#endif
#if UNLISTED
#if EDIT
  In<half> a((device half *)left, Pair(64, 64));
#else
  In<bfloat> a((device bfloat *)left, Pair(64, 64));
#endif
  In<metal_fp8_e4m3_format> b(right, Pair(64, 64));
  matmul2d<matmul2d_descriptor(16, 32, 32), execution_simdgroup> op;
  op.run(a, b, c);
#endif
#if TILE
  In<half> a((device half *)left, Pair(64, 64)), b((device half *)right, Pair(64, 64));
#if EDIT
  matmul2d<matmul2d_descriptor(8, 16, 16), execution_simdgroup> op;
#else
  matmul2d<matmul2d_descriptor(8, 8, 16), execution_simdgroup> op;
#endif
  op.run(a, b, c);
#endif
}
#endif
