//===- cross_entropy.cpp - cross-entropy of an output projection ----------===//
//
// A tile of logits is made, used and forgotten: forward for its part of the
// softmax, backward once for the gradient of the input and once for that of
// the weight, which sum over different sides.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/attention_blocks.h"
#include "codegen/cpu/library/product.h"
#include "codegen/cpu/library/row_sums.h"

using namespace baton::cpu;

namespace {

/// A logit and its derivative by the inner product.
struct Logit {
  Vector value;
  Vector slope;
};

BATON_INLINE Logit bend(Vector product, Real scale, Real softcap) {
  const Vector value = product * scale;
  if (softcap == 0.0f)
    return {value, splat(scale)};
  const Vector bent = tanh(value / softcap);
  return {softcap * bent, (1.0f - bent * bent) * scale};
}

/// The parts of baton_cross_entropy_scratch_bytes.
struct Space {
  ProductSpace product;
  Real *logits; // [rows][stride]
  int64_t stride;
  Real *chains;

  /// The same packing, for products whose chains outlive a tile of logits.
  BATON_INLINE ProductSpace gradient() const {
    return {product.packed, product.panel, chains};
  }
};

BATON_INLINE Space space_of(Real *scratch, int64_t rows, int64_t columns) {
  const int64_t stride = (columns + lanes - 1) / lanes * lanes;
  Real *logits = scratch + product_packed_size + product_rows * stride;
  return {product_space(scratch), logits, stride, logits + rows * stride};
}

/// [rows, columns] products of x and weight; finish(row, column, count,
/// products) gives what is kept of them in space.logits.
template <typename Finish>
BATON_INLINE void make_logits(const Space &space, const Real *__restrict x,
                              int64_t x_stride, const Real *__restrict weight,
                              int64_t weight_stride, int64_t rows,
                              int64_t columns, int64_t width, Finish finish) {
  multiply_sides(space.product, {x, x_stride, 1}, {weight, 1, weight_stride},
                 rows, columns, width,
                 [&](int64_t row, int64_t column, int64_t count,
                     Vector products) BATON_INLINE_LAMBDA {
                   store(space.logits + row * space.stride + column,
                         finish(row, column, count, products));
                 });
}

/// The gradient of a row's loss by its products with 16 tokens from `token` on.
/// A row of weight 0 has none, whatever its logits are.
BATON_INLINE Vector gradient_of(Vector products, int64_t token, int32_t target,
                                Real weight, const Real *statistics, Real scale,
                                Real softcap) {
  const Logit logit = bend(products, scale, softcap);
  const Vector share =
      exp(logit.value - statistics[0]) * (1.0f / statistics[1]);
  const IntegerVector tokens = lane_indices() + static_cast<Integer>(token);
  const Vector rest = tokens == target ? share - 1.0f : share;
  return weight == 0.0f ? splat(0.0f) : rest * weight * logit.slope;
}

BATON_INLINE bool any_weight(const Real *weights, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row)
    if (weights[row] != 0.0f)
      return true;
  return false;
}

} // namespace

BATON_TASK void baton_task_cross_entropy_partial(
    Real *__restrict partials, int64_t partials_stride,
    const Real *__restrict x, int64_t x_stride, const Real *__restrict weight,
    int64_t weight_stride, const int32_t *__restrict targets, int64_t rows,
    int64_t first, int64_t columns, int64_t width, Real scale, Real softcap,
    Real *__restrict scratch) {
  const Real negative_infinity = -__builtin_inff();
  const Space space = space_of(scratch, rows, columns);
  make_logits(space, x, x_stride, weight, weight_stride, rows, columns, width,
              [&](int64_t, int64_t, int64_t count, Vector products)
                  BATON_INLINE_LAMBDA {
                    return keep_first(bend(products, scale, softcap).value,
                                      count, negative_infinity);
                  });
  for (int64_t row = 0; row < rows; ++row) {
    const Real *logits = space.logits + row * space.stride;
    Vector maxima = splat(negative_infinity);
    for (int64_t i = 0; i < columns; i += lanes)
      maxima = maximum(load(logits + i), maxima);
    const Real largest = reduce_maximum(maxima);
    // Shifting by -infinity would make NaN of a row without finite logits.
    const Real shift = largest == negative_infinity ? 0.0f : largest;
    Vector sums = splat(0.0f);
    for (int64_t i = 0; i < columns; i += lanes)
      sums += exp(load(logits + i) - shift);
    Real *place = partials + row * partials_stride;
    place[0] = largest;
    place[1] = reduce_sum(sums);
    const int64_t target = targets[row] - first;
    place[2] = target >= 0 && target < columns ? logits[target] : 0.0f;
  }
}

