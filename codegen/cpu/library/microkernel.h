//===- microkernel.h - a register tile of rows by 16-column panels --------===//
//
// The inner loop of everything that multiplies matrices. One element is one
// chain of fused multiply-adds in ascending depth, whatever tile it is in:
// that is what makes a row's bits independent of its neighbours.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_MICROKERNEL_H
#define BATON_CODEGEN_CPU_LIBRARY_MICROKERNEL_H

#include "codegen/cpu/library/registers.h"
#include "codegen/cpu/library/weights.h"

namespace baton::cpu {

/// Rows of the largest tile: 6 rows by 16 columns are 12 of the 16 AVX
/// registers, the most that leaves room for the operands.
constexpr int64_t tile_rows = 6;
/// Of deep tiles where there are many registers: two panels of 8 rows are 16 of
/// AVX-512's. Twelve rows are slower by a third, as their addresses do not stay
/// in registers.
constexpr int64_t tall_tile_rows = 8;

/// sum[r][p] += x[r][d * Spacing] * right(d, p) for d in [begin, end),
/// ascending. `right` returns 16 columns of the right-hand side; `ahead(d)` is
/// called before every `Step` depths to prefetch.
template <int Rows, int Panels, int Step = 1, int Spacing = 1, typename Right,
          typename Ahead>
BATON_INLINE void accumulate(Vector (*sum)[Panels], const Real *const *x,
                             int64_t begin, int64_t end, Right right,
                             Ahead ahead) {
  auto one = [&](int64_t depth) BATON_INLINE_LAMBDA {
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel) {
      Vector columns = right(depth, panel);
      BATON_UNROLL
      for (int row = 0; row < Rows; ++row)
        sum[row][panel] =
            fma(splat(x[row][depth * Spacing]), columns, sum[row][panel]);
    }
  };
  int64_t depth = begin;
  for (; depth + Step <= end; depth += Step) {
    ahead(depth);
    BATON_UNROLL
    for (int step = 0; step < Step; ++step)
      one(depth + step);
  }
  if constexpr (Step > 1)
    for (; depth < end; ++depth)
      one(depth);
}

template <int Rows, int Panels, typename Right>
BATON_INLINE void accumulate(Vector (*sum)[Panels], const Real *const *x,
                             int64_t begin, int64_t end, Right right) {
  accumulate<Rows, Panels>(sum, x, begin, end, right,
                           [](int64_t) BATON_INLINE_LAMBDA {});
}

/// Calls body<Rows>() with rows (1 ..= Most) as a constant.
template <int64_t Most = tile_rows, typename Body>
BATON_INLINE void with_constant_rows(int64_t rows, Body body) {
  switch (rows) {
  case 1:
    return body.template operator()<1>();
  case 2:
    return body.template operator()<2>();
  case 3:
    return body.template operator()<3>();
  case 4:
    return body.template operator()<4>();
  case 5:
    return body.template operator()<5>();
  default:
    if constexpr (Most == tall_tile_rows) {
      if (rows == 8)
        return body.template operator()<8>();
      if (rows == 7)
        return body.template operator()<7>();
    }
    return body.template operator()<6>();
  }
}

/// Calls body(first, count) for blocks of at most `Most` rows, whose sizes
/// differ by one at most: 7 rows run as 3 and 4, because a lone row cannot hide
/// the FMA latency.
template <int64_t Most = tile_rows, typename Body>
BATON_INLINE void for_each_row_block(int64_t rows, Body body) {
  const int64_t blocks = (rows + Most - 1) / Most;
  int64_t first = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t end = rows * (block + 1) / blocks;
    body(first, end - first);
    first = end;
  }
}

