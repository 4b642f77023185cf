// Which element of a matrix does a slot of a lane hold on the planted device?
#pragma once
#include "msl_planted.h"

namespace metal {
struct place { int row, col; bool live; };

// A matrix over so many SIMD-groups, in base tiles that are dealt out to them in turn.
struct fragment_map {
  const planted_layout &base;
  int rows, cols, simdgroups;

  int per_tile() const { return (1 << (base.rows + base.cols)) / 32; }
  int down() const { return ((rows - 1) >> base.rows) + 1; }
  int across() const { return ((cols - 1) >> base.cols) + 1; }
  int tiles() const { return down() * across(); }
  int capacity() const { return (tiles() + simdgroups - 1) / simdgroups * per_tile(); }

  place at(int simdgroup, int lane, int slot) const {
    int tile = slot / per_tile() * simdgroups + simdgroup;
    if (slot < 0 || slot >= capacity() || tile >= tiles()) return {0, 0, false};
    int inside = lane | slot % per_tile() << 5, row = 0, col = 0;
    for (int bit = 0; bit < base.rows + base.cols; bit++) {
      int to = base.of[bit], set = inside >> bit & 1;
      if (to < base.rows) row |= set << to;
      else col |= set << (to - base.rows);
    }
    row += (base.along_rows ? tile % down() : tile / across()) << base.rows;
    col += (base.along_rows ? tile / down() : tile % across()) << base.cols;
    return {row, col, row < rows && col < cols};
  }
};

// Slots that any planted map may need: base tiles of 8 × 8 with 2 slots or of 16 × 16 with 8.
constexpr int slots_at_most(int rows, int cols, int simdgroups) {
  int small = ((rows + 7) / 8 * ((cols + 7) / 8) + simdgroups - 1) / simdgroups * 2;
  int large = ((rows + 15) / 16 * ((cols + 15) / 16) + simdgroups - 1) / simdgroups * 8;
  return small > large ? small : large;
}
} // namespace metal
