//===- training.h - the tile bodies of training, on the CPU ---------------===//
//
// What a training program calls beside the bodies of library.h, whose
// conventions and numeric contract hold here too. Differences:
// - Weights, gradients and optimizer states are F32, row-major, as a
//   checkpoint stores them: nothing is packed between steps.
// - A step's rows are tokens of several sequences, one behind the other.
//   `positions[r]` is row r's place in its own sequence: the row r -
//   positions[r] is the first of it. positions[r] <= r, and it is 0 or one more
//   than that of the row before.
// - `accumulate` says whether a gradient is added to what is there: null or
//   *accumulate != 0: added; else it takes its place. It never aliases an
//   output.
// - A sum over rows ascends in rows, one after the other, and is a chain of
//   additions (or fused multiply-adds where the terms are products) that starts
//   at +0; the old value, if any, is added last. Tiles of columns or depth
//   change no bits. baton_task_product_gradient begins with the old value
//   instead, so that rows in parts make the chain of all rows.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_TRAINING_H
#define BATON_CODEGEN_CPU_LIBRARY_TRAINING_H

#include "codegen/cpu/library/library.h"

#ifdef __cplusplus
#define BATON_CONSTEXPR constexpr
#else
#define BATON_CONSTEXPR static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

//===- Matrix products ----------------------------------------------------===//

/// Bytes of `scratch` for products of up to `columns` columns: a part of the
/// left-hand side of 258 rows and 256 depths, four panels of the right-hand
/// side, and sums of 258 rows.
BATON_CONSTEXPR int64_t baton_product_scratch_bytes(int64_t columns) {
  return sizeof(Real) *
         (258 * 256 + 4 * 256 * 16 + 258 * ((columns + 15) / 16 * 16));
}

/// product: out[r][c] = sum over d of a(r, d) b(d, c) + bias[c] +
/// residual[r][c], with a(r, d) = a[r * a_row_stride + d * a_depth_stride] and
/// b(d, c) = b[d * b_depth_stride + c * b_column_stride]; one of each pair of
/// strides is 1. `bias` and `residual` may be null, `residual` may be `out` in
/// place. The bits are those of baton_task_linear_f32.
/// product_gradient: the same without bias and residual, for gradients of
/// weights: out (+)= a b. The chain of an element that joins what is there
/// starts at that. If `weights` is not null, b(d, ...) counts as 0 where
/// weights[d] is, whatever it is; then b_column_stride is 1.
/// With a suffix, elements of a and b are rounded to that type first.
#define BATON_DECLARE_PRODUCTS(suffix)                                         \
  void baton_task_product##suffix(                                             \
      Real *out, int64_t out_stride, const Real *a, int64_t a_row_stride,      \
      int64_t a_depth_stride, const Real *b, int64_t b_depth_stride,           \
      int64_t b_column_stride, const Real *bias, const Real *residual,         \
      int64_t residual_stride, int64_t rows, int64_t columns, int64_t depth,   \
      Real *scratch);                                                          \
  void baton_task_product_gradient##suffix(                                    \
      Real *out, int64_t out_stride, const Real *a, int64_t a_row_stride,      \
      int64_t a_depth_stride, const Real *b, int64_t b_depth_stride,           \
      int64_t b_column_stride, const Real *weights, int64_t rows,              \
      int64_t columns, int64_t depth, const int32_t *accumulate,               \
      Real *scratch);
BATON_DECLARE_PRODUCTS()
BATON_DECLARE_PRODUCTS(_bf16)
BATON_DECLARE_PRODUCTS(_f16)
#undef BATON_DECLARE_PRODUCTS

/// out[c] (+)= sum over r of dy[r][c].
void baton_task_sum_rows(Real *out, const Real *dy, int64_t dy_stride,
                         int64_t rows, int64_t columns,
                         const int32_t *accumulate);

//===- Embeddings, positions ----------------------------------------------===//

/// dtable[t][c] (+)= multiplier * sum of dy[r][c] over the rows r with
/// indices[r] == t, for all t < vocabulary and c < columns (a tile of the
/// table's columns). An index outside the table contributes nothing. Tokens
/// that no row has get +0, or keep what is there.
void baton_task_embedding_gradient(Real *dtable, int64_t table_stride,
                                   const Real *dy, int64_t dy_stride,
                                   const int32_t *indices, int64_t rows,
                                   int64_t columns, int64_t vocabulary,
                                   Real multiplier, const int32_t *accumulate);

/// As baton_task_rope_table, of rows at these positions.
void baton_task_rope_table_at(Real *out, int64_t out_stride,
                              const Real *inverse_frequencies, int64_t half,
                              const int32_t *positions, int64_t rows,
                              Real scale);