/// One tile of x times packed panels, written to `tile` [Rows][Panels * 16].
/// A panel is [k][16]; `panel_stride` elements lie between two of them.
template <int Rows, int Panels, typename Weight>
BATON_INLINE void multiply_panels(Real *tile, const Real *__restrict x,
                                  int64_t x_stride,
                                  const Weight *__restrict panels,
                                  int64_t panel_stride, int64_t k) {
  constexpr int rows_per_line = 64 / (lanes * sizeof(Weight));
  // Measured best on AVX2: far enough to cover memory, near enough for L1. With
  // little arithmetic the hardware's prefetchers keep up with the loads by
  // themselves, and every line that is asked for by name takes a miss buffer
  // from them.
  constexpr bool is_light = sizeof(Weight) == sizeof(Real) && Rows <= 2;
  constexpr int64_t ahead = (is_light ? 512 : 1024) / sizeof(Weight);
  const Real *row_pointers[Rows];
  Vector sum[Rows][Panels];
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row) {
    row_pointers[row] = x + row * x_stride;
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      sum[row][panel] = splat(0.0f);
  }
  // Behind a panel's end comes what this stream reads next: the panel of the
  // tile behind this one, not its neighbour, which another stream is reading.
  const int64_t to_next_tile = (Panels - 1) * panel_stride;
  accumulate<Rows, Panels, rows_per_line>(
      sum, row_pointers, 0, k,
      [&](int64_t depth, int panel) BATON_INLINE_LAMBDA {
        return load_weights(panels + panel * panel_stride + depth * lanes);
      },
      [&](int64_t depth) BATON_INLINE_LAMBDA {
        const int64_t place = depth * lanes + ahead;
        const Weight *next = panels + place;
        if (place >= panel_stride)
          next += to_next_tile;
        BATON_UNROLL
        for (int panel = 0; panel < Panels; ++panel)
          __builtin_prefetch(next + panel * panel_stride);
      });
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    BATON_UNROLL
  for (int panel = 0; panel < Panels; ++panel)
    store(tile + (row * Panels + panel) * lanes, sum[row][panel]);
}

/// Panels that run at once for a lone row, whose chains have to hide the
/// latency of an FMA.
constexpr int lone_row_panels = 4;

/// Whether they do. Sums, scales and offsets of four panels of blocks take 24
/// registers of AVX2, of which there are 16: with two it decodes faster.
template <typename Weight> BATON_INLINE bool takes_lone_row_panels() {
  if constexpr (is_quantised<Weight>)
    return baton_has_many_registers();
  return true;
}

/// Rows, panels and depth of a deep product: the part of one panel that is in
/// use stays in L1, the rows' part in L2 for all panels, the sums on the stack.
constexpr int64_t deep_rows = 48;
constexpr int64_t deep_panels = 4;
constexpr int64_t deep_depth = 256;

/// What a deep product needs; an entry point has one on its stack.
struct DeepTile {
  /// [deep_rows][deep_panels * 16].
  alignas(64) Real sums[deep_rows * deep_panels * lanes];
  /// One panel's part as F32, [deep_depth][16], or two panels'.
  alignas(64) Real weights[2 * deep_depth * lanes];
};

/// [depth][16] weights as F32: where they lie, or converted to `buffer`.
BATON_INLINE const Real *unpack(Real *, const Real *weights, int64_t) {
  return weights;
}
template <typename Weight>
BATON_INLINE const Real *unpack(Real *buffer, const Weight *weights,
                                int64_t depth) {
  for (int64_t d = 0; d < depth; ++d)
    store(buffer + d * lanes, load_weights(weights + d * lanes));
  return buffer;
}

