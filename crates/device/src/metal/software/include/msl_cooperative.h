// What is `cooperative_tensor`, a matrix over the lanes of a scope?
//
// Its slots hold rubbish until they are written, some are dead where the matrix does not fill them, and which element a
// slot holds is planted.
#pragma once
#include <metal_tensor>
#include "msl_layout.h"

namespace metal {
enum class cooperative_role { left, right, destination };

// `Rows` × `Cols` elements over `Groups` SIMD-groups.
template <cooperative_role Role, int Rows, int Cols, int Groups> struct cooperative_layout {
  static constexpr cooperative_role role = Role;
  static constexpr int rows = Rows, cols = Cols, groups = Groups;
  static fragment_map map() {
    const planted &p = *msl_planted();
    return {Role == cooperative_role::left ? p.left : Role == cooperative_role::right ? p.right : p.destination, Rows, Cols, Groups};
  }
};

template <class Element, class Extents, class Layout> class cooperative_tensor {
public:
  using element_type = Element;
  using value_type = Element;
  using extents_type = Extents;
  using layout = Layout;
  static constexpr int most = slots_at_most(Layout::rows, Layout::cols, Layout::groups);

  cooperative_tensor() { __builtin_memset(slots_, 0xA5, sizeof(slots_)); }
  // Made from another one, in place: it cannot be copied out of a function.
  template <class Source, class Convert> cooperative_tensor(Source &source, Convert convert) : cooperative_tensor() { convert(source, *this); }
#if RIGEL_SDK < 270
  cooperative_tensor(const cooperative_tensor &) = delete("cooperative tensors are not copied: before SDK 27.0 the copy runs the wrong way");
  cooperative_tensor &operator=(const cooperative_tensor &) = delete("cooperative tensors are not copied: before SDK 27.0 the copy runs the wrong way");
#endif

  static constexpr uint16_t get_rank() { return Extents::rank(); }
  uint16_t get_capacity() const { return uint16_t(Layout::map().capacity()); }
  bool is_valid_element(ushort i) const { return at(i).live; }
  array<int, 2> get_multidimensional_index(ushort i) const {
    place p = at(i);
    return msl_planted()->row_first ? array<int, 2>{p.row, p.col} : array<int, 2>{p.col, p.row};
  }
  Element &operator[](ushort i) { return slots_[i]; }
  const Element &operator[](ushort i) const { return slots_[i]; }
  Element get(ushort i) const { return at(i).live ? slots_[i] : Element(0); }
  void set(ushort i, Element value) { if (at(i).live) slots_[i] = value; }

  template <class Tensor> void load(const Tensor &from) {
    check<Tensor>();
    for (ushort i = 0; i < get_capacity(); i++)
      if (place p = at(i); p.live) slots_[i] = from.inside(p.col, p.row) ? element_of<Element>(from.get(p.col, p.row).value) : Element(0);
    msl_meet(32 * Layout::groups, nullptr);
  }
  template <class Tensor> void store(const Tensor &to) const {
    check<Tensor>();
    for (ushort i = 0; i < get_capacity(); i++)
      if (place p = at(i); p.live && to.inside(p.col, p.row)) to.put(p.col, p.row, slots_[i]);
    msl_meet(32 * Layout::groups, nullptr);
  }

private:
  Element slots_[most];
  place at(ushort i) const { return Layout::map().at(msl_thread() / 32 % Layout::groups, msl_thread() % 32, i); }
  template <class Tensor> static constexpr void check() {
    static_assert(!is_const_v<remove_addrspace_t<typename Tensor::element_type>> && is_same_v<typename Tensor::value_type, Element>,
                  "Tensor datatype does not match cooperative tensor");
    static_assert(Tensor::get_rank() == 1 || Tensor::get_rank() == 2, "load and store take tensors of rank 1 or 2");
    static_assert(Tensor::where == space::device_space || Tensor::where == space::threadgroup_space, "Unsupported address space");
    static_assert(RIGEL_SDK >= 265 || !is_same_v<Element, int8_t>, "load and store have no int8 before SDK 26.5");
  }
};
} // namespace metal
