//===- magnitude.cpp - rows of adapted weights with trained lengths -------===//
//
// Squares of a row of W + s B A are summed up from its elements, made one panel
// and few inputs at a time, not from |w|^2 + 2 s b (A w) + s^2 b (A A') b',
// which costs as much and loses digits where b A nearly undoes w: no term of
// this sum is negative, so that its relative error is that of the elements,
// each rounded once a rank, and of chains of an eighth of the inputs.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/panel_inputs.h"
#include "codegen/cpu/library/row_sums.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

namespace {

/// Chains of squares, and how many inputs' elements are made at once.
constexpr int square_chains = 8, elements_together = 4;

/// Adds the squares of up to four neighbours' elements of 16 outputs, of which
/// the first is in chain `chain`. `scaled` is factor * up, [rank][16].
template <int Count>
BATON_INLINE void add_squares(Vector *squares, int chain, const Real *weights,
                              const Real *scaled, const Real *__restrict down,
                              int64_t down_stride, int64_t rank) {
  Vector elements[Count];
  BATON_UNROLL
  for (int i = 0; i < Count; ++i)
    elements[i] = load(weights + i * lanes);
  for (int64_t r = 0; r < rank; ++r) {
    const Vector up = load(scaled + r * lanes);
    BATON_UNROLL
    for (int i = 0; i < Count; ++i)
      elements[i] = fma(up, splat(down[r * down_stride + i]), elements[i]);
  }
  BATON_UNROLL
  for (int i = 0; i < Count; ++i)
    squares[chain + i] = fma(elements[i], elements[i], squares[chain + i]);
}

/// The sums of 16 outputs, whose panel this is.
template <typename Weight>
BATON_INLINE Vector squares_of(const Weight *panel, const Real *scaled,
                               const Real *__restrict down,
                               int64_t down_stride, int64_t rank,
                               int64_t depth) {
  constexpr int64_t together = inputs_together<Weight>;
  constexpr int64_t step = together > lanes ? together : 4 * lanes;
  static_assert(step % square_chains == 0);
  alignas(64) Real buffer[step * lanes];
  Vector squares[square_chains];
  BATON_UNROLL
  for (int i = 0; i < square_chains; ++i)
    squares[i] = splat(0.0f);
  for (int64_t begin = 0; begin < depth; begin += step) {
    const int64_t left = depth - begin, count = left < step ? left : step;
    const Real *weights = unpack_inputs(buffer, panel, begin, count);
    int64_t d = 0;
    for (; d + elements_together <= count; d += elements_together)
      add_squares<elements_together>(
          squares, static_cast<int>(d % square_chains), weights + d * lanes,
          scaled, down + begin + d, down_stride, rank);
    for (; d < count; ++d)
      add_squares<1>(squares, static_cast<int>(d % square_chains),
                     weights + d * lanes, scaled, down + begin + d, down_stride,
                     rank);
  }
  return ((squares[0] + squares[1]) + (squares[2] + squares[3])) +
         ((squares[4] + squares[5]) + (squares[6] + squares[7]));
}

template <typename Weight>
BATON_INLINE void adapted_squares(Real *out, const Weight *panels,
                                  const Real *down, int64_t down_stride,
                                  const Real *up, int64_t up_stride,
                                  Real factor, int64_t columns, int64_t rank,
                                  int64_t depth, Real *scaled) {
  const int64_t stride = panel_stride_of(panels, depth);
  for_each_vector(columns, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
    for (int64_t r = 0; r < rank; ++r)
      for (int64_t i = 0; i < lanes; ++i)
        scaled[r * lanes + i] =
            i < count ? factor * up[(first + i) * up_stride + r] : 0.0f;
    store(out + first,
          squares_of(panels + first / lanes * stride, scaled, down, down_stride,
                     rank, depth),
          count);
  });
}

} // namespace

#define BATON_ADAPTED_SQUARES(NAME, STORED, WEIGHT)                            \
  BATON_TASK void baton_task_adapted_squares_##NAME(                           \
      Real *out, const STORED *panels, const Real *down, int64_t down_stride,  \
      const Real *up, int64_t up_stride, Real factor, int64_t columns,         \
      int64_t rank, int64_t depth, Real *scratch) {                            \
    adapted_squares(out, reinterpret_cast<const WEIGHT *>(panels), down,       \
                    down_stride, up, up_stride, factor, columns, rank, depth,  \
                    scratch);                                                  \
  }
#define BATON_ADAPTED_SQUARES_OF_BLOCKS(NAME, BLOCK)                           \
  BATON_ADAPTED_SQUARES(NAME, int8_t, Quantised<blocks::BLOCK>)

BATON_ADAPTED_SQUARES(f32, Real, Real)
BATON_ADAPTED_SQUARES(bf16, uint16_t, BFloat16)
BATON_ADAPTED_SQUARES(f16, uint16_t, Float16)
BATON_FOR_EACH_BLOCK(BATON_ADAPTED_SQUARES_OF_BLOCKS)
BATON_ADAPTED_SQUARES(mixed, int8_t, MixedPanel)

BATON_TASK void baton_task_magnitude(Real *out, int64_t out_stride,
                                     const Real *x, int64_t x_stride,
                                     const Real *__restrict magnitude,
                                     const Real *__restrict squares,
                                     const Real *__restrict bias, int64_t rows,
                                     int64_t columns) {
  for_each_vector(columns, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
    const Vector scale = load(magnitude + first, count) /
                         __builtin_elementwise_sqrt(load(squares + first, count));
    const Vector added = bias ? load(bias + first, count) : splat(0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      const Real *source = x + row * x_stride + first;
      __builtin_prefetch(source + rows_ahead * x_stride);
      Vector value = load(source, count) * scale;
      if (bias)
        value += added;
      store(out + row * out_stride + first, value, count);
    }
  });
}

BATON_TASK void baton_task_magnitude_gradient(
    Real *out, const Real *__restrict dy, int64_t dy_stride,
    const Real *__restrict x, int64_t x_stride, const Real *__restrict squares,
    int64_t rows, int64_t columns, const int32_t *accumulate) {
  sum_over_rows(
      out, rows, columns, accumulate,
      [&](Vector sum, int64_t row, int64_t column, int64_t count)
          BATON_INLINE_LAMBDA {
            const Real *gradient = dy + row * dy_stride + column;
            const Real *source = x + row * x_stride + column;
            __builtin_prefetch(gradient + rows_ahead * dy_stride);
            __builtin_prefetch(source + rows_ahead * x_stride);
            return fma(load(gradient, count), load(source, count), sum);
          },
      [&](Vector sum, int64_t column, int64_t count) BATON_INLINE_LAMBDA {
        return sum / __builtin_elementwise_sqrt(load(squares + column, count));
      });
}
