// What does one `simdgroup_multiply_accumulate` give for raw bits: a tile by coordinates, or a fragment by registers?
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

[[kernel]] void unit_tile(device LEFT *left [[buffer(0)]], device RIGHT *right [[buffer(1)]], device DEST *addend [[buffer(2)]],
                          device DEST *dest [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]]) {
  simdgroup_matrix<LEFT, 8, 8> a;
  simdgroup_matrix<RIGHT, 8, 8> b;
  simdgroup_matrix<DEST, 8, 8> c;
  const int at = int(group.x) * 64;
  simdgroup_load(a, left + at, 8);
  simdgroup_load(b, right + at, 8);
  simdgroup_load(c, addend + at, 8);
  simdgroup_multiply_accumulate(c, a, b, c);
  simdgroup_store(c, dest + at, 8);
}

[[kernel]] void unit_fragment(device LEFT *left [[buffer(0)]], device RIGHT *right [[buffer(1)]], device DEST *addend [[buffer(2)]],
                              device DEST *dest [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_threadgroup]]) {
  simdgroup_matrix<LEFT, 8, 8> a;
  simdgroup_matrix<RIGHT, 8, 8> b;
  simdgroup_matrix<DEST, 8, 8> c;
  const int at = (int(group.x) * 32 + int(lane)) * 2;
  for (int i = 0; i < 2; ++i) {
    a.thread_elements()[i] = left[at + i];
    b.thread_elements()[i] = right[at + i];
    c.thread_elements()[i] = addend[at + i];
  }
  simdgroup_multiply_accumulate(c, a, b, c);
  for (int i = 0; i < 2; ++i) dest[at + i] = c.thread_elements()[i];
}

// Which element each slot holds, seen through a load of the numbers 0 to 63.
[[kernel]] void matrix_layout(device DEST *numbers [[buffer(0)]], device DEST *seen [[buffer(1)]], uint lane [[thread_index_in_threadgroup]]) {
  simdgroup_matrix<DEST, 8, 8> m;
  simdgroup_load(m, numbers, 8);
  for (int i = 0; i < 2; ++i) seen[int(lane) * 2 + i] = m.thread_elements()[i];
}
