// How does the planted device carry out `matmul2d` for all threads of a scope?
#pragma once
#include "mpp_rules.h"
#include "msl_accumulate.h"

namespace mpp::tensor_ops {
template <matmul2d_descriptor D, class Scope, class L, class R, class C> struct operands { L *left; R *right; C *destination; };

// An operand's elements as numbers, gathered from memory or from every lane: `rows` × `cols` of them, or their transpose.
template <class T> void gather(T *const *lanes, bool transposed, int rows, int cols, bool by_column, metal::number *into) {
  auto at = [&](int row, int col) -> metal::number & { return into[by_column ? col * rows + row : row * cols + col]; };
  if constexpr (is_cooperative<T>) {
    auto map = T::layout::map();
    for (int lane = 0; lane < 32 * map.simdgroups; lane++)
      for (int slot = 0; slot < map.capacity(); slot++)
        if (auto p = map.at(lane / 32, lane % 32, slot); p.live && p.row < rows && p.col < cols)
          at(p.row, p.col) = metal::number_of((*lanes[lane])[slot]);
  } else {
    const T &tensor = *lanes[0];
    for (int row = 0; row < rows; row++)
      for (int col = 0; col < cols; col++) {
        long i0 = transposed ? row : col, i1 = transposed ? col : row;
        at(row, col) = tensor.inside(i0, i1) ? tensor.get(i0, i1) : metal::number{0, 0};
      }
  }
}

template <class T> bool is_slow(const T &operand) {
  if constexpr (is_cooperative<T>) return false;
  else return operand.is_slow();
}
template <class From, class Into> void convert(From &from, Into &into) {
  struct { From *from; Into *into; } mine{&from, &into};
  using Mine = decltype(mine);
  metal::collectively(32, &mine, [](void **all) {
    auto source = From::layout::map(), target = Into::layout::map();
    for (int lane = 0; lane < 32; lane++)
      for (int slot = 0; slot < source.capacity(); slot++) {
        auto p = source.at(0, lane, slot);
        for (int to = 0; p.live && to < 32 * target.capacity(); to++)
          if (auto q = target.at(0, to % 32, to / 32); q.live && q.row == p.row && q.col == p.col)
            (*((Mine *)all[to % 32])->into)[to / 32] = (*((Mine *)all[lane])->from)[slot];
      }
  });
}
template <class T> bool agree(const T &one, const T &other) {
  if constexpr (is_cooperative<T>) return true;
  else return one.begins() == other.begins();
}
template <class L> int depth_of(const L &left, bool transposed) {
  if constexpr (is_cooperative<L>) return L::layout::cols;
  else return int(left.room(transposed ? 1 : 0));
}

template <class E> E sum(const metal::number *a, const metal::number *b, int depth, E start) {
  if constexpr (metal::is_same_v<E, int32_t>) {
    uint total = uint(start);
    for (int k = 0; k < depth; k++) total += uint(int(a[k].value)) * uint(int(b[k].value));
    return int32_t(total);
  } else {
    return E(metal::accumulate(msl_planted()->arithmetic, a, b, depth, float(start)));
  }
}

template <matmul2d_descriptor D, class Scope, class L, class R, class C> void multiply(void **all) {
  using Of = operands<D, Scope, L, R, C>;
  using Dest = typename metal::remove_const<element_in_t<C>>::type;
  const auto &planted = *msl_planted();
  const Of &first = *(Of *)all[0];
  for (int i = 1; i < Scope::threads; i++) {
    const Of &other = *(Of *)all[i];
    if (!agree(*first.left, *other.left) || !agree(*first.right, *other.right) || !agree(*first.destination, *other.destination))
      msl_fault("threads of one scope came to `run` with different operands");
  }
  L **left = (L **)msl_scratch(0, sizeof(void *) * Scope::threads);
  R **right = (R **)msl_scratch(1, sizeof(void *) * Scope::threads);
  C **dest = (C **)msl_scratch(2, sizeof(void *) * Scope::threads);
  for (int i = 0; i < Scope::threads; i++) left[i] = ((Of *)all[i])->left, right[i] = ((Of *)all[i])->right, dest[i] = ((Of *)all[i])->destination;

  const int depth = is_dynamic_length(D.k) ? depth_of(*left[0], D.transpose_left) : D.k;
  if (depth < 0) msl_fault("the inner extent is negative: a slice begins past the end");
  auto *a = (metal::number *)msl_scratch(3, sizeof(metal::number) * size_t(D.m) * depth);
  auto *b = (metal::number *)msl_scratch(4, sizeof(metal::number) * size_t(D.n) * depth);
  gather(left, D.transpose_left, D.m, depth, false, a);
  gather(right, D.transpose_right, depth, D.n, true, b);
  if (D.relaxed_precision) {
    for (int i = 0; i < D.m * depth; i++) a[i] = metal::narrowed(a[i], planted.relaxed_bits);
    for (int i = 0; i < D.n * depth; i++) b[i] = metal::narrowed(b[i], planted.relaxed_bits);
  }
  const bool declared = D.matmul_mode == matmul2d_descriptor::mode::multiply_accumulate;
  const bool adds = declared || (is_cooperative<C> ? planted.cooperative_accumulates : planted.tensor_accumulates);
  if constexpr (is_cooperative<C>) {
    auto map = C::layout::map();
    for (int lane = 0; lane < Scope::threads; lane++)
      for (int slot = 0; slot < map.capacity(); slot++)
        if (auto p = map.at(lane / 32, lane % 32, slot); p.live) {
          Dest &d = (*dest[lane])[slot];
          d = sum<Dest>(a + p.row * depth, b + p.col * depth, depth, adds ? d : Dest(0));
        }
  } else {
    const C &to = *dest[0];
    for (int row = 0; row < D.m; row++)
      for (int col = 0; col < D.n; col++)
        if (to.inside(col, row)) to.put(col, row, sum<Dest>(a + row * depth, b + col * depth, depth, adds ? metal::element_of<Dest>(to.get(col, row).value) : Dest(0)));
  }
  constexpr bool narrow = metal::element<typename metal::remove_const<element_in_t<L>>::type>::bits <= 8 || metal::element<typename metal::remove_const<element_in_t<R>>::type>::bits <= 8;
  msl_spent[narrow ? metal::spend_narrow : metal::spend_tensor] += double(D.m) * D.n * depth * (is_slow(*left[0]) || is_slow(*right[0]) ? 3 : 1);
}
} // namespace mpp::tensor_ops
