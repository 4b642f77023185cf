// How does one operating-system thread run a whole threadgroup?
//
// Every GPU thread is a fiber with a stack of its own. They run in turn; a fiber that waits for others gives way. When
// none of them can go on, the kernel has a barrier that not all threads reach, and the launch ends with a fault.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fibers {
// Runs `body` once for each of so many threads of one threadgroup; the fault, or nothing.
std::string run(unsigned threads, const std::function<void(unsigned)> &body);
// Forgets the blocks of scratch memory of a launch.
void forget_scratch();
// Kinds of what is spent: threads, scalar multiply-adds, barriers, those of matrices, of tensors and of narrow tensors.
constexpr int SPENDINGS = 6;
} // namespace fibers