BATON_TASK void baton_task_cross_entropy_merge(
    Real *__restrict loss, int64_t loss_stride, Real *__restrict statistics,
    int64_t statistics_stride, const Real *__restrict partials,
    int64_t partials_stride, int64_t tiles, const Real *__restrict weights,
    int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *partial = partials + row * partials_stride;
    Real maximum, sum;
    Real target = 0.0f;
    for (int64_t tile = 0; tile < tiles; ++tile, partial += 3) {
      merge(maximum, sum, {partial[0], partial[1]}, tile == 0);
      target += partial[2];
    }
    statistics[row * statistics_stride] = maximum;
    statistics[row * statistics_stride + 1] = sum;
    // Near a loss of 0 the maximum is the target's logit and has to vanish.
    loss[row * loss_stride] =
        weights[row] == 0.0f ? 0.0f
                             : weights[row] * (maximum - target + log(sum));
  }
}

BATON_TASK void baton_task_cross_entropy_input_gradient(
    Real *__restrict dx, int64_t dx_stride, const Real *__restrict x,
    int64_t x_stride, const Real *__restrict weight, int64_t weight_stride,
    const int32_t *__restrict targets, const Real *__restrict weights,
    const Real *__restrict statistics, int64_t statistics_stride, int64_t rows,
    int64_t vocabulary, int64_t columns, int64_t width, Real scale,
    Real softcap, Real *__restrict scratch) {
  // Neither limit shows in the result: a chain over tokens has no tiles.
  const int64_t tile = smaller(columns, product_depth);
  for (int64_t begin = 0; begin < rows; begin += product_rows) {
    const int64_t count = smaller(rows - begin, product_rows);
    const Real *row_weights = weights + begin;
    Real *destination = dx + begin * dx_stride;
    const Real *source = x + begin * x_stride;
    if (!any_weight(row_weights, count)) {
      for (int64_t row = 0; row < count; ++row)
        for_each_vector(
            width, [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
              store(destination + row * dx_stride + first, splat(0.0f), some);
            });
      continue;
    }
    const Space space = space_of(scratch, count, tile);
    for (int64_t token = 0; token < vocabulary; token += tile) {
      const int64_t tokens = smaller(tile, vocabulary - token);
      const Real *tokens_weight = weight + token * weight_stride;
      make_logits(space, source, x_stride, tokens_weight, weight_stride, count,
                  tokens, width,
                  [&](int64_t row, int64_t column, int64_t, Vector products)
                      BATON_INLINE_LAMBDA {
                        return gradient_of(
                            products, token + column, targets[begin + row],
                            row_weights[row],
                            statistics + (begin + row) * statistics_stride,
                            scale, softcap);
                      });
      multiply_piece(space.gradient(), {space.logits, space.stride, 1},
                     {tokens_weight, weight_stride, 1}, count, width, tokens, 0,
                     token == 0, token + tokens == vocabulary,
                     [&](int64_t row, int64_t column, int64_t some,
                         Vector chains) BATON_INLINE_LAMBDA {
                       store(destination + row * dx_stride + column,
                             row_weights[row] == 0.0f ? splat(0.0f) : chains,
                             some);
                     });
    }
  }
}

BATON_TASK void baton_task_cross_entropy_weight_gradient(
    Real *__restrict dweight, int64_t dweight_stride, const Real *__restrict x,
    int64_t x_stride, const Real *__restrict weight, int64_t weight_stride,
    const int32_t *__restrict targets, const Real *__restrict weights,
    const Real *__restrict statistics, int64_t statistics_stride, int64_t rows,
    int64_t row_tile, int64_t first, int64_t columns, int64_t width, Real scale,
    Real softcap, const int32_t *accumulate, Real *__restrict scratch) {
  const bool adds = joins(accumulate);
  // As above, with rows for tokens.
  const int64_t tile = smaller(row_tile, product_depth);
  for (int64_t begin = 0; begin < columns; begin += product_rows) {
    const int64_t tokens = smaller(columns - begin, product_rows);
    const Real *tokens_weight = weight + begin * weight_stride;
    Real *destination = dweight + begin * dweight_stride;
    const Space space = space_of(scratch, tile, tokens);
    for (int64_t row = 0; row < rows; row += tile) {
      const int64_t count = smaller(tile, rows - row);
      const Real *source = x + row * x_stride;
      // Rows without weight are common where prompts are not learnt; the first
      // and the last tile begin and end the chains in any case.
      if (row > 0 && row + count < rows && !any_weight(weights + row, count))
        continue;
      make_logits(space, source, x_stride, tokens_weight, weight_stride, count,
                  tokens, width,
                  [&](int64_t place, int64_t column, int64_t, Vector products)
                      BATON_INLINE_LAMBDA {
                        const int64_t at = row + place;
                        return gradient_of(products, first + begin + column,
                                           targets[at], weights[at],
                                           statistics + at * statistics_stride,
                                           scale, softcap);
                      });
      multiply_piece(
          space.gradient(), {space.logits, 1, space.stride},
          {source, x_stride, 1, weights + row}, tokens, width, count, 0,
          row == 0, row + count == rows,
          [&](int64_t token, int64_t column, int64_t some, Vector chains)
              BATON_INLINE_LAMBDA {
                Real *place = destination + token * dweight_stride + column;
                store(place, adds ? chains + load(place, some) : chains, some);
              });
    }
  }
}
