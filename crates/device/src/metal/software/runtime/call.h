// How does the host call a kernel whose parameters it knows by their attributes only?
//
// The attributes of a kernel's parameters are read from its text, in order; their types come from the function itself.
#pragma once
#include <metal_tensor>

namespace rigel {
// One parameter: `[[buffer(n)]]` has kind `buffer` and the index n.
enum class kind { buffer, thread_in_grid, group_in_grid, thread_in_group, index_in_group, simdgroup, lane };
struct attribute { kind what; int index; };

// One launch, seen from one thread.
struct call {
  void *buffers[31];
  metal::host_tensor tensors[31];
  unsigned grid[3], group[3], threads;
};

template <class P> struct argument { // ids
  static P of(const call &c, attribute a) {
    const unsigned number = msl_thread();
    unsigned x = 0, y = 0, z = 0;
    switch (a.what) {
    case kind::group_in_grid: x = c.group[0], y = c.group[1], z = c.group[2]; break;
    case kind::thread_in_grid: x = c.group[0] * c.threads + number, y = c.group[1], z = c.group[2]; break;
    case kind::thread_in_group:
    case kind::index_in_group: x = number; break;
    case kind::simdgroup: x = number / 32; break;
    case kind::lane: x = number % 32; break;
    case kind::buffer: break;
    }
    if constexpr (metal::is_same_v<P, metal::uint2>) return {x, y};
    else if constexpr (metal::is_same_v<P, metal::uint3>) return {x, y, z};
    else return P(x);
  }
};
template <class T> struct argument<T *> {
  static T *of(const call &c, attribute a) { return (T *)c.buffers[a.index]; }
};
template <class T> struct argument<T &> {
  static T &of(const call &c, attribute a) { return *(T *)c.buffers[a.index]; }
};
template <class T, class E, class D, class... G> struct argument<metal::tensor<T, E, D, G...>> {
  static auto of(const call &c, attribute a) { return metal::tensor<T, E, D, G...>(c.tensors[a.index]); }
};

template <class... P, unsigned long... I>
void invoke_each(void (*kernel)(P...), const call &c, const attribute *attributes, metal::integers<unsigned long, I...>) {
  kernel(argument<P>::of(c, attributes[I])...);
}
template <class... P> void invoke(void (*kernel)(P...), const call &c, const attribute (&attributes)[sizeof...(P)]) {
  invoke_each(kernel, c, attributes, __make_integer_seq<metal::integers, unsigned long, sizeof...(P)>{});
}
} // namespace rigel
