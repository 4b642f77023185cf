// What does the simulated device answer to the host?
//
// Requests come on standard input and answers go to standard output, both little-endian: a request is one letter and its
// words, an answer one word (0: done, 1: fault, with a text) and its payload.
#include "fibers.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>

extern "C" double msl_spent[fibers::SPENDINGS];

namespace {
// Bytes before and after every buffer, filled with a pattern that is a NaN in every float format.
constexpr size_t GUARD = 1 << 16;
constexpr unsigned char POISON = 0xFF;

struct Tensor { unsigned char *data; int rank, extents[4]; long strides[4]; };
struct Call {
  void *buffers[31];
  Tensor tensors[31];
  unsigned grid[3], group[3], threads;
};
using Entry = void (*)(const Call *);

std::vector<int32_t> planted_words(128, 0);
std::map<uint32_t, std::vector<unsigned char>> buffers;
std::map<uint32_t, void *> libraries;

void take(void *into, size_t bytes) {
  if (bytes && fread(into, 1, bytes, stdin) != bytes) exit(0);
}
uint32_t word() { uint32_t w; take(&w, 4); return w; }
uint64_t wide() { uint64_t w; take(&w, 8); return w; }
std::string text() { std::string s(word(), 0); take(s.data(), s.size()); return s; }
void say(uint32_t w) { fwrite(&w, 4, 1, stdout); }
void done() { say(0); }
void fault(const std::string &what) {
  say(1);
  say(uint32_t(what.size()));
  fwrite(what.data(), 1, what.size(), stdout);
}
// Whether a guard of a buffer was written to.
bool is_torn(const std::vector<unsigned char> &b) {
  for (size_t i = 0; i < GUARD; i++)
    if (b[i] != POISON || b[b.size() - 1 - i] != POISON) return true;
  return false;
}

void launch() {
  Call call{};
  const uint32_t library = word();
  const std::string name = text();
  for (unsigned &g : call.grid) g = word();
  call.threads = word();
  std::vector<std::vector<unsigned char>> held;
  held.reserve(64);
  std::string wrong;
  for (uint32_t left = word(); left > 0; left--) {
    const char kind = char(word());
    const uint32_t index = word();
    if (kind == 'v') {
      held.emplace_back(word());
      take(held.back().data(), held.back().size());
      if (index < 31) call.buffers[index] = held.back().data();
      continue;
    }
    auto found = buffers.find(word());
    const uint64_t offset = wide();
    unsigned char *at = found == buffers.end() ? nullptr : found->second.data() + GUARD + offset;
    if (!at) wrong = "no such buffer";
    if (index >= 31) { wrong = "a buffer index above 30"; continue; }
    call.buffers[index] = at;
    if (kind == 't') {
      Tensor &t = call.tensors[index];
      t.data = at;
      t.rank = int(word());
      for (int i = 0; i < t.rank && i < 4; i++) t.extents[i] = int(word()), t.strides[i] = long(wide());
    }
  }
  auto at = libraries.find(library);
  auto entry = at == libraries.end() ? nullptr : reinterpret_cast<Entry>(dlsym(at->second, name.c_str()));
  if (!entry) wrong = "no kernel " + name;
  for (double &kind : msl_spent) kind = 0;
  for (unsigned z = 0; z < call.grid[2] && wrong.empty(); z++)
    for (unsigned y = 0; y < call.grid[1] && wrong.empty(); y++)
      for (unsigned x = 0; x < call.grid[0] && wrong.empty(); x++) {
        call.group[0] = x, call.group[1] = y, call.group[2] = z;
        wrong = fibers::run(call.threads, [&](unsigned) { entry(&call); });
      }
  fibers::forget_scratch();
  if (!wrong.empty()) return fault(wrong);
  done();
  msl_spent[0] = double(call.threads) * call.grid[0] * call.grid[1] * call.grid[2];
  fwrite(msl_spent, sizeof(double), fibers::SPENDINGS, stdout);
}
} // namespace

extern "C" const void *msl_planted() { return planted_words.data(); }

int main() {
  for (;;) {
    const char request = char(word());
    if (request == 'P') {
      planted_words.assign(128, 0);
      const uint32_t count = word();
      for (uint32_t i = 0; i < count; i++) planted_words.at(i) = int32_t(word());
      done();
    } else if (request == 'L') {
      const uint32_t id = word();
      void *library = dlopen(text().c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!library) fault(dlerror());
      else libraries[id] = library, done();
    } else if (request == 'B') {
      const uint32_t id = word();
      std::vector<unsigned char> bytes(2 * GUARD + wide(), POISON);
      take(bytes.data() + GUARD, bytes.size() - 2 * GUARD);
      buffers[id] = std::move(bytes);
      done();
    } else if (request == 'R') {
      auto found = buffers.find(word());
      if (found == buffers.end()) fault("no such buffer");
      else if (is_torn(found->second)) fault("a kernel wrote outside a buffer");
      else {
        done();
        fwrite(found->second.data() + GUARD, 1, found->second.size() - 2 * GUARD, stdout);
      }
    } else if (request == 'F') {
      buffers.erase(word());
      done();
    } else if (request == 'D') {
      launch();
    } else {
      return 2;
    }
    fflush(stdout);
  }
}
