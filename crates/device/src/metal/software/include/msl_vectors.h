// What are the vectors and arrays of the language?
#pragma once
#include "msl_spaces.h"

namespace metal {
template <class T, int N> struct vec;
template <class T> struct vec<T, 2> {
  T x, y;
  vec() = default;
  constexpr vec(T all) : x(all), y(all) {}
  constexpr vec(T a, T b) : x(a), y(b) {}
  T &operator[](int i) { return i ? y : x; }
  T operator[](int i) const { return i ? y : x; }
};
template <class T> struct vec<T, 3> {
  T x, y, z;
  vec() = default;
  constexpr vec(T all) : x(all), y(all), z(all) {}
  constexpr vec(T a, T b, T c) : x(a), y(b), z(c) {}
  T &operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
  T operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }
};
template <class T> struct vec<T, 4> {
  T x, y, z, w;
  vec() = default;
  constexpr vec(T all) : x(all), y(all), z(all), w(all) {}
  constexpr vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  T &operator[](int i) { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
  T operator[](int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
};
#define MSL_LANEWISE(op) \
  template <class T, int N> inline vec<T, N> operator op(vec<T, N> a, vec<T, N> b) { \
    vec<T, N> r; \
    for (int i = 0; i < N; i++) r[i] = a[i] op b[i]; \
    return r; \
  }
MSL_LANEWISE(+) MSL_LANEWISE(-) MSL_LANEWISE(*) MSL_LANEWISE(/)
#undef MSL_LANEWISE

template <class T, size_t N> struct array {
  T values[N];
  constexpr T &operator[](size_t i) { return values[i]; }
  constexpr const T &operator[](size_t i) const { return values[i]; }
  constexpr size_t size() const { return N; }
};
using uint2 = vec<uint, 2>;
using uint3 = vec<uint, 3>;
using uint4 = vec<uint, 4>;
using int2 = vec<int, 2>;
using ushort2 = vec<ushort, 2>;
using ulong2 = vec<ulong, 2>;
using float2 = vec<float, 2>;
using float4 = vec<float, 4>;
} // namespace metal
