//===- rounded_rows.h - rows that are rounded to BF16, and their weights --===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_ROUNDED_ROWS_H
#define BATON_CODEGEN_CPU_LIBRARY_ROUNDED_ROWS_H

#include "codegen/cpu/library/dots.h"
#include "codegen/cpu/library/weights.h"

namespace baton::cpu {

/// Rows of a rounded matrix: words of two inputs, the first in the lower half.
/// Behind the last one comes itself again.
struct RoundedRows {
  const Real *first;
  int64_t stride, count;

  BATON_INLINE const Real *row(int64_t i) const {
    return first + (i < count ? i : count - 1) * stride;
  }
  BATON_INLINE RoundedRows from(int64_t row) const {
    return {first + row * stride, stride, count - row};
  }
};

/// The weights of two depths, as a panel has them.
typedef uint16_t Line __attribute__((ext_vector_type(2 * lanes)));

BATON_INLINE Line load_line(const BFloat16 *weights) {
  Line line;
  __builtin_memcpy(&line, weights, sizeof line);
  return line;
}

/// Those of the last depth, where there is an odd number of them.
BATON_INLINE Line load_last(const BFloat16 *weights) {
  Line line(0);
  __builtin_memcpy(&line, weights, sizeof line / 2);
  return line;
}

/// While there is one, baton_dots_pairs, baton_chain_pairs and
/// baton_join_chains may be called. Operands are loaded, and
/// sums stored to the memory behind `sums`, before it ends.
class PairArithmetic {
public:
  BATON_INLINE explicit PairArithmetic(Real *sums)
      : sums(sums), state(baton_begin_pairs()) {
    asm volatile("" : : "r"(sums) : "memory");
  }
  BATON_INLINE ~PairArithmetic() {
    asm volatile("" : : "r"(sums) : "memory");
    baton_end_pairs(state);
  }
  PairArithmetic(const PairArithmetic &) = delete;
  PairArithmetic &operator=(const PairArithmetic &) = delete;

private:
  Real *sums;
  uint32_t state;
};

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_ROUNDED_ROWS_H
