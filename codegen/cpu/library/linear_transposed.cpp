//===- linear_transposed.cpp - packed weights from their other side -------===//
//
// What a linear sums over is what its panels have 16 of side by side. So parts
// of panels are unpacked and turned where a product packs its right-hand side,
// once for all rows of a tile.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/panel_inputs.h"
#include "codegen/cpu/library/product.h"

using namespace baton::cpu;

namespace {

/// Element (d, column) is the weight of output d and input `first` + column.
template <typename Weight> struct TransposedSide {
  const Weight *panels;
  int64_t panel_stride;
  int64_t first;
  int64_t inputs;

  /// `depth` is a multiple of 16.
  BATON_INLINE TransposedSide at(int64_t depth, int64_t column) const {
    return {panels + depth / lanes * panel_stride, panel_stride, first + column,
            inputs};
  }
};

/// A block's inputs at once, else each would be decoded more than once.
template <typename Weight>
BATON_INLINE int64_t panels_together(TransposedSide<Weight>, int64_t) {
  constexpr int64_t panels = inputs_together<Weight> / lanes;
  return panels > product_panels ? panels : product_panels;
}

/// What comes next is read as one stream.
struct NoFetcher {
  BATON_INLINE void fetch(int64_t) {}
};
template <typename Weight>
BATON_INLINE NoFetcher fetcher(TransposedSide<Weight>, int64_t, int64_t) {
  return {};
}

template <typename Weight>
BATON_INLINE void pack_right(Real *__restrict panels,
                             TransposedSide<Weight> right, int64_t count,
                             int64_t depth) {
  constexpr int64_t together = inputs_together<Weight>;
  constexpr int64_t step = together > lanes ? together : 4 * lanes;
  alignas(64) Real buffer[step * lanes];
  const int64_t end = right.first + count;
  for (int64_t d = 0; d < depth; d += lanes) {
    const Weight *panel = right.panels + d / lanes * right.panel_stride;
    const int64_t outputs = depth - d < lanes ? depth - d : lanes;
    for (int64_t begin = right.first / together * together; begin < end;
         begin += step) {
      const int64_t left = right.inputs - begin;
      const Real *values =
          unpack_inputs(buffer, panel, begin, left < step ? left : step);
      int64_t input = begin < right.first ? right.first : begin;
      for (; input < begin + step && input < end; input += lanes)
        transpose_to_panel(panels + (input - right.first) * depth + d * lanes,
                           values + (input - begin) * lanes, lanes, 0,
                           end - input < lanes ? end - input : lanes, outputs);
    }
  }
}

template <typename Weight>
BATON_INLINE void
linear_transposed(Real *out, int64_t out_stride, const Real *a,
                  int64_t a_stride, const Weight *panels, const Real *residual,
                  int64_t residual_stride, int64_t first, int64_t rows,
                  int64_t columns, int64_t depth, int64_t inputs,
                  Real *scratch) {
  constexpr int64_t most_panels = most_inputs / lanes;
  const ProductSpace space = {scratch, scratch + product_rows * product_depth,
                              scratch + (product_rows + most_panels * lanes) *
                                            product_depth};
  multiply_sides(
      space, LeftSide{a, a_stride, 1},
      TransposedSide<Weight>{panels, panel_stride_of(panels, inputs), first,
                             inputs},
      rows, columns, depth,
      [](int64_t, int64_t, int64_t) BATON_INLINE_LAMBDA { return splat(0.0f); },
      [&](int64_t row, int64_t column, int64_t count, Vector value)
          BATON_INLINE_LAMBDA {
            if (residual)
              value += load(residual + row * residual_stride + column, count);
            store(out + row * out_stride + column, value, count);
          });
}

} // namespace

#define BATON_LINEAR_TRANSPOSED(NAME, STORED, WEIGHT)                          \
  BATON_TASK void baton_task_linear_transposed_##NAME(                         \
      Real *out, int64_t out_stride, const Real *a, int64_t a_stride,          \
      const STORED *panels, const Real *residual, int64_t residual_stride,     \
      int64_t first, int64_t rows, int64_t columns, int64_t depth,             \
      int64_t inputs, Real *scratch) {                                         \
    linear_transposed(out, out_stride, a, a_stride,                            \
                      reinterpret_cast<const WEIGHT *>(panels), residual,      \
                      residual_stride, first, rows, columns, depth, inputs,    \
                      scratch);                                                \
  }
#define BATON_LINEAR_TRANSPOSED_OF_BLOCKS(NAME, BLOCK)                         \
  BATON_LINEAR_TRANSPOSED(NAME, int8_t, Quantised<blocks::BLOCK>)

BATON_LINEAR_TRANSPOSED(f32, Real, Real)
BATON_LINEAR_TRANSPOSED(bf16, uint16_t, BFloat16)
BATON_LINEAR_TRANSPOSED(f16, uint16_t, Float16)
BATON_FOR_EACH_BLOCK(BATON_LINEAR_TRANSPOSED_OF_BLOCKS)
BATON_LINEAR_TRANSPOSED(mixed, int8_t, MixedPanel)
