//===- matmul.cpp - product of two activations ----------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/transpose.h"
#include "codegen/cpu/library/unpacked.h"

using namespace baton::cpu;

BATON_TASK void baton_task_matmul(Real *__restrict out, int64_t out_stride,
                                  const Real *__restrict a, int64_t a_stride,
                                  const Real *__restrict b,
                                  int64_t b_column_stride,
                                  int64_t b_depth_stride, int64_t rows,
                                  int64_t columns, int64_t depth) {
  multiply_unpacked(
      out, out_stride, a, a_stride, rows, columns, depth,
      [&](Real *panel, int64_t column, int64_t count, int64_t first,
          int64_t size) BATON_INLINE_LAMBDA {
        const Real *source =
            b + column * b_column_stride + first * b_depth_stride;
        if (b_column_stride == 1)
          for (int64_t d = 0; d < size; ++d)
            store(panel + d * lanes, load(source + d * b_depth_stride, count));
        else if (b_depth_stride == 1)
          transpose_to_panel(panel, source, b_column_stride, 0, count, size);
        else
          for (int64_t d = 0; d < size; ++d)
            for (int64_t i = 0; i < lanes; ++i)
              panel[d * lanes + i] =
                  i < count ? source[i * b_column_stride + d * b_depth_stride]
                            : 0.0f;
      },
      [](int64_t, int64_t, Vector sum) BATON_INLINE_LAMBDA { return sum; });
}
