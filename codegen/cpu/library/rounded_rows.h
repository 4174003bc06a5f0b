//===- rounded_rows.h - rows that are rounded to BF16, and their weights --===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_ROUNDED_ROWS_H
#define BATON_CODEGEN_CPU_LIBRARY_ROUNDED_ROWS_H

#include "codegen/cpu/library/dots.h"
#include "codegen/cpu/library/rounding.h"
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

/// The upper halves of rounded values; a NaN stays one.
BATON_INLINE auto halves_of(Vector values) {
  typedef uint32_t Words __attribute__((ext_vector_type(lanes)));
  typedef uint16_t Halves __attribute__((ext_vector_type(lanes)));
  const Words bits = __builtin_bit_cast(Words, ToBFloat16::round(values)) >> 16;
  // NOLINTNEXTLINE(misc-redundant-expression)
  const Words kept = values == values ? bits : bits | 0x40;
  return __builtin_convertvector(kept, Halves);
}

/// `k` numbers as the words of a rounded row; an odd number of them has a 0
/// behind it.
BATON_INLINE void round_row(Real *to, const Real *x, int64_t k) {
  char *bytes = reinterpret_cast<char *>(to);
  for_each_vector(k, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
    const auto halves = halves_of(load(x + first, count));
    // Those behind the row's end are of zeros.
    __builtin_memcpy(bytes + 2 * first, &halves, 2 * (count + count % 2));
  });
}

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

/// While there is one, functions that stand between Begin and End may be
/// called. Operands are loaded, and sums stored to the memory behind `sums`,
/// before it ends.
template <uint32_t (*Begin)(), void (*End)(uint32_t)> class Arithmetic {
public:
  /// `operands` and `more` point to what is on the caller's stack, if it is.
  BATON_INLINE explicit Arithmetic(Real *sums, const void *operands = nullptr,
                                   const void *more = nullptr)
      : sums(sums), state(Begin()) {
    asm volatile("" : : "r"(sums), "r"(operands), "r"(more) : "memory");
  }
  BATON_INLINE ~Arithmetic() {
    asm volatile("" : : "r"(sums) : "memory");
    End(state);
  }
  Arithmetic(const Arithmetic &) = delete;
  Arithmetic &operator=(const Arithmetic &) = delete;

private:
  Real *sums;
  uint32_t state;
};

using PairArithmetic = Arithmetic<baton_begin_pairs, baton_end_pairs>;
using ChainArithmetic = Arithmetic<baton_begin_chains, baton_end_chains>;

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_ROUNDED_ROWS_H
