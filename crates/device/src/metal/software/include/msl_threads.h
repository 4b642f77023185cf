// How do the threads of a threadgroup meet, and what does a collective operation see of them?
//
// The host runs every thread as a fiber. A collective operation hands over the address of each thread's operands; the
// first thread of the scope then does the work of all, while the others wait.
#pragma once
#include "msl_spaces.h"

extern "C" {
// This thread's number in its threadgroup, and how many there are.
uint msl_thread();
uint msl_threads();
// Waits until every thread of this one's group of `size` has come; gives what each of them handed over, in their order.
void **msl_meet(uint size, void *mine);
// Ends the threadgroup with a fault.
[[noreturn]] void msl_fault(const char *what);
// Memory of at least so many bytes that lives as long as the launch; one block a number, reused.
void *msl_scratch(uint number, size_t bytes);
// What the launch spends on the virtual clock, by kind.
extern double msl_spent[6];
}

namespace metal {
enum spending { spend_threads, spend_scalar, spend_meetings, spend_matrix, spend_tensor, spend_narrow };
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
inline void threadgroup_barrier(mem_flags) { msl_spent[spend_meetings]++; msl_meet(msl_threads(), nullptr); }
inline void simdgroup_barrier(mem_flags) { msl_meet(32, nullptr); }

// One does the work of all: `act` gets what each thread of the scope handed over.
template <class Act> inline void collectively(uint size, void *mine, Act act) {
  if (size == 1) return act(&mine);
  void **all = msl_meet(size, mine);
  if (msl_thread() % size == 0) act(all);
  msl_meet(size, nullptr);
}

template <class T> inline T simd_shuffle(T value, ushort lane) {
  T got = value;
  void **all = msl_meet(32, &value);
  got = *(T *)all[lane % 32];
  msl_meet(32, nullptr);
  return got;
}
template <class T> inline T simd_shuffle_xor(T value, ushort mask) { return simd_shuffle(value, ushort((msl_thread() % 32) ^ mask)); }
template <class T> inline T simd_broadcast(T value, ushort lane) { return simd_shuffle(value, lane); }
template <class T> inline T simd_sum(T value) {
  for (ushort mask = 16; mask; mask >>= 1) value += simd_shuffle_xor(value, mask);
  return value;
}
template <class T> inline T simd_max(T value) {
  for (ushort mask = 16; mask; mask >>= 1) { T other = simd_shuffle_xor(value, mask); value = other > value ? other : value; }
  return value;
}
} // namespace metal
