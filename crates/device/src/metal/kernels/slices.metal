// What is a slice: which extents does it report, which element does it begin with, and where does it read far from the base?
#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;

// Extents of the tensor, origin of the slice.
struct Cut { int columns, rows, column, row; };

[[kernel]] void slices(device LEFT *data [[buffer(0)]], device int *words [[buffer(1)]], device LEFT *read [[buffer(2)]], constant Cut &cut [[buffer(3)]]) {
  tensor<device LEFT, dextents<int, 2>, tensor_inline> whole(data, dextents<int, 2>(cut.columns, cut.rows));
  auto part = whole.slice(cut.column, cut.row);
  words[0] = part.get_extent(0);
  words[1] = part.get_extent(1);
  read[0] = part[0, 0];
}
