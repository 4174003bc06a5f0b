//===- row_sums.h - sums over rows, a column a lane -----------------------===//
//
// What gradients of everything that all rows share are made of.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_ROW_SUMS_H
#define BATON_CODEGEN_CPU_LIBRARY_ROW_SUMS_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// Whether a gradient joins what is there; see training.h.
BATON_INLINE bool joins(const int32_t *accumulate) {
  return !accumulate || *accumulate;
}

/// How many rows ahead of their use columns are asked for: a row is a page or
/// so from the next one, which is too far for the hardware's prefetchers.
constexpr int64_t rows_ahead = 12;

/// What a sum is as it is.
struct Unchanged {
  BATON_INLINE Vector operator()(Vector sum, int64_t, int64_t) const {
    return sum;
  }
};

/// Where the chain of an element starts that joins what is there: at +0, to be
/// added to that, or at that, so that several calls make the bits of one.
enum class Joining { added, continued };

/// out[c] (+)= finish(sum, c, count) of the chain of add(sum, row, c, count)
/// over ascending rows, from +0 on if it does not continue another.
template <Joining joining = Joining::added, typename Add,
          typename Finish = Unchanged>
BATON_INLINE void sum_over_rows(Real *__restrict out, int64_t rows,
                                int64_t columns, const int32_t *accumulate,
                                Add add, Finish finish = {}) {
  const bool adds = joins(accumulate);
  auto run = [&]<int Vectors>(int64_t column,
                              int64_t count) BATON_INLINE_LAMBDA {
    Vector sums[Vectors];
    BATON_UNROLL
    for (int i = 0; i < Vectors; ++i)
      sums[i] = adds && joining == Joining::continued
                    ? load(out + column + i * lanes, count)
                    : splat(0.0f);
    for (int64_t row = 0; row < rows; ++row)
      BATON_UNROLL
    for (int i = 0; i < Vectors; ++i)
      sums[i] = add(sums[i], row, column + i * lanes, count);
    BATON_UNROLL
    for (int i = 0; i < Vectors; ++i) {
      Real *place = out + column + i * lanes;
      const Vector sum = finish(sums[i], column + i * lanes, count);
      store(place,
            adds && joining == Joining::added ? sum + load(place, count) : sum,
            count);
    }
  };
  // Several at once hide the latency of an addition.
  constexpr int wide = 4;
  int64_t column = 0;
  for (; column + wide * lanes <= columns; column += wide * lanes)
    run.template operator()<wide>(column, lanes);
  for_each_vector(columns - column,
                  [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                    run.template operator()<1>(column + first, count);
                  });
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_ROW_SUMS_H
