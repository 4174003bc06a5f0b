//===- vocabulary_parts.h - losses of ranks with a part of the logits -----===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_VOCABULARY_PARTS_H
#define BATON_CODEGEN_CUDA_LIBRARY_VOCABULARY_PARTS_H

#include "codegen/cuda/library/lanes.h"
#include "codegen/cuda/library/logits.h"
#include "codegen/cuda/library/teacher.h"

namespace baton::cuda {

/// What the sixteen lanes of a row know of it.
struct RowSums {
  float weight;
  float maximum;
  float share_of_one;
  int32_t target;
};

} // namespace baton::cuda

BATON_CALLED void baton_task_logit_statistics(
    float *maximum, int64_t maximum_stride, float *largest,
    int64_t largest_stride, float *own, int64_t own_stride, const float *logits,
    int64_t logits_stride, const int32_t *targets, const int32_t *place,
    int64_t rows, float scale, float softcap) {
  using namespace baton::cuda;
  for_each_team(rows, [&](int64_t row, int64_t lane, bool is_own) {
    const float *products = logits + row * logits_stride;
    // A rank without tokens adds nothing to any sum.
    const Weights all = merged_blocks(products, place[1], lane, scale, softcap);
    if (!is_own || lane != 0)
      return;
    const int64_t target = static_cast<int64_t>(targets[row]) - place[0];
    maximum[row * maximum_stride] = all.maximum;
    largest[row * largest_stride] = all.maximum;
    own[row * own_stride] = all.sum;
    own[row * own_stride + 1] =
        target >= 0 && target < place[1]
            ? bend(products[target], scale, softcap).value
            : 0.0f;
  });
}

BATON_DEVICE void baton_task_logit_sums(float *out, int64_t out_stride,
                                        const float *largest,
                                        int64_t largest_stride,
                                        const float *own, int64_t own_stride,
                                        const float *maximum,
                                        int64_t maximum_stride, int64_t rows) {
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const float factor = baton::cuda::exp(largest[row * largest_stride] -
                                          maximum[row * maximum_stride]);
    const float sum = own[row * own_stride];
    out[row * out_stride] = sum == 0.0f ? 0.0f : sum * factor;
    out[row * out_stride + 1] = own[row * own_stride + 1];
  }
}

BATON_DEVICE void baton_task_losses(float *loss, int64_t loss_stride,
                                    const float *maximum,
                                    int64_t maximum_stride, const float *sums,
                                    int64_t sums_stride, const float *weights,
                                    int64_t weights_stride, int64_t rows) {
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const float *sum = sums + row * sums_stride;
    const float weight = weights[row * weights_stride];
    loss[row * loss_stride] =
        weight == 0.0f ? 0.0f
                       : weight * (maximum[row * maximum_stride] - sum[1] +
                                   baton::cuda::log(sum[0]));
  }
}

BATON_CALLED void
baton_task_loss_gradients(float *logits, int64_t logits_stride,
                          const int32_t *targets, const float *weights,
                          const float *maximum, const float *sums,
                          const int32_t *place, int64_t rows, int64_t room,
                          float scale, float softcap) {
  using namespace baton::cuda;
  for_each_row(
      logits, logits_stride, rows, room,
      [&](int64_t row, int64_t) {
        return RowSums{weights[row], maximum[row], 1.0f / sums[2 * row],
                       targets[row] - place[0]};
      },
      [&](int64_t row, int64_t column, RowSums known) {
        // A row of weight 0 is 0, whatever it holds, and so is the room.
        if (known.weight == 0.0f || column >= place[1])
          return 0.0f;
        const Logit logit =
            bend(logits[row * logits_stride + column], scale, softcap);
        const float share =
            baton::cuda::exp(logit.value - known.maximum) * known.share_of_one;
        const float rest = column == known.target ? share - 1.0f : share;
        return rest * known.weight * logit.slope;
      });
}

BATON_CALLED void baton_task_teacher_statistics(
    float *maximum, int64_t maximum_stride, float *largest,
    int64_t largest_stride, float *own, int64_t own_stride, const float *logits,
    int64_t logits_stride, const int32_t *targets, const int32_t *tokens,
    const float *numbers, const int32_t *place, int64_t rows, int64_t named,
    float scale, float softcap) {
  using namespace baton::cuda;
  for_each_team(rows, [&](int64_t row, int64_t lane, bool is_own) {
    const Teacher teacher = {tokens + row * named,
                             numbers + row * (named + teacher_numbers), named,
                             place[0], place[1]};
    TeacherSums sums;
    find_all(sums, logits + row * logits_stride, teacher,
             static_cast<int64_t>(targets[row]) - place[0], lane, scale,
             softcap);
    if (!is_own || lane != 0)
      return;
    store_maxima(maximum + row * maximum_stride, sums);
    store_maxima(largest + row * largest_stride, sums);
    store_sums(own + row * own_stride, sums);
  });
}

BATON_DEVICE void
baton_task_teacher_sums(float *out, int64_t out_stride, const float *largest,
                        int64_t largest_stride, const float *own,
                        int64_t own_stride, const float *maximum,
                        int64_t maximum_stride, const float *numbers,
                        int64_t numbers_stride, int64_t rows) {
  using namespace baton::cuda;
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const Teacher teacher = {nullptr, numbers + row * numbers_stride, 0, 0, 0};
    store_sums(out + row * out_stride,
               relative_to(load_sums(largest + row * largest_stride,
                                     own + row * own_stride),
                           maximum + row * maximum_stride, teacher));
  }
}

BATON_DEVICE void baton_task_teacher_losses(
    float *loss, int64_t loss_stride, const float *maximum,
    int64_t maximum_stride, const float *sums, int64_t sums_stride,
    const float *weights, int64_t weights_stride, const float *numbers,
    int64_t numbers_stride, int64_t rows) {
  using namespace baton::cuda;
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const Teacher teacher = {nullptr, numbers + row * numbers_stride, 0, 0, 0};
    const TeacherLoss found = loss_of(
        load_sums(maximum + row * maximum_stride, sums + row * sums_stride),
        teacher);
    store_losses(loss + row * loss_stride, found.divergence, found.entropy,
                 teacher, weights[row * weights_stride]);
  }
}

BATON_DEVICE void baton_task_teacher_gradients(
    float *logits, int64_t logits_stride, const int32_t *targets,
    const float *weights, const float *maximum, const float *sums,
    const int32_t *tokens, const float *numbers, const int32_t *place,
    int64_t rows, int64_t room, int64_t named, float scale, float softcap) {
  using namespace baton::cuda;
  auto teacher_of = [&](int64_t row) {
    return Teacher{tokens + row * named,
                   numbers + row * (named + teacher_numbers), named, place[0],
                   place[1]};
  };
  for_each_row(
      logits, logits_stride, rows, room,
      [&](int64_t row, int64_t) {
        const Teacher teacher = teacher_of(row);
        const TeacherSums all = load_sums(maximum + 2 * row, sums + 6 * row);
        return row_of(all, loss_of(all, teacher), teacher, weights[row]);
      },
      [&](int64_t row, int64_t column, const TeacherRow &found) {
        // A row of weight 0 is 0, whatever it holds, and so is the room.
        if (found.weight == 0.0f || column >= place[1])
          return 0.0f;
        return gradient_of(logits[row * logits_stride + column], column,
                           teacher_of(row), found,
                           static_cast<int64_t>(targets[row]) - place[0], scale,
                           softcap);
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_VOCABULARY_PARTS_H
