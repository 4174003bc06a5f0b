//===- linear_transposed.cpp - packed weights from their other side
//--------===//
//
// What a linear sums over is what its panels have 16 of side by side. So parts
// of panels are unpacked and turned where a product packs its right-hand side,
// once for all rows of a tile.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/blocks.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/product.h"

using namespace baton::cpu;

namespace {

/// Inputs that are unpacked at once: whole blocks of every format.
constexpr int64_t most_inputs = 256;

/// Inputs [begin, begin + count) of a panel as [count][16], whole blocks but at
/// the end; where they lie already, there.
template <typename Weight>
BATON_INLINE const Real *unpack_inputs(Real *buffer, const Weight *panel,
                                       int64_t begin, int64_t count) {
  return unpack(buffer, panel + PanelSize<Weight>::of(begin), count);
}

/// A panel that says which format it has.
struct MixedPanel {
  int8_t byte;
};

template <typename Block>
__attribute__((noinline)) void unpack_format(Real *buffer,
                                             const MixedPanel *panel,
                                             int64_t begin, int64_t count) {
  unpack_inputs(buffer,
                reinterpret_cast<const Quantised<Block> *>(
                    panel + sizeof(blocks::MixedHead)),
                begin, count);
}

BATON_INLINE const Real *unpack_inputs(Real *buffer, const MixedPanel *panel,
                                       int64_t begin, int64_t count) {
  blocks::MixedHead head;
  __builtin_memcpy(&head, panel, sizeof head);
  switch (head.format) {
#define BATON_UNPACK_FORMAT(NAME, BLOCK)                                       \
  case blocks::NAME:                                                           \
    unpack_format<blocks::BLOCK>(buffer, panel, begin, count);                 \
    return buffer;
    BATON_FOR_EACH_BLOCK(BATON_UNPACK_FORMAT)
#undef BATON_UNPACK_FORMAT
  }
  __builtin_trap();
}

/// How inputs of a panel come, together.
template <typename Weight>
constexpr int64_t inputs_together = PanelSize<Weight>::inputs;
template <> constexpr int64_t inputs_together<MixedPanel> = most_inputs;

template <typename Weight>
BATON_INLINE int64_t panel_stride_of(const Weight *, int64_t inputs) {
  return PanelSize<Weight>::of(inputs);
}
BATON_INLINE int64_t panel_stride_of(const MixedPanel *panels, int64_t) {
  blocks::MixedHead head;
  __builtin_memcpy(&head, panels, sizeof head);
  return head.stride;
}

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