/// Some depths, from `begin` on, of up to deep_rows rows of x times `Panels`
/// packed panels; `sums` and `source` are the first one's. A part as large is
/// asked for at `next`.
template <int Panels, typename Weight>
BATON_INLINE void
multiply_deep_part(Real *sums, Real *buffer, const Real *__restrict x,
                   int64_t x_stride, int64_t rows,
                   const Weight *__restrict source, int64_t panel_stride,
                   int64_t begin, int64_t depth, const Weight *next) {
  constexpr int64_t sums_stride = deep_panels * lanes;
  const int64_t next_bytes = PanelSize<Weight>::of(depth) * sizeof(Weight);
  const Real *weights[Panels];
  BATON_UNROLL
  for (int panel = 0; panel < Panels; ++panel)
    weights[panel] = unpack(buffer + panel * depth * lanes,
                            source + panel * panel_stride, depth);
  // Fetched ahead a line per `step` depths of every block of rows: all at
  // once, the arithmetic would wait.
  constexpr int64_t step = 4;
  int64_t fetched = 0;
  auto multiply = [&]<int Rows>(int64_t first) BATON_INLINE_LAMBDA {
    Real *block = sums + first * sums_stride;
    const char *fetch[Panels];
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      fetch[panel] =
          fetched < next_bytes
              ? reinterpret_cast<const char *>(next + panel * panel_stride) +
                    fetched
              : reinterpret_cast<const char *>(weights[panel]);
    fetched += depth / step * 64;
    const Real *row_pointers[Rows];
    Vector sum[Rows][Panels];
    BATON_UNROLL
    for (int row = 0; row < Rows; ++row) {
      row_pointers[row] = x + (first + row) * x_stride + begin;
      BATON_UNROLL
      for (int panel = 0; panel < Panels; ++panel)
        sum[row][panel] = begin
                              ? load(block + row * sums_stride + panel * lanes)
                              : splat(0.0f);
    }
    accumulate<Rows, Panels, step>(
        sum, row_pointers, 0, depth,
        [&](int64_t d, int panel)
            BATON_INLINE_LAMBDA { return load(weights[panel] + d * lanes); },
        [&](int64_t d) BATON_INLINE_LAMBDA {
          BATON_UNROLL
          for (int panel = 0; panel < Panels; ++panel)
            __builtin_prefetch(fetch[panel] + d / step * 64, 0, 2);
        });
    BATON_UNROLL
    for (int row = 0; row < Rows; ++row)
      BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      store(block + row * sums_stride + panel * lanes, sum[row][panel]);
  };
  auto multiply_blocks = [&]<int64_t Most>() BATON_INLINE_LAMBDA {
    for_each_row_block<Most>(
        rows, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          with_constant_rows<Most>(count, [&]<int Rows>() BATON_INLINE_LAMBDA {
            multiply.template operator()<Rows>(first);
          });
        });
  };
  // Fewer blocks ask for fewer lines.
  const int64_t blocks = (rows + tall_tile_rows - 1) / tall_tile_rows;
  if (Panels == 2 && baton_has_many_registers() &&
      blocks * (depth / step * 64) >= next_bytes)
    multiply_blocks.template operator()<tall_tile_rows>();
  else
    multiply_blocks.template operator()<tile_rows>();
}

/// Up to deep_rows rows of x times up to deep_panels packed panels, written to
/// tile.sums. Sums go to memory and back between two depths, which rounds
/// nothing: an element stays one ascending chain.
template <typename Weight>
BATON_INLINE void
multiply_deep(DeepTile &tile, const Real *__restrict x, int64_t x_stride,
              int64_t rows, const Weight *__restrict panels,
              int64_t panel_stride, int64_t panel_count, int64_t k) {
  // Six rows by one register are six chains, too few for the latency of an FMA,
  // and each takes a load. Two panels at once have half the depth in L1, but of
  // formats whose blocks are as deep.
  const int64_t together = baton_has_many_registers() ? 2 : 1;
  const int64_t most = together == 2 && PanelSize<Weight>::inputs < deep_depth
                           ? deep_depth / 2
                           : deep_depth;
  for (int64_t begin = 0; begin < k; begin += most) {
    const int64_t depth = k - begin < most ? k - begin : most;
    const Weight *part = panels + PanelSize<Weight>::of(begin);
    for (int64_t panel = 0; panel < panel_count;) {
      const int64_t taken = panel_count - panel < together ? 1 : together;
      const Weight *source = part + panel * panel_stride;
      // The next panels' part; after the last ones the first ones' next, and
      // at the end that of whatever tile comes behind this one.
      const Weight *next =
          panel + taken < panel_count ? source + taken * panel_stride
          : begin + depth < k         ? part + PanelSize<Weight>::of(depth)
                                      : panels + panel_count * panel_stride;
      Real *sums = tile.sums + panel * lanes;
      if (taken == 2)
        multiply_deep_part<2>(sums, tile.weights, x, x_stride, rows, source,
                              panel_stride, begin, depth, next);
      else
        multiply_deep_part<1>(sums, tile.weights, x, x_stride, rows, source,
                              panel_stride, begin, depth, next);
      panel += taken;
    }
  }
}

/// Calls body(first row, rows, first panel, panels) for every deep tile.
template <typename Body>
BATON_INLINE void for_each_deep_tile(int64_t rows, int64_t panels, Body body) {
  for (int64_t panel = 0; panel < panels; panel += deep_panels)
    for (int64_t row = 0; row < rows; row += deep_rows)
      body(row, rows - row < deep_rows ? rows - row : deep_rows, panel,
           panels - panel < deep_panels ? panels - panel : deep_panels);
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_MICROKERNEL_H
