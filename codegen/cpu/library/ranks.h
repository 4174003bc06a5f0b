//===- ranks.h - tile bodies of programs of several ranks -----------------===//
//
// What such programs call beside the bodies of library.h and training.h, whose
// conventions hold here too.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_RANKS_H
#define BATON_CODEGEN_CPU_LIBRARY_RANKS_H

#include "codegen/cpu/library/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/// As baton_task_sum_ranks, of the largest instead of the sum.
void baton_task_max_ranks(Real *out, const Real *parts, int64_t stride,
                          int64_t ranks, int64_t columns);

/// out[c] = 0.
void baton_task_clear(Real *out, int64_t columns);

/// out = x on the first of some ranks, place[0] == 0, and zeros on others. In
/// place allowed.
void baton_task_keep_first(Real *out, int64_t out_stride, const Real *x,
                           int64_t x_stride, int64_t rows, int64_t width,
                           const int32_t *place);

/// out = the sum of what `ranks` have of rows, parts[r * parts_stride] of the
/// rth, in ascending order. Rows are those from place[0] * part + first on;
/// zeros behind the last one of `all`.
void baton_task_sum_rank_rows(Real *out, int64_t out_stride, const Real *parts,
                              int64_t parts_stride, int64_t ranks, int64_t rows,
                              int64_t width, int64_t first, int64_t part,
                              int64_t all, const int32_t *place);

/// out = the columns of x from place[0] * width on.
void baton_task_take_columns(Real *out, int64_t out_stride, const Real *x,
                             int64_t x_stride, int64_t rows, int64_t width,
                             const int32_t *place);

//===- Parts of a vocabulary ----------------------------------------------===//
//
// A rank has the tokens from place[0] on, place[1] of them, and room for more,
// whose logits do not count. Rows of the three bodies on logits are one or
// none.

/// As the bodies without _part, of a table with the rank's tokens; others give
/// zeros, those outside `vocabulary` NaN.
void baton_task_embedding_part_f32(Real *out, int64_t out_stride,
                                   const int32_t *tokens, const Real *table,
                                   int64_t rows, int64_t width,
                                   int64_t vocabulary, Real multiplier,
                                   const int32_t *place);
void baton_task_embedding_part_bf16(Real *out, int64_t out_stride,
                                    const int32_t *tokens,
                                    const uint16_t *table, int64_t rows,
                                    int64_t width, int64_t vocabulary,
                                    Real multiplier, const int32_t *place);
void baton_task_embedding_part_f16(Real *out, int64_t out_stride,
                                   const int32_t *tokens, const uint16_t *table,
                                   int64_t rows, int64_t width,
                                   int64_t vocabulary, Real multiplier,
                                   const int32_t *place);
void baton_task_embedding_panels_part_f32(Real *out, int64_t out_stride,
                                          const int32_t *tokens,
                                          const Real *panels, int64_t rows,
                                          int64_t width, int64_t vocabulary,
                                          Real multiplier,
                                          const int32_t *place);
void baton_task_embedding_panels_part_bf16(Real *out, int64_t out_stride,
                                           const int32_t *tokens,
                                           const uint16_t *panels, int64_t rows,
                                           int64_t width, int64_t vocabulary,
                                           Real multiplier,
                                           const int32_t *place);
void baton_task_embedding_panels_part_f16(Real *out, int64_t out_stride,
                                          const int32_t *tokens,
                                          const uint16_t *panels, int64_t rows,
                                          int64_t width, int64_t vocabulary,
                                          Real multiplier,
                                          const int32_t *place);

/// As baton_task_embedding_gradient, of `room` tokens.
void baton_task_embedding_gradient_part(
    Real *dtable, int64_t table_stride, const Real *dy, int64_t dy_stride,
    const int32_t *indices, int64_t rows, int64_t columns, int64_t room,
    Real multiplier, const int32_t *accumulate, const int32_t *place);

/// maximum = largest = the maximum of the rank's l (see cross_entropy), own =
/// {the sum of e^(l - maximum), the target's l, or 0 if others have it}.
void baton_task_logit_statistics(Real *maximum, int64_t maximum_stride,
                                 Real *largest, int64_t largest_stride,
                                 Real *own, int64_t own_stride,
                                 const Real *logits, int64_t logits_stride,
                                 const int32_t *targets, const int32_t *place,
                                 int64_t rows, Real scale, Real softcap);

/// out = {own[0] relative to the maximum of all ranks, own[1]}.
void baton_task_logit_sums(Real *out, int64_t out_stride, const Real *largest,
                           int64_t largest_stride, const Real *own,
                           int64_t own_stride, const Real *maximum,
                           int64_t maximum_stride, int64_t rows);

/// loss = weights * ((maximum - sums[1]) + log(sums[0])), 0 where the weight
/// is.
void baton_task_losses(Real *loss, int64_t loss_stride, const Real *maximum,
                       int64_t maximum_stride, const Real *sums,
                       int64_t sums_stride, const Real *weights,
                       int64_t weights_stride, int64_t rows);

/// In the place of logits their gradients, as cross_entropy has them; those of
/// the room are 0.
void baton_task_loss_gradients(Real *logits, int64_t logits_stride,
                               const int32_t *targets, const Real *weights,
                               const Real *maximum, const Real *sums,
                               const int32_t *place, int64_t rows, int64_t room,
                               Real scale, Real softcap);

#ifdef __cplusplus
}
#endif

#endif // BATON_CODEGEN_CPU_LIBRARY_RANKS_H