/// The transpose of baton_task_rope, its adjoint. In place allowed.
void baton_task_rope_back(Real *out, int64_t out_stride, const Real *dy,
                          int64_t dy_stride, const Real *table,
                          int64_t table_stride, int64_t rows, int64_t heads,
                          int64_t head_dim, int64_t half);

//===- Norms --------------------------------------------------------------===//

/// statistics[r] = {mean, 1 / sqrt(variance + epsilon)}; with `centered` 0, as
/// rms_norm: {0, 1 / sqrt(mean of squares + epsilon)}. Rows are those of
/// baton_task_rms_norm or baton_task_layer_norm, with the bits of their sums.
void baton_task_norm_statistics(Real *statistics, int64_t statistics_stride,
                                const Real *x, int64_t x_stride, int64_t rows,
                                int64_t width, Real epsilon, int32_t centered);

/// dx = the adjoint of the norm for dy. In place allowed (dx == dy).
void baton_task_norm_gradient(Real *dx, int64_t dx_stride, const Real *dy,
                              int64_t dy_stride, const Real *x,
                              int64_t x_stride, const Real *weight,
                              const Real *statistics, int64_t statistics_stride,
                              int64_t rows, int64_t width, int32_t centered);

/// dx = the adjoint of baton_task_norm_begin, of either result or both; the
/// gradient of a result may be null. In place allowed.
void baton_task_norm_begin_gradient(Real *dx, int64_t dx_stride, const Real *x,
                                    int64_t x_stride, const Real *weight,
                                    const Real *scaled_gradient,
                                    int64_t scaled_stride,
                                    const Real *squares_gradient,
                                    int64_t squares_stride, int64_t rows,
                                    int64_t width);

/// dsquares[r] = the adjoint of baton_task_norm_end for the squares.
void baton_task_norm_end_gradient(Real *dsquares, int64_t dsquares_stride,
                                  const Real *dy, int64_t dy_stride,
                                  const Real *x, int64_t x_stride,
                                  const Real *squares, int64_t squares_stride,
                                  int64_t rows, int64_t columns, int64_t width,
                                  Real epsilon);

/// dweight[c] (+)= sum over r and h of dy * (x - mean) * rstd for `columns`
/// columns; every row has `heads` norms, `head_stride` elements apart in dy and
/// x alike, whose statistics are 2 elements apart. `dbias` may be null.
/// Rows outside, heads inside.
void baton_task_norm_weight_gradient(Real *dweight, Real *dbias, const Real *dy,
                                     int64_t dy_stride, const Real *x,
                                     int64_t x_stride, const Real *statistics,
                                     int64_t statistics_stride, int64_t rows,
                                     int64_t heads, int64_t head_stride,
                                     int64_t columns,
                                     const int32_t *accumulate);

//===- Attention of sequences ---------------------------------------------===//

/// Bytes of `scratch` that the three bodies below need for tiles of up to
/// `rows` rows: baton_attention_scratch_bytes, or blocks of 64 rows of two
/// matrices in two orders.
BATON_CONSTEXPR int64_t baton_sequence_attention_scratch_bytes(
    int64_t rows, int64_t group, int64_t head_dim, int64_t value_dim) {
  const int64_t forward =
      baton_attention_scratch_bytes(rows, group, head_dim, value_dim);
  const int64_t gradient = sizeof(Real) * 64 *
                           (head_dim + (head_dim + 15) / 16 * 16 + value_dim +
                            (value_dim + 15) / 16 * 16);
  return forward > gradient ? forward : gradient;
}

/// Attention of rows [row, row + rows) of all rows of the step. q, out,
/// statistics begin at that tile, keys, values and positions at row 0 of the
/// step; q and out at the group's first head. Row r sees the rows r -
/// positions[r] .. r, of them the last `window` if that is not 0. The result
/// has the bits of baton_task_attention on a state of the row's own sequence.
/// statistics[r * statistics_stride + 2 * i] = the maximum m of query head i's
/// (scaled, capped) scores, and + 1 = the sum of e^(score - m).
void baton_task_sequence_attention(
    Real *out, int64_t out_stride, Real *statistics, int64_t statistics_stride,
    const Real *q, int64_t q_stride, const Real *keys, int64_t key_stride,
    const Real *values, int64_t value_stride, const int32_t *positions,
    int64_t row, int64_t rows, int64_t group, int64_t head_dim,
    int64_t value_dim, Real scale, Real softcap, int64_t window, Real *scratch);

// The gradients of a score and of what it weighs: P = e^(score - maximum) * (1
// / sum), dS = P * (dP - delta) * slope with dP = dout . v and slope = scale,
// with a softcap (1 - tanh^2) * scale. A chain over rows covers those that see
// each other and no others.

