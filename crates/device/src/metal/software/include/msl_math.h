// Which functions of the standard library do the kernels use?
#pragma once
#include "msl_formats.h"
#include "msl_threads.h"

namespace metal {
template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }
template <class T> inline T clamp(T x, T low, T high) { return min(max(x, low), high); }
inline float fma(float a, float b, float c) { msl_spent[spend_scalar]++; return __builtin_fmaf(a, b, c); }
inline half fma(half a, half b, half c) { msl_spent[spend_scalar]++; return half(__builtin_fma(double(a), double(b), double(c))); }
template <class T, class U> inline T as_type(U value) { return __builtin_bit_cast(T, value); }
inline float exp(float x) { return __builtin_expf(x); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
namespace precise {
inline float tanh(float x) { return __builtin_tanhf(x); }
inline float exp(float x) { return __builtin_expf(x); }
} // namespace precise
} // namespace metal
#define INFINITY __builtin_inff()
