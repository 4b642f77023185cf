// What is `matmul2d`?
#pragma once
#include "mpp_operands.h"

namespace mpp::tensor_ops {
template <matmul2d_descriptor D, class Scope, class... Args> class matmul2d {
  static_assert(metal::is_execution_scope<Scope>, "Scope must be execution_thread or execution_simdgroups");

public:
  static constexpr matmul2d_descriptor descriptor = D;
  using scope = Scope;
  static constexpr int depth = is_dynamic_length(D.k) ? 16 : D.k;

  template <class L, class R, class C, class CoordType = int>
  using cooperative_tensor_destination_t = typed_cooperative<C, element_in_t<L>, element_in_t<R>, C, metal::cooperative_layout<metal::cooperative_role::destination, D.m, D.n, Scope::simdgroups>>;

#if RIGEL_SDK >= 265
  template <class L, class R, class C, class CoordType = int> auto get_left_input_cooperative_tensor() const {
    check_input<L, L, R, C, CoordType>();
    return typed_cooperative<L, L, R, C, metal::cooperative_layout<metal::cooperative_role::left, D.m, depth, Scope::simdgroups>>{};
  }
  template <class L, class R, class C, class CoordType = int> auto get_right_input_cooperative_tensor() const {
    check_input<R, L, R, C, CoordType>();
    return typed_cooperative<R, L, R, C, metal::cooperative_layout<metal::cooperative_role::right, depth, D.n, Scope::simdgroups>>{};
  }
  template <class L, class R, class C, class CoordType = int, class Source> auto get_left_input_cooperative_tensor(Source &source) const {
    check_conversion<L, Source>();
    static_assert(!D.transpose_left, "a destination becomes a left input that is not transposed");
    static_assert(Source::layout::rows == D.m && Source::layout::cols == D.k, "the source must have m rows and k columns");
    check_input<L, L, R, C, CoordType>();
    using Into = typed_cooperative<L, L, R, C, metal::cooperative_layout<metal::cooperative_role::left, D.m, depth, Scope::simdgroups>>;
    return Into(source, [](auto &from, auto &into) { convert(from, into); });
  }
  template <class L, class R, class C, class Source> bool is_compatible_as_left_input(Source &source) const {
    check_conversion<L, Source>();
    return true;
  }
#endif
  template <class L, class R, class C, class CoordType = int>
    requires(!metal::is_qualified<L> && !metal::is_qualified<R>)
  auto get_destination_cooperative_tensor() const {
    static_assert(Scope::simdgroups > 0, "cooperative tensor cannot be used with execution_thread");
    static_assert(metal::is_same_v<CoordType, int>, "coordinate data type must be int");
    static_assert(metal::is_same_v<C, float> || metal::is_same_v<C, half> || metal::is_same_v<C, bfloat> || metal::is_same_v<C, int32_t>,
                  "destination data type can only be float, half, bfloat or int32");
    static_assert(is_source_type<element_in_t<L>>() && is_source_type<element_in_t<R>>(), "source data type can only be one that matmul2d multiplies");
    return cooperative_tensor_destination_t<L, R, C, CoordType>{};
  }

  template <class L, class R, class C> void run(L &left, R &right, C &destination) const {
    check_run<D, Scope, L, R, C>();
#ifndef MSL_CHECK_SPACES
    operands<D, Scope, L, R, C> mine{&left, &right, &destination};
    if (Scope::simdgroups > 0 && msl_threads() != uint(Scope::threads))
      msl_fault("the dispatch has another number of SIMD-groups than the operation's scope");
    metal::collectively(Scope::threads, &mine, [](void **all) { multiply<D, Scope, L, R, C>(all); });
#endif
  }

private:
  template <class E> static constexpr bool is_source_type() {
    using T = typename metal::remove_const<E>::type;
    return metal::is_numeric_format_v<T> || metal::is_same_v<T, float> || metal::is_same_v<T, half> || metal::is_same_v<T, bfloat> || metal::is_same_v<T, int8_t> || metal::is_same_v<T, uint8_t>;
  }
  template <class E, class L, class R, class C, class CoordType> static constexpr void check_input() {
    static_assert(metal::is_same_v<Scope, metal::execution_simdgroup>, "Input cooperative tensors require a single SIMD group");
    static_assert(metal::is_same_v<CoordType, int>, "coord_type of an input must be int");
    static_assert(!is_dynamic_length(D.k), "Inner dimension cannot be dynamic with input cooperative tensors");
    static_assert(!metal::is_numeric_format_v<E>, "a packed format cannot be the element of an input cooperative tensor");
    static_assert(is_source_type<E>(), "source data type can only be one that matmul2d multiplies");
  }
  template <class E, class Source> static constexpr void check_conversion() {
    static_assert(is_cooperative<Source> && is_role<Source>(metal::cooperative_role::destination), "only a matmul2d destination becomes an input");
    static_assert(Source::layout::groups == 1, "Input cooperative tensors require a single SIMD group");
    static_assert(metal::is_same_v<typename Source::element_type, E>, "the source must have the element type of the input");
  }
};
} // namespace mpp::tensor_ops
