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
/// Inputs of `down` that are copied together: its rows often lie a multiple of
/// a page apart, where they would push one another out of the cache.
constexpr int64_t copied_inputs = 64;

/// What a pair adds to 16 outputs: factor * up, [rank][16], and some inputs of
/// down, [rank][copied_inputs].
struct PairPart {
  const Real *up, *down;
  int64_t rank;
};

/// Adds the squares of up to four neighbours' elements of 16 outputs, of which
/// the first is number `input` of those of `pair`.
template <int Count>
BATON_INLINE void add_squares(Vector *squares, const Real *weights,
                              PairPart pair, int64_t input) {
  Vector elements[Count];
  BATON_UNROLL
  for (int i = 0; i < Count; ++i)
    elements[i] = load(weights + i * lanes);
  for (int64_t r = 0; r < pair.rank; ++r) {
    const Vector up = load(pair.up + r * lanes);
    const Real *down = pair.down + r * copied_inputs + input;
    BATON_UNROLL
    for (int i = 0; i < Count; ++i)
      elements[i] = fma(up, splat(down[i]), elements[i]);
  }
  Vector *chain = squares + input % square_chains;
  BATON_UNROLL
  for (int i = 0; i < Count; ++i)
    chain[i] = fma(elements[i], elements[i], chain[i]);
}

/// The sums of 16 outputs, whose panel this is. `up` as PairPart has it;
/// `copied` is room for what it has of `down`.
template <typename Weight>
BATON_INLINE Vector squares_of(const Weight *panel, const Real *up,
                               const Real *__restrict down, int64_t down_stride,
                               int64_t rank, int64_t depth,
                               Real *__restrict copied) {
  constexpr int64_t together = inputs_together<Weight>;
  constexpr int64_t step = together > lanes ? together : 4 * lanes;
  static_assert(copied_inputs % square_chains == 0);
  alignas(64) Real buffer[step * lanes];
  Vector squares[square_chains];
  BATON_UNROLL
  for (int i = 0; i < square_chains; ++i)
    squares[i] = splat(0.0f);
  for (int64_t begin = 0; begin < depth; begin += step) {
    const int64_t left = depth - begin, count = left < step ? left : step;
    const Real *weights = unpack_inputs(buffer, panel, begin, count);
    for (int64_t d = 0; d < count; ++d) {
      const int64_t input = (begin + d) % copied_inputs;
      if (input == 0) {
        const int64_t rest = depth - begin - d;
        for (int64_t r = 0; r < rank; ++r)
          __builtin_memcpy(
              copied + r * copied_inputs, down + r * down_stride + begin + d,
              (rest < copied_inputs ? rest : copied_inputs) * sizeof(Real));
      }
      const PairPart pair = {up, copied, rank};
      if (d + elements_together <= count) {
        add_squares<elements_together>(squares, weights + d * lanes, pair,
                                       input);
        d += elements_together - 1;
      } else {
        add_squares<1>(squares, weights + d * lanes, pair, input);
      }
    }
  }
  return ((squares[0] + squares[1]) + (squares[2] + squares[3])) +
         ((squares[4] + squares[5]) + (squares[6] + squares[7]));
}

template <typename Weight>
BATON_INLINE void adapted_squares(Real *out, const Weight *panels,
                                  const Real *down, int64_t down_stride,
                                  const Real *up, int64_t up_stride,
                                  Real factor, int64_t columns, int64_t rank,
                                  int64_t depth, Real *scratch) {
  Real *scaled = scratch, *copied = scratch + rank * lanes;
  const int64_t stride = panel_stride_of(panels, depth);
  for_each_vector(
      columns, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
        for (int64_t r = 0; r < rank; ++r)
          for (int64_t i = 0; i < lanes; ++i)
            scaled[r * lanes + i] =
                i < count ? factor * up[(first + i) * up_stride + r] : 0.0f;
        store(out + first,
              squares_of(panels + first / lanes * stride, scaled, down,
                         down_stride, rank, depth, copied),
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
  for_each_vector(
      columns, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
        const Vector scale =
            load(magnitude + first, count) /
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
