// How fast is a product by `simdgroup_matrix`?
//
// Each of GROUPS SIMD-groups owns 8 · ROWS × 8 · COLUMNS elements of C, side by side. Elements pass through threadgroup
// memory, where ragged edges become zeros. BIAS adds a bias before the one store, GELU applies it there too.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

struct Extents { int m, n, k, wide, left, right, dest; };

constant constexpr int HIGH = 8 * ROWS, WIDE = 8 * COLUMNS * GROUPS, DEEP = 16;

#if GELU
inline float activation(float x) { return 0.5f * x * (1.0f + precise::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }
#endif

[[kernel]] void simdgroup_gemm(device LEFT *a [[buffer(0)]], device RIGHT *b [[buffer(1)]], device DEST *c [[buffer(2)]],
                               constant Extents &e [[buffer(3)]],
#if BIAS
                               device float *bias [[buffer(4)]],
#endif
                               uint2 group [[threadgroup_position_in_grid]], uint thread_number [[thread_index_in_threadgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  THREADGROUP_ARRAY LEFT a_tile[HIGH * DEEP];
  THREADGROUP_ARRAY RIGHT b_tile[DEEP * WIDE];
  THREADGROUP_ARRAY ACCUMULATE c_tile[HIGH * WIDE];
  const int row0 = int(group.y) * HIGH, col0 = int(group.x) * WIDE, lanes = 32 * GROUPS;
  simdgroup_matrix<ACCUMULATE, 8, 8> sums[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = make_filled_simdgroup_matrix<ACCUMULATE, 8, 8>(ACCUMULATE(0));
  for (int from = 0; from < e.k; from += DEEP) {
    for (int i = int(thread_number); i < HIGH * DEEP; i += lanes) {
      const int row = row0 + i / DEEP, k = from + i % DEEP;
      a_tile[i] = row < e.m && k < e.k ? a[row * e.left + k] : LEFT(0);
    }
    for (int i = int(thread_number); i < DEEP * WIDE; i += lanes) {
      const int k = from + i / WIDE, col = col0 + i % WIDE;
      b_tile[i] = col < e.n && k < e.k ? b[k * e.right + col] : RIGHT(0);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int k = 0; k < DEEP; k += 8) {
      simdgroup_matrix<LEFT, 8, 8> x[ROWS];
      simdgroup_matrix<RIGHT, 8, 8> y[COLUMNS];
      for (int i = 0; i < ROWS; ++i) simdgroup_load(x[i], a_tile + i * 8 * DEEP + k, DEEP);
      for (int j = 0; j < COLUMNS; ++j) simdgroup_load(y[j], b_tile + k * WIDE + (int(simdgroup) * COLUMNS + j) * 8, WIDE);
      for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) simdgroup_multiply_accumulate(sums[i][j], x[i], y[j], sums[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) simdgroup_store(sums[i][j], c_tile + i * 8 * WIDE + (int(simdgroup) * COLUMNS + j) * 8, WIDE);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int i = int(thread_number); i < HIGH * WIDE; i += lanes) {
    const int row = row0 + i / WIDE, col = col0 + i % WIDE;
    if (row < e.m && col < e.n) {
#if GELU
      c[row * e.dest + col] = DEST(activation(float(c_tile[i]) + bias[col]));
#else
#if BIAS
      c[row * e.dest + col] = DEST(float(c_tile[i]) + bias[col]);
#else
      c[row * e.dest + col] = DEST(c_tile[i]);
#endif
#endif
    }
  }
}
