//===- Formulas.h - functions that declarations of bodies use -------------===//
//
// What formulas of codegen/bodies/*.td call beside arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_BODIES_FORMULAS_H
#define BATON_CODEGEN_BODIES_FORMULAS_H

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>

namespace baton::bodies {

/// Columns of packed weights, which lie in panels of 16.
inline int64_t whole_panels(int64_t columns) {
  return static_cast<int64_t>(llvm::alignTo(columns, 16));
}

inline int64_t ceil_div(int64_t a, int64_t b) { return llvm::divideCeil(a, b); }

/// What quantise_rows makes of `k` inputs, in elements of 4 bytes: of each 32
/// inputs ten.
inline int64_t quantised_row(int64_t k) { return k / 32 * 10; }

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The sum over `rows` rows from `position` on of how many positions of [begin,
/// end) each sees: those up to its own, with `window` > 0 the last of them.
inline double seen(int64_t rows, int64_t position, int64_t window,
                   int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t past = position + row + 1;
    int64_t first = window > 0 ? std::max<int64_t>(0, past - window) : 0;
    sum += static_cast<double>(
        std::max<int64_t>(0, std::min(past, end) - std::max(first, begin)));
  }
  return sum;
}

/// The sum over rows [row, row + rows) of how many of all rows see each.
inline double seen_by(int64_t row, int64_t rows, int64_t all_rows,
                      int64_t window) {
  double pairs = 0;
  for (int64_t key = row; key < row + rows; ++key)
    pairs += static_cast<double>(window > 0 ? std::min(window, all_rows - key)
                                            : all_rows - key);
  return pairs;
}

/// The same as `seen`, of blocks of 64 positions.
inline int64_t blocks_seen(int64_t rows, int64_t position, int64_t window) {
  int64_t blocks = 0;
  for (int64_t past = position + 1; past <= position + rows; ++past)
    blocks += ceil_div(past, 64) -
              (window > 0 ? std::max<int64_t>(0, past - window) / 64 : 0);
  return blocks;
}

/// The first position that a row at `position` sees.
inline int64_t first_seen(int64_t position, int64_t window) {
  return window > 0 ? std::max<int64_t>(0, position + 1 - window) : 0;
}

//===----------------------------------------------------------------------===//
// Hyper-connections; `mixing` is a BatonMixing
//===----------------------------------------------------------------------===//

/// How many numbers a row's maps are.
inline int64_t maps_of(int64_t streams, int64_t mixing) {
  return streams + (mixing >= 1 ? streams : 0) +
         (mixing >= 2 ? streams * streams : 0);
}

/// How many parts they have, each with a scale.
inline int64_t map_scales(int64_t mixing) {
  return mixing >= 2 ? 3 : mixing + 1;
}

/// How many of them say what is written, and how streams mix if they do.
inline int64_t written_maps(int64_t streams, int64_t mixes) {
  return streams + (mixes ? streams * streams : 0);
}

/// How many streams each stream that is written is made of.
inline int64_t mixed_streams(int64_t streams, int64_t mixes) {
  return mixes ? streams + 1 : 1;
}

/// What maps of a row take after the product: a division and a sum for each
/// element, iteration and direction.
inline double map_flops(int64_t streams, int64_t mixing, int64_t iterations) {
  double squares = static_cast<double>(streams * streams);
  double cost = 6.0 * static_cast<double>(mixing == 0 ? streams : 2 * streams);
  if (mixing >= 2)
    cost += 2.0 * squares;
  if (mixing == 3)
    cost += 4.0 * static_cast<double>(iterations) * squares;
  return cost;
}

} // namespace baton::bodies

#endif // BATON_CODEGEN_BODIES_FORMULAS_H
