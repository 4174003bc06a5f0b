//===- append.h - rows of keys and values into panels ---------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_APPEND_H
#define BATON_CODEGEN_CPU_LIBRARY_APPEND_H

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/transpose.h"
#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// Keys of `rows` positions from `position` on, into the panels that begin at
/// position 0.
BATON_INLINE void append_keys(Real *__restrict panels, const Real *__restrict x,
                              int64_t x_stride, int64_t position, int64_t rows,
                              int64_t width) {
  for (int64_t row = 0; row < rows;) {
    const int64_t place = (position + row) % lanes;
    Real *panel = panels + (position + row - place) * width;
    const int64_t left = rows - row;
    const int64_t count = lanes - place < left ? lanes - place : left;
    // Whole panels in squares; what lies beside the rows is not touched.
    if (count == lanes)
      transpose_to_panel(panel, x + row * x_stride, x_stride, 0, lanes, width);
    else
      for (int64_t i = 0; i < count; ++i)
        for (int64_t d = 0; d < width; ++d)
          panel[d * lanes + place + i] = x[(row + i) * x_stride + d];
    row += count;
  }
}

/// The same of values.
BATON_INLINE void append_values(Real *__restrict panels,
                                const Real *__restrict x, int64_t x_stride,
                                int64_t position, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t place = (position + row) % lanes;
    Real *panel = panels + (position + row - place) * width;
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      store(panel + first * lanes + place * count,
                            load(x + row * x_stride + first, count), count);
                    });
  }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_APPEND_H