/// delta[r][h] = sum over e of dout * out, for `heads` heads of `width`
/// elements behind one another.
void baton_task_attention_delta(Real *delta, int64_t delta_stride,
                                const Real *dout, int64_t dout_stride,
                                const Real *out, int64_t out_stride,
                                int64_t rows, int64_t heads, int64_t width);

/// dq of the tile's rows; dq, q, dout, delta, statistics begin at the tile and
/// the group's first head (delta has 1, statistics 2 elements a head).
void baton_task_attention_query_gradient(
    Real *dq, int64_t dq_stride, const Real *dout, int64_t dout_stride,
    const Real *q, int64_t q_stride, const Real *keys, int64_t key_stride,
    const Real *values, int64_t value_stride, const Real *delta,
    int64_t delta_stride, const Real *statistics, int64_t statistics_stride,
    const int32_t *positions, int64_t row, int64_t rows, int64_t group,
    int64_t head_dim, int64_t value_dim, Real scale, Real softcap,
    int64_t window, Real *scratch);

/// dk and dv of rows [row, row + rows) of one key/value head, summed over the
/// queries that see them, of all heads of the group: heads outside, rows
/// inside, ascending. dk, dv begin at the tile; dout, q, delta, statistics at
/// row 0 of the step; `all_rows` is how many rows the step has.
void baton_task_attention_key_value_gradient(
    Real *dk, int64_t dk_stride, Real *dv, int64_t dv_stride, const Real *dout,
    int64_t dout_stride, const Real *q, int64_t q_stride, const Real *keys,
    int64_t key_stride, const Real *values, int64_t value_stride,
    const Real *delta, int64_t delta_stride, const Real *statistics,
    int64_t statistics_stride, const int32_t *positions, int64_t row,
    int64_t rows, int64_t all_rows, int64_t group, int64_t head_dim,
    int64_t value_dim, Real scale, Real softcap, int64_t window, Real *scratch);

//===- Element-wise adjoints: [rows, width], dx may be dy in place --------===//

/// dx = dy * activation'(x); `activation` is a BatonActivation.
void baton_task_activate_gradient(Real *dx, int64_t dx_stride, const Real *dy,
                                  int64_t dy_stride, const Real *x,
                                  int64_t x_stride, int64_t rows, int64_t width,
                                  int32_t activation);
/// dx = dy * (1 - y^2), y the result of tanh.
void baton_task_tanh_gradient(Real *dx, int64_t dx_stride, const Real *dy,
                              int64_t dy_stride, const Real *y,
                              int64_t y_stride, int64_t rows, int64_t width);
/// dx = y * (dy - sum(dy * y)), y the result of softmax, per row.
void baton_task_softmax_gradient(Real *dx, int64_t dx_stride, const Real *dy,
                                 int64_t dy_stride, const Real *y,
                                 int64_t y_stride, int64_t rows, int64_t width);
/// out[r][j] = x[r][j] for the last positions[r] + 1 columns j up to first_row
/// + r (and, with window > 0, the last `window` of them), else `hidden`: what
/// rows of a sequence see of a step's rows. In place allowed.
void baton_task_mask_sequences(Real *out, int64_t out_stride, const Real *x,
                               int64_t x_stride, int64_t rows, int64_t width,
                               const int32_t *positions, int64_t first_row,
                               int64_t window, Real hidden);
/// Of out = x * sigmoid(gate), as baton_task_gate: dx = dy * sigmoid(gate).
/// That is baton_task_gate itself; dgate = dy * x * s * (1 - s), summed over
/// the head's elements where gate_width is 1.
void baton_task_gate_gradient(Real *dgate, int64_t dgate_stride, const Real *dy,
                              int64_t dy_stride, const Real *x,
                              int64_t x_stride, const Real *gate,
                              int64_t gate_stride, int64_t rows, int64_t heads,
                              int64_t width, int64_t gate_width);

//===- Adjoints of hyper-connections --------------------------------------===//

/// Most iterations of baton_task_hyper_maps_gradient.
#define BATON_MOST_ITERATIONS 64

/// out[r] = x[r] * statistics[r][1]. In place allowed.
void baton_task_scale_rows(Real *out, int64_t out_stride, const Real *x,
                           int64_t x_stride, const Real *statistics,
                           int64_t statistics_stride, int64_t rows,
                           int64_t width);

/// Of baton_task_hyper_project for x, given its result y and the streams'
/// statistics; phi is [outputs, width].
void baton_task_hyper_project_gradient(Real *dx, int64_t dx_stride,
                                       const Real *dy, int64_t dy_stride,
                                       const Real *x, int64_t x_stride,
                                       const Real *phi, const Real *y,
                                       int64_t y_stride, const Real *statistics,
                                       int64_t statistics_stride, int64_t rows,
                                       int64_t width, int64_t outputs);

