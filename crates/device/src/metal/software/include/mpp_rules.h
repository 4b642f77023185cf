// Which operations does the vendor's header refuse, and in which words?
//
// RIGEL_SDK is the header's version: 261, 265 or 270. Each rule is one assertion whose text holds the words of the real
// diagnostic. 26.1 has no rule on shapes at all.
#pragma once
#include "mpp_descriptor.h"
#include "msl_cooperative.h"

namespace mpp::tensor_ops {
// A cooperative tensor that knows for which element types its operation made it.
template <class L, class R, class C, class Layout> struct made_by : Layout { using left = L; using right = R; using destination = C; };
template <class E, class L, class R, class C, class Layout>
using typed_cooperative = metal::cooperative_tensor<E, metal::extents<int, size_t(Layout::cols), size_t(Layout::rows)>, made_by<L, R, C, Layout>>;

// From which SDK on a type triple is listed; 0: never. The rows are generated from the project's table.
template <class L, class R, class D> inline constexpr int listed_since = 0;
#include "mpp_triples.inc"

template <class L, class R, class D> constexpr bool is_listed() {
  constexpr int since = listed_since<L, R, D>;
  return since != 0 && RIGEL_SDK >= since && (since < 270 || __ENVIRONMENT_OS_VERSION_MIN_REQUIRED__ >= 270000);
}

template <class T> inline constexpr bool is_cooperative = false;
template <class E, class X, class L> inline constexpr bool is_cooperative<metal::cooperative_tensor<E, X, L>> = true;
template <class E, class X, class L> inline constexpr bool is_cooperative<const metal::cooperative_tensor<E, X, L>> = true;

template <class T, class L, class R, class C> constexpr bool made_for() {
  if constexpr (is_cooperative<T>) {
    using By = typename T::layout;
    return metal::is_same_v<typename By::left, L> && metal::is_same_v<typename By::right, R> && metal::is_same_v<typename By::destination, C>;
  } else return true;
}

template <class T> inline constexpr bool is_tensor = false;
template <class T, class E, class D, class... G> inline constexpr bool is_tensor<metal::tensor<T, E, D, G...>> = true;
template <class T, class E, class D, class... G> inline constexpr bool is_tensor<const metal::tensor<T, E, D, G...>> = true;

template <class T> struct element_in { using type = typename T::value_type; };
// A const element reaches the table as it is, and no row has one.
template <class T, class E, class D, class... G> struct element_in<metal::tensor<T, E, D, G...>> { using type = metal::remove_addrspace_t<T>; };
template <class T, class E, class D, class... G> struct element_in<const metal::tensor<T, E, D, G...>> { using type = metal::remove_addrspace_t<T>; };
template <class T> using element_in_t = typename element_in<T>::type;

template <class T> constexpr bool is_sub_byte() { return metal::element<typename metal::remove_const<T>::type>::bits < 8; }

template <class T> constexpr bool is_role(metal::cooperative_role role) {
  if constexpr (is_cooperative<T>) return T::layout::role == role;
  else return true;
}

template <matmul2d_descriptor D, class Scope> constexpr void check_shape() {
#if RIGEL_SDK >= 265
  if constexpr (Scope::simdgroups > 0) {
    static_assert(D.m % 8 == 0 && D.n % 8 == 0, "M and N must be a multiple of 8 or 16 with SIMD groups");
    static_assert(D.m % 16 == 0 || D.n % 16 == 0, "At least one of M or N must be a multiple of 16");
  } else {
    constexpr auto fine = [](int x) { return x == 1 || x == 2 || x == 4 || (x > 0 && x % 8 == 0); };
    static_assert(fine(D.m) && fine(D.n), "M and N must be 1, 2, 4 or a multiple of 8 with execution_thread");
  }
  static_assert(is_dynamic_length(D.k) || D.k % 16 == 0, "K must be dynamic or a multiple of 16");
#endif
}

template <class T> constexpr void check_scales() {
#if __METAL_VERSION__ >= 410
  if constexpr (is_tensor<T>) {
    using Tag = typename T::tag_type;
    if constexpr (!metal::is_same_v<Tag, metal::no_scales>) {
      static_assert(metal::is_same_v<typename Tag::scale_type, metal::metal_fp8_ue8m0_format>, "Scale data type must be metal_fp8_ue8m0_format");
      static_assert(Tag::blocks[0] == 32, "Scale block size must be 32 in dimension 0");
      static_assert(Tag::blocks[1] == 1, "Blockwise scale factors must have a block size of 1 in dimension 1");
    }
  }
#endif
}
template <class T> constexpr bool has_scales() {
  if constexpr (is_tensor<T>) return !metal::is_same_v<typename T::tag_type, metal::no_scales>;
  else return false;
}

template <class T> constexpr void check_operand() {
  static_assert(is_tensor<T> || is_cooperative<T>, "an operand must be a tensor or a cooperative tensor");
  static_assert(T::extents_type::rank() == 2, "Operands must have rank 2");
  static_assert(metal::is_same_v<typename T::extents_type::index_type, int>, "Index type must be int");
}

template <class T, class Scope> constexpr void check_space(bool destination) {
  if constexpr (is_tensor<T>) {
    constexpr bool thread_scope = Scope::simdgroups == 0;
    constexpr metal::space at = T::where;
    static_assert(at == metal::space::device_space || (thread_scope ? at == metal::space::thread_space : at == metal::space::threadgroup_space),
                  "Unsupported address space");
  } else {
    static_assert(Scope::simdgroups > 0, "cooperative tensor cannot be used with execution_thread");
  }
}

template <matmul2d_descriptor D, class Scope, class L, class R, class C> constexpr void check_run() {
  using Left = element_in_t<L>;
  using Right = element_in_t<R>;
  using Dest = element_in_t<C>;
  check_operand<L>(), check_operand<R>(), check_operand<C>();
  check_shape<D, Scope>();
  check_space<L, Scope>(false), check_space<R, Scope>(false), check_space<C, Scope>(true);
  static_assert(is_role<L>(metal::cooperative_role::left), "left operand is not a left input cooperative tensor");
  static_assert(is_role<R>(metal::cooperative_role::right), "right operand is not a right input cooperative tensor");
  static_assert(is_role<C>(metal::cooperative_role::destination), "destination is not a destination cooperative tensor");
  static_assert(is_listed<Left, Right, Dest>() && (Scope::simdgroups > 0 || !(metal::is_numeric_format_v<typename metal::remove_const<Left>::type> || metal::is_numeric_format_v<typename metal::remove_const<Right>::type>)),
                "Unsupported type");
  constexpr bool inputs = is_cooperative<L> || is_cooperative<R>;
#if RIGEL_SDK >= 265
  static_assert(is_dynamic_length(D.k) || D.k % 32 == 0 || !(is_sub_byte<Left>() || is_sub_byte<Right>()),
                "K must be dynamic or a multiple of 32 with sub-byte element types");
  static_assert(!inputs || metal::is_same_v<Scope, metal::execution_simdgroup>, "Input cooperative tensors require a single SIMD group");
  static_assert(!inputs || !is_dynamic_length(D.k), "Inner dimension cannot be dynamic with input cooperative tensors");
  if constexpr (is_cooperative<L> && is_cooperative<R>) {
    constexpr auto fits = [](int x) { return x == 16 || x == 32; };
    static_assert(fits(D.m) && fits(D.n) && fits(D.k) && (D.m == 32 || D.n == 32 || D.k == 32),
                  "M, N and K must be 16 or 32 and one of them 32 if both inputs are cooperative");
  }
  static_assert(made_for<L, Left, Right, Dest>() && made_for<R, Left, Right, Dest>() && made_for<C, Left, Right, Dest>(),
                "Input types must match cooperative tensor types");
#else
  static_assert(!inputs, "SDK 26.1 has cooperative destinations only");
#endif
#if RIGEL_SDK >= 270
  check_scales<L>(), check_scales<R>();
  static_assert(!has_scales<C>(), "Destination tensor cannot have scale factors");
  static_assert(!has_scales<L>() || !D.transpose_left, "Left tensor must not be transposed if it has scale factors");
  static_assert(!has_scales<R>() || D.transpose_right, "Right tensor must be transposed if it has scale factors");
#endif
}
} // namespace mpp::tensor_ops
