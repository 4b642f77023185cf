// Which value does the code of an element have, and which code does a value get?
//
// Numbers that are encoded here are rounded to nearest, ties to even. Packed elements share a byte, the even index in its
// low bits.
#pragma once
#include "msl_spaces.h"

typedef _Float16 half;

struct bfloat {
  ushort bits;
  bfloat() = default;
  template <class T> explicit constexpr bfloat(T value) : bits(of(float(value))) {}
  constexpr operator float() const { return __builtin_bit_cast(float, uint(bits) << 16); }
  static constexpr ushort of(float value) {
    uint word = __builtin_bit_cast(uint, value);
    if ((word & 0x7fffffff) > 0x7f800000) return ushort(word >> 16 | 0x40);
    return ushort((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  bfloat &operator+=(float other) { return *this = bfloat(float(*this) + other); }
};

namespace metal {
struct int4b_format {}; struct uint4b_format {};
#if __METAL_VERSION__ >= 410
struct int2b_format {}; struct uint2b_format {};
struct metal_fp4_e2m1_format {}; struct metal_fp8_e4m3_format {}; struct metal_fp8_e5m2_format {}; struct metal_fp8_ue8m0_format {};
#endif

// The value of a code, and the exponent that hardware reads off it: that of the code, the least normal one for subnormals.
struct number { double value; int exponent; };

inline double power_of_two(int e) { return __builtin_ldexp(1.0, e); }

// A sign, `e` exponent bits with a bias, `f` fraction bits; `infinities` says whether the highest exponent holds specials.
inline number small_float(uint code, int e, int f, int bias, bool infinities) {
  uint fraction = code & ((1u << f) - 1), field = code >> f & ((1u << e) - 1);
  double sign = code >> (e + f) & 1 ? -1.0 : 1.0;
  if (infinities && field == (1u << e) - 1) return {fraction ? __builtin_nan("") : sign * __builtin_inf(), 0};
  int exponent = (field ? int(field) : 1) - bias;
  return {sign * (fraction + (field ? 1u << f : 0)) * power_of_two(exponent - f), exponent};
}
inline number whole(long value) { return {double(value), value ? 63 - __builtin_clzl(value < 0 ? -value : value) : 0}; }

template <class T> struct element;
#define MSL_ELEMENT(type, width, held, isformat, isinteger, ...) \
  template <> struct element<type> { \
    static constexpr int bits = width; \
    static constexpr bool is_format = isformat, is_integer = isinteger; \
    using data = held; \
    static number number_of(uint code) { return __VA_ARGS__; } \
  };
MSL_ELEMENT(float, 32, float, false, false, small_float(code, 8, 23, 127, true))
MSL_ELEMENT(half, 16, half, false, false, small_float(code, 5, 10, 15, true))
MSL_ELEMENT(bfloat, 16, bfloat, false, false, small_float(code, 8, 7, 127, true))
MSL_ELEMENT(char, 8, char, false, true, whole((signed char)code))
MSL_ELEMENT(int8_t, 8, int8_t, false, true, whole(int8_t(code)))
MSL_ELEMENT(uint8_t, 8, uint8_t, false, true, whole(long(code)))
MSL_ELEMENT(int32_t, 32, int32_t, false, true, whole(int32_t(code)))
MSL_ELEMENT(uint32_t, 32, uint32_t, false, true, whole(long(code)))
MSL_ELEMENT(int4b_format, 4, uchar, true, true, whole(int(code << 28) >> 28))
MSL_ELEMENT(uint4b_format, 4, uchar, true, true, whole(long(code)))
#if __METAL_VERSION__ >= 410
MSL_ELEMENT(int2b_format, 2, uchar, true, true, whole(int(code << 30) >> 30))
MSL_ELEMENT(uint2b_format, 2, uchar, true, true, whole(long(code)))
MSL_ELEMENT(metal_fp4_e2m1_format, 4, uchar, true, false, small_float(code, 2, 1, 1, false))
MSL_ELEMENT(metal_fp8_e5m2_format, 8, uchar, true, false, small_float(code, 5, 2, 15, true))
MSL_ELEMENT(metal_fp8_e4m3_format, 8, uchar, true, false, (code & 0x7f) == 0x7f ? number{__builtin_nan(""), 0} : small_float(code, 4, 3, 7, false))
MSL_ELEMENT(metal_fp8_ue8m0_format, 8, uchar, true, false, code == 255 ? number{__builtin_nan(""), 0} : number{power_of_two(int(code) - 127), int(code) - 127})
#endif
#undef MSL_ELEMENT

template <class T> constexpr bool is_numeric_format_v = element<T>::is_format;

// The code at an index of a row of elements.
template <class T> inline uint code_at(const uchar *data, long index) {
  constexpr int bits = element<T>::bits;
  if constexpr (bits < 8) return data[index * bits >> 3] >> (index * bits & 7) & ((1 << bits) - 1);
  else {
    uint code = 0;
    __builtin_memcpy(&code, data + index * (bits / 8), bits / 8);
    return code;
  }
}
template <class T> inline number number_of(T element_) {
  uint code = 0;
  __builtin_memcpy(&code, &element_, sizeof(T));
  return element<T>::number_of(code);
}
template <class T> inline T element_of(double value) {
  if constexpr (is_same_v<T, int32_t>) return T(long(value));
  else return T(float(value));
}
} // namespace metal
