// What has the host planted in this device?
//
// Run-time data, so that one compiled kernel serves every planted device. The host fills it word by word in this order.
#pragma once
#include "msl_spaces.h"

namespace metal {
// One fused step: `group` products and what came before are cut to `fraction_bits` below the largest exponent
// (negative: not cut) and leave with `bits` significant bits.
struct planted_arithmetic { int group, fraction_bits, cut_down, bits, toward_zero; };

// Alignment of rows: a stride in bytes that is no multiple of `bytes` has this outcome.
enum : int { aligned_fine = 0, aligned_refused = 1, aligned_wrong = 2, aligned_slow = 3 };
struct planted_alignment { int bytes, outcome; };

// A base tile of 2^rows × 2^cols elements over 32 lanes: bit i of lane and slot together is bit `of[i]` of row and column
// together, the row lowest. Base tiles follow one another along columns, or along rows.
struct planted_layout { int rows, cols, of[8], along_rows; };

enum : int { slice_remaining = 0, slice_original = 1, slice_unmoved = 2 };

struct planted {
  planted_arithmetic arithmetic;
  int relaxed_bits;                                // significant bits of a float operand under relaxed precision
  int tensor_accumulates, cooperative_accumulates; // whether `multiply` adds to its destination
  int slice;                                       // what a slice of an inline tensor is
  int slice_limit;                                 // bytes from which on a slice lands so many bytes too low; 0: never
  planted_alignment handle, inlined;
  int row_first;                                   // whether coordinates come as (row, column)
  planted_layout left, right, destination, matrix;
  int scales_stay;                                 // whether the scales of a slice are those of the whole's beginning
  int scales_by_stride;                            // whether rows of scales are stride / 32 apart, and not extent / 32
};
} // namespace metal
extern "C" const metal::planted *msl_planted();
