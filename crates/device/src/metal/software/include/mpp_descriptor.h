// What does an operation say of itself, and which threads carry it out?
#pragma once
#include <metal_tensor>

namespace metal {
template <int N> struct execution_threads { static constexpr int threads = N, simdgroups = 0; };
template <int N> struct execution_simdgroups { static constexpr int threads = 32 * N, simdgroups = N; };
using execution_thread = execution_threads<1>;
using execution_simdgroup = execution_simdgroups<1>;
template <class S> constexpr bool is_execution_scope = false;
template <> inline constexpr bool is_execution_scope<execution_thread> = true;
template <int N> inline constexpr bool is_execution_scope<execution_simdgroups<N>> = true;
} // namespace metal

namespace mpp::tensor_ops {
template <class T> inline constexpr T dynamic_length_v = T(0x7fffffff);
constexpr bool is_dynamic_length(int k) { return k == int(metal::dynamic_extent) || k == dynamic_length_v<int>; }

struct matmul2d_descriptor {
  enum class mode { multiply = 0, multiply_accumulate = 1 };
  int m, n, k;
  bool transpose_left, transpose_right, relaxed_precision;
  mode matmul_mode;
  constexpr matmul2d_descriptor(int m_, int n_, int k_ = int(metal::dynamic_extent), bool left = false, bool right = false, bool relaxed = false, mode how = mode::multiply)
      : m(m_), n(n_), k(k_), transpose_left(left), transpose_right(right), relaxed_precision(relaxed), matmul_mode(how) {}
};
} // namespace mpp::tensor_ops
