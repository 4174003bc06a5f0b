//===- cross_entropy.h - losses of logits, and their gradients ------------===//
//
// In the arithmetic of codegen/cpu/library/cross_entropy.cpp: blocks of tokens
// leave their maximum and sum to the row, and gradients take the place of what
// the row was.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H
#define BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H

#include "codegen/cuda/library/lanes.h"
#include "codegen/cuda/library/logits.h"
#include "codegen/cuda/library/teacher.h"

namespace baton::cuda {

/// What the sixteen lanes of a row find out about it.
struct RowLoss {
  float weight;
  float maximum;
  float share_of_one;
  float loss;
};

} // namespace baton::cuda

BATON_CALLED void baton_task_cross_entropy(float *loss, int64_t loss_stride,
                                           float *logits, int64_t logits_stride,
                                           const int32_t *targets,
                                           const float *weights, int64_t rows,
                                           int64_t vocabulary, float scale,
                                           float softcap) {
  using namespace baton::cuda;
  for_each_row(
      logits, logits_stride, rows, vocabulary,
      [&](int64_t row, int64_t lane) {
        const float *products = logits + row * logits_stride;
        const Weights all =
            merged_blocks(products, vocabulary, lane, scale, softcap);
        const int32_t target = targets[row];
        const float expected =
            target >= 0 && target < vocabulary
                ? bend(products[target], scale, softcap).value
                : 0.0f;
        // Behind it other lanes may write a gradient in the target's place.
        __syncwarp();
        const float weight = weights[row];
        // Near a loss of 0 the maximum is the target's logit and has to vanish.
        return RowLoss{
            weight, all.maximum, 1.0f / all.sum,
            weight * (all.maximum - expected + baton::cuda::log(all.sum))};
      },
      [&](int64_t row, int64_t column, RowLoss found) {
        // A row of weight 0 is 0, whatever it holds.
        const bool counts = found.weight != 0.0f;
        if (column == 0)
          loss[row * loss_stride] = counts ? found.loss : 0.0f;
        if (!counts)
          return 0.0f;
        const Logit logit =
            bend(logits[row * logits_stride + column], scale, softcap);
        const float share =
            baton::cuda::exp(logit.value - found.maximum) * found.share_of_one;
        const float rest = column == targets[row] ? share - 1.0f : share;
        return rest * found.weight * logit.slope;
      });
}

BATON_CALLED void
baton_task_teacher_loss(float *loss, int64_t loss_stride, float *logits,
                        int64_t logits_stride, const int32_t *targets,
                        const float *weights, const int32_t *tokens,
                        const float *numbers, int64_t rows, int64_t vocabulary,
                        int64_t named, float scale, float softcap) {
  using namespace baton::cuda;
  auto teacher_of = [&](int64_t row) {
    return Teacher{tokens + row * named,
                   numbers + row * (named + teacher_numbers), named, 0,
                   vocabulary};
  };
  for_each_row(
      logits, logits_stride, rows, vocabulary,
      [&](int64_t row, int64_t lane) {
        const Teacher teacher = teacher_of(row);
        TeacherSums sums;
        find_all(sums, logits + row * logits_stride, teacher, targets[row],
                 lane, scale, softcap);
        // Behind it other lanes may write gradients.
        __syncwarp();
        return row_of(sums, loss_of(sums, teacher), teacher, weights[row]);
      },
      [&](int64_t row, int64_t column, const TeacherRow &found) {
        if (column == 0)
          store_losses(loss + row * loss_stride, found.divergence,
                       found.entropy, teacher_of(row), found.weight);
        // A row of weight 0 is 0, whatever it holds.
        if (found.weight == 0.0f)
          return 0.0f;
        return gradient_of(logits[row * logits_stride + column], column,
                           teacher_of(row), found, targets[row], scale,
                           softcap);
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H