/// Of baton_task_hyper_maps: for logits, and for z = scale * logits + base.
void baton_task_hyper_maps_gradient(Real *dlogits, int64_t dlogits_stride,
                                    Real *dz, int64_t dz_stride, const Real *dy,
                                    int64_t dy_stride, const Real *logits,
                                    int64_t logits_stride, const Real *scale,
                                    const Real *base, int64_t rows,
                                    int64_t streams, int32_t mixing,
                                    int64_t iterations, Real epsilon);

/// dscale[p] (+)= sum over rows and the elements of part p of dz * logits.
void baton_task_hyper_scale_gradient(Real *dscale, const Real *dz,
                                     int64_t dz_stride, const Real *logits,
                                     int64_t logits_stride, int64_t rows,
                                     int64_t streams, int32_t mixing,
                                     const int32_t *accumulate);

/// dx[j] = weights[j] * dy and dweights[j] = dy . x[j].
void baton_task_hyper_pre_gradient(Real *dx, int64_t dx_stride, Real *dweights,
                                   int64_t dweights_stride, const Real *dy,
                                   int64_t dy_stride, const Real *x,
                                   int64_t x_stride, const Real *weights,
                                   int64_t weights_stride, int64_t rows,
                                   int64_t streams, int64_t width);

/// Of baton_task_hyper_post, `dout` the gradient of its result.
void baton_task_hyper_post_gradient(
    Real *dx, int64_t dx_stride, Real *dy, int64_t dy_stride, Real *dweights,
    int64_t dweights_stride, const Real *dout, int64_t dout_stride,
    const Real *x, int64_t x_stride, const Real *y, int64_t y_stride,
    const Real *weights, int64_t weights_stride, int64_t rows, int64_t streams,
    int64_t width, int32_t mixes);

//===- Cross-entropy ------------------------------------------------------===//

/// With l = cap(scale * logits[r][t]), cap(l) = softcap * tanh(l / softcap)
/// where softcap is not 0: loss[r] = weights[r] * ((maximum - l[targets[r]]) +
/// log(sum)), sum that of e^(l - maximum); in the place of logits their
/// gradients, weights[r] * (e^(l - maximum) / sum - (t == targets[r])) * cap' *
/// scale. Maxima and sums are those of blocks of 256 tokens, merged in
/// ascending order as blocks of attention are. A row of weight 0 gives zeros,
/// whatever it holds.
void baton_task_cross_entropy(Real *loss, int64_t loss_stride, Real *logits,
                              int64_t logits_stride, const int32_t *targets,
                              const Real *weights, int64_t rows,
                              int64_t vocabulary, Real scale, Real softcap);

//===- Sums of squares ----------------------------------------------------===//

/// out[0] = sum of squares of `elements` elements behind one another, in rows
/// of `columns`, of which the last one may be shorter: each row by the rule for
/// sums (16 lanes), rows added in ascending order. Zeros behind them, rows of
/// them too, change no bits.
void baton_task_sum_squares(Real *out, const Real *x, int64_t elements,
                            int64_t columns);

//===- Sums over ranks ----------------------------------------------------===//

/// out[c] = parts[0][c] + parts[1][c] + ..., ascending in ranks, whose parts
/// are `stride` elements apart. `out` may be one of them.
void baton_task_sum_ranks(Real *out, const Real *parts, int64_t stride,
                          int64_t ranks, int64_t columns);

/// The same, added to what `out` has where *accumulate is not 0.
void baton_task_add_ranks(Real *out, const Real *parts, int64_t stride,
                          int64_t ranks, int64_t columns,
                          const int32_t *accumulate);

/// out = {the sum of `count` numbers, ascending; zeros} of `width` numbers.
void baton_task_sum_numbers(Real *out, int64_t width, const Real *numbers,
                            int64_t stride, int64_t count);

/// out[i] = element `first` + i, for i < count, of the part of `whole` that the
/// rank at *place has, of `part` elements; 0 behind the end of `whole`, which
/// has `elements`.
void baton_task_take_part(Real *out, const Real *whole, int64_t elements,
                          int64_t part, int64_t first, int64_t count,
                          const int32_t *place);

//===- The end of a step --------------------------------------------------===//

/// Of losses and gradients that are multiplied by scale = limit[1]: summary =
/// {sum of the losses of all rows / scale; the gradients' norm: the root of the
/// sum of `count` squares, / scale; the factor that clips and scales them back:
/// limit[0] / norm where the limit is not 0 and less, else 1, / scale; 1 if
/// loss and norm are finite and else 0}.
void baton_task_step_summary(Real *summary, const Real *loss,
                             int64_t loss_stride, int64_t rows,
                             const Real *squares, int64_t count,
                             const Real *limit);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // BATON_CODEGEN_CPU_LIBRARY_TRAINING_H
