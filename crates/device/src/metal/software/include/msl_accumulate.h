// How does the planted device add products?
//
// A chain of fused steps over ascending k. The order and the widths are planted; they say nothing about Apple's hardware.
#pragma once
#include "msl_formats.h"
#include "msl_planted.h"

namespace metal {
// A finite value m · 2^e cut or rounded to `bits` significant bits of an f32, overflowing as the direction says.
inline float leave(bool negative, unsigned __int128 m, int e, int bits, bool toward_zero) {
  float sign = negative ? -1.0f : 1.0f;
  if (m == 0) return 0.0f;
  int top = (m >> 64) ? 127 - __builtin_clzl(ulong(m >> 64)) : 63 - __builtin_clzl(ulong(m));
  int last = max(e + top - (bits - 1), -149), drop = last - e;
  if (drop > 0) {
    if (drop > 126) return sign * 0.0f; // m has fewer than 100 bits
    unsigned __int128 rest = m & (((unsigned __int128)1 << drop) - 1), half_way = (unsigned __int128)1 << (drop - 1);
    m >>= drop;
    if (!toward_zero && (rest > half_way || (rest == half_way && (m & 1)))) m += 1;
    e = last;
  }
  // At most 25 bits are left unless nothing was dropped; the product below is exact or overflows.
  double value = double(m) * power_of_two(e);
  const double most = 0x1.fffffep127;
  if (value > most) return toward_zero ? sign * float(most) : sign * __builtin_inff();
  return sign * float(value);
}

// The sum of two doubles, rounded once to `bits` bits of an f32.
inline float add_once(double a, double b, int bits, bool toward_zero) {
  double sum = a + b;
  if (!(__builtin_fabs(sum) < __builtin_inf())) return sum != sum ? __builtin_nanf("") : float(sum);
  double part = sum - a, error = (a - (sum - part)) + (b - part);
  if (sum == 0 && error == 0) return float(sum);
  // Rounded to odd: what is lost below shows in the last place, so rounding once more rounds the exact sum.
  ulong word = __builtin_bit_cast(ulong, sum);
  if (error != 0 && !(word & 1)) sum = __builtin_bit_cast(double, (error > 0) == (sum > 0) ? word + 1 : word - 1);
  int e;
  double fraction = __builtin_frexp(__builtin_fabs(sum), &e);
  return leave(sum < 0, (unsigned __int128)ulong(fraction * 0x1p53), e - 53, bits, toward_zero);
}

// Adds the products of `depth` pairs to `c`.
inline float accumulate(const planted_arithmetic &how, const number *a, const number *b, int depth, float c) {
  if (how.group == 1 && how.fraction_bits < 0 && how.bits == 24 && !how.toward_zero) {
    // What add_once gives is the same; this is the processor's own instruction, for values that are floats: all but some under scales.
    for (int k = 0; k < depth; k++) {
      float x = float(a[k].value), y = float(b[k].value);
      c = x == a[k].value && y == b[k].value ? __builtin_fmaf(x, y, c) : add_once(a[k].value * b[k].value, c, 24, false);
    }
    return c != c ? __builtin_nanf("") : c;
  }
  for (int from = 0; from < depth; from += how.group) {
    int upto = from + how.group < depth ? from + how.group : depth;
    if (how.fraction_bits < 0) {
      for (int k = from; k < upto; k++) c = add_once(a[k].value * b[k].value, c, how.bits, how.toward_zero);
      continue;
    }
    double plain = c;
    int largest = c != 0 ? small_float(__builtin_bit_cast(uint, c), 8, 23, 127, true).exponent : -100000;
    for (int k = from; k < upto; k++) {
      double product = a[k].value * b[k].value;
      plain += product;
      if (product != 0 && a[k].exponent + b[k].exponent > largest) largest = a[k].exponent + b[k].exponent;
    }
    if (!(__builtin_fabs(plain) < __builtin_inf())) { c = plain != plain ? __builtin_nanf("") : float(plain); continue; }
    double grid = power_of_two(how.fraction_bits - largest);
    auto cut = [&](double term) { double x = term * grid; return long(how.cut_down ? __builtin_floor(x) : __builtin_trunc(x)); };
    if (largest == -100000) { c = 0; continue; }
    __int128 sum = cut(c);
    for (int k = from; k < upto; k++) sum += cut(a[k].value * b[k].value);
    c = leave(sum < 0, sum < 0 ? -sum : sum, largest - how.fraction_bits, how.bits, how.toward_zero);
  }
  return c;
}

// A float operand with so many significant bits, the rest cut.
inline number narrowed(number x, int bits) {
  if (bits >= 24 || x.value == 0 || !(__builtin_fabs(x.value) < __builtin_inf())) return x;
  int e;
  double fraction = __builtin_frexp(x.value, &e);
  return {__builtin_ldexp(__builtin_trunc(__builtin_ldexp(fraction, bits)), e - bits), x.exponent};
}
} // namespace metal
