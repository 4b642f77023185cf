// How fast can the scalar ALUs multiply and add, with no memory in the way?
//
// Every thread keeps CHAINS independent sums in registers. A sum s becomes 1 - s, so after an even number of steps it is
// the small integer that it began as, and the host can check that each step was done.
#include <metal_stdlib>
using namespace metal;

struct Loop { uint steps; ELEMENT factor; ELEMENT addend; };

[[kernel]] void roofline(device ELEMENT *out [[buffer(0)]], constant Loop &loop [[buffer(1)]], uint thread_number [[thread_position_in_grid]]) {
  ELEMENT sums[CHAINS];
  for (uint i = 0; i < CHAINS; ++i) sums[i] = ELEMENT(float(i + thread_number % 4));
  for (uint step = 0; step < loop.steps; ++step) {
    for (uint i = 0; i < CHAINS; ++i) sums[i] = fma(sums[i], loop.factor, loop.addend);
  }
  for (uint i = 0; i < CHAINS; ++i) out[thread_number * CHAINS + i] = sums[i];
}
