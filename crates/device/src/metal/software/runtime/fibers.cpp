// How do fibers switch, meet and fail?
#include "fibers.h"
#include <algorithm>
#include <map>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace {
constexpr size_t STACK = 256 * 1024;

struct Fiber {
#if defined(__x86_64__)
  void *at = nullptr;
#else
  ucontext_t at;
#endif
  bool done = false;
};

// Threads that meet: all threads of a SIMD-group, or of the threadgroup. What they bring to one meeting stays until the
// next but one, because some of them come to the next while others still look at it.
struct Meeting {
  unsigned arrived = 0;
  uint64_t round = 0;
  std::vector<void *> brought[2];
};

struct Group {
  std::vector<Fiber> fibers;
  Fiber main;
  unsigned current = 0, threads = 0;
  std::map<std::pair<unsigned, unsigned>, Meeting> meetings;
  uint64_t progress = 0;
  std::string fault;
  const std::function<void(unsigned)> *body = nullptr;
} group;

std::vector<char> stacks;
std::vector<std::vector<char>> scratch;
} // namespace

#if defined(__x86_64__)
extern "C" void fiber_switch(void **save, void *load);
asm(".text\n.globl fiber_switch\nfiber_switch:\n pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
    " movq %rsp,(%rdi)\n movq %rsi,%rsp\n popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n");
static void swap_to(Fiber &from, Fiber &to) { fiber_switch(&from.at, to.at); }
#else
static void swap_to(Fiber &from, Fiber &to) { swapcontext(&from.at, &to.at); }
#endif

static void give_way() { swap_to(group.fibers[group.current], group.main); }

static void enter() {
  (*group.body)(group.current);
  group.fibers[group.current].done = true;
  for (;;) give_way();
}

static void prepare(Fiber &fiber, char *stack) {
#if defined(__x86_64__)
  auto top = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(stack + STACK) & ~uintptr_t(15));
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(&enter);
  for (int saved = 0; saved < 6; saved++) *--top = nullptr;
  fiber.at = top;
#else
  getcontext(&fiber.at);
  fiber.at.uc_stack.ss_sp = stack;
  fiber.at.uc_stack.ss_size = STACK;
  fiber.at.uc_link = nullptr;
  makecontext(&fiber.at, enter, 0);
#endif
}

std::string fibers::run(unsigned threads, const std::function<void(unsigned)> &body) {
  stacks.resize(std::max(stacks.size(), threads * STACK));
  group.threads = threads;
  group.body = &body;
  group.fault.clear();
  group.meetings.clear();
  group.fibers.assign(threads, Fiber{});
  for (unsigned i = 0; i < threads; i++) prepare(group.fibers[i], &stacks[i * STACK]);
  for (unsigned left = threads; left > 0 && group.fault.empty();) {
    unsigned still = 0;
    const uint64_t seen = group.progress;
    for (unsigned i = 0; i < threads && group.fault.empty(); i++) {
      if (group.fibers[i].done) continue;
      group.current = i;
      swap_to(group.main, group.fibers[i]);
      still += !group.fibers[i].done;
    }
    if (group.fault.empty() && still == left && group.progress == seen)
      group.fault = "a barrier or collective operation is not reached by all threads of its scope";
    left = still;
  }
  return group.fault;
}

void fibers::forget_scratch() { scratch.clear(); }

extern "C" {
double msl_spent[fibers::SPENDINGS];

unsigned msl_thread() { return group.current; }
unsigned msl_threads() { return group.threads; }

void **msl_meet(unsigned size, void *mine) {
  if (size > group.threads) size = group.threads;
  const unsigned first = group.current / size * size, members = std::min(size, group.threads - first);
  Meeting &meeting = group.meetings[{size, first}];
  const uint64_t round = meeting.round;
  std::vector<void *> &brought = meeting.brought[round % 2];
  brought.resize(members);
  brought[group.current - first] = mine;
  if (++meeting.arrived == members) {
    meeting.arrived = 0;
    meeting.round++;
    group.progress++;
  } else {
    while (meeting.round == round) give_way();
  }
  return brought.data();
}

void msl_fault(const char *what) {
  group.fault = what;
  for (;;) give_way();
}

void *msl_scratch(unsigned number, size_t bytes) {
  if (scratch.size() <= number) scratch.resize(number + 1);
  if (scratch[number].size() < bytes) scratch[number].resize(bytes);
  return scratch[number].data();
}
}
