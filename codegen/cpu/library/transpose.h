//===- transpose.h - rows to a panel of 16 columns ------------------------===//
//
// Turns up to 16 rows into a [depth][16] panel, the layout that the microkernel
// reads.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_TRANSPOSE_H
#define BATON_CODEGEN_CPU_LIBRARY_TRANSPOSE_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// panel[d * Spacing + i] = source[i * stride + d] for i, d < 8, in ascending
/// order of d; rows from `Rows` on are zero and not read.
template <int64_t Spacing = lanes, int Rows = 8>
BATON_INLINE void transpose_8x8(Real *__restrict panel,
                                const Real *__restrict source, int64_t stride) {
  HalfVector in[8], pairs[8], quads[8], out[8];
  BATON_UNROLL
  for (int i = 0; i < 8; ++i)
    if (i < Rows)
      __builtin_memcpy(&in[i], source + i * stride, sizeof in[i]);
    else
      in[i] = HalfVector(0.0f);
  // Only shuffles within 128-bit halves until the last stage: they are the
  // cheap ones on AVX.
  BATON_UNROLL
  for (int i = 0; i < 8; i += 2) {
    pairs[i] =
        __builtin_shufflevector(in[i], in[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] =
        __builtin_shufflevector(in[i], in[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  BATON_UNROLL
  for (int i = 0; i < 8; i += 4) {
    BATON_UNROLL
    for (int j = 0; j < 2; ++j) {
      quads[i + 2 * j] = __builtin_shufflevector(pairs[i + j], pairs[i + 2 + j],
                                                 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * j + 1] = __builtin_shufflevector(
          pairs[i + j], pairs[i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  BATON_UNROLL
  for (int d = 0; d < 4; ++d) {
    out[d] = __builtin_shufflevector(quads[d], quads[d + 4], 0, 1, 2, 3, 8, 9,
                                     10, 11);
    out[d + 4] = __builtin_shufflevector(quads[d], quads[d + 4], 4, 5, 6, 7, 12,
                                         13, 14, 15);
  }
  BATON_UNROLL
  for (int d = 0; d < 8; ++d)
    __builtin_memcpy(panel + d * Spacing, &out[d], sizeof out[d]);
}

/// panel[d * 16 + i] = source[i * stride + d] for begin <= i < end (within 0 ..
/// 16) and d < depth; the other columns are zero and their rows not read.
BATON_INLINE void transpose_to_panel(Real *__restrict panel,
                                     const Real *__restrict source,
                                     int64_t stride, int64_t begin, int64_t end,
                                     int64_t depth) {
  for (int64_t side = 0; side < lanes; side += 8) {
    int64_t d = 0;
    if (begin <= side && side + 8 <= end)
      for (; d + 8 <= depth; d += 8)
        transpose_8x8(panel + d * lanes + side, source + side * stride + d,
                      stride);
    for (; d < depth; ++d)
      for (int64_t i = side; i < side + 8; ++i)
        panel[d * lanes + i] =
            i >= begin && i < end ? source[i * stride + d] : 0.0f;
  }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_TRANSPOSE_H
