//===- integer_linear.cpp - linear layers on inputs of 8 bits -------------===//
//
// Units of a block are sums of whole numbers, exact, which a scale of the
// weights and one of the inputs makes a number that is added to the product.
// One row is bound by reading the weights, 16 outputs of a panel at a time. Of
// four rows sums of eight outputs stay in registers, or, with AVX-512, of eight
// rows those of sixteen; a panel that some rows have read is near for the next.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/byte_blocks.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_rows.h"

using namespace baton::cpu;

using baton::blocks::QuantisedInputs;

namespace {

constexpr int inputs_of_row = QuantisedInputs::inputs;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

BATON_INLINE const QuantisedInputs *row_at(const Real *x, int64_t x_stride,
                                           int64_t row) {
  return reinterpret_cast<const QuantisedInputs *>(x + row * x_stride);
}

/// Bits of the largest |x|; those of what is not finite are larger than others.
BATON_INLINE uint32_t largest_bits(Floats first, Floats second) {
  const Words sign(0x7fffffffu);
  const Words both =
      __builtin_elementwise_max((Words)first & sign, (Words)second & sign);
  return __builtin_reduce_max(both);
}

/// To the nearest whole number, halves to the even one, of less than 2^22.
BATON_INLINE Integers rounded(Floats x) {
  const Floats shift(0x1.8p23f);
  return __builtin_convertvector((x + shift) - shift, Integers);
}

BATON_INLINE int16_t sum_of(Integers numbers) {
  return static_cast<int16_t>(__builtin_reduce_add(numbers));
}

BATON_INLINE void quantise(QuantisedInputs &out, const Real *x) {
  const Floats first = __builtin_convertvector(load(x), Floats);
  const Floats second = __builtin_convertvector(load(x + lanes), Floats);
  const uint32_t bits = largest_bits(first, second);
  float largest;
  __builtin_memcpy(&largest, &bits, sizeof largest);
  const float scale = largest / 127.0f;
  // 1 / scale is finite.
  const bool is_usable = scale >= 0x1p-126f && bits < 0x7f800000u;
  const Floats inverse(is_usable ? 1.0f / scale : 0.0f);
  Integers low(0), high(0);
  if (is_usable) {
    low = rounded(first * inverse);
    high = rounded(second * inverse);
  }
  typedef int8_t Bytes __attribute__((ext_vector_type(lanes)));
  const Bytes low_bytes = __builtin_convertvector(low, Bytes);
  const Bytes high_bytes = __builtin_convertvector(high, Bytes);
  __builtin_memcpy(out.quants, &low_bytes, sizeof low_bytes);
  __builtin_memcpy(out.quants + lanes, &high_bytes, sizeof high_bytes);
  out.scale = is_usable || bits >= 0x7f800000u ? scale : 0.0f;
  out.sums[0] = sum_of(low);
  out.sums[1] = sum_of(high);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Four numbers of a row, from `place` on.
BATON_INLINE uint32_t four_of(const QuantisedInputs &inputs, int place) {
  uint32_t word;
  __builtin_memcpy(&word, inputs.quants + place, sizeof word);
  return word;
}

/// sums[row][part] of a unit: the products of its bytes with those of each row,
/// `Parts` times eight outputs from `lane` on.
template <int Rows, int Parts, typename Block>
BATON_INLINE void multiply_unit(DotIntegers (&sums)[Rows][Parts],
                                const QuantisedInputs *const (&inputs)[Rows],
                                const Block &block, int unit, int begin,
                                int lane) {
  constexpr int fours = Reader<Block>::unit / 4;
  constexpr int step = has_sign<Block> ? 1 : 2;
  BATON_UNROLL
  for (int four = 0; four < fours; four += step)
    BATON_UNROLL
  for (int part = 0; part < Parts; ++part) {
    DotWords words[step];
    BATON_UNROLL
    for (int i = 0; i < step; ++i)
      words[i] =
          bytes_of<dot_lanes>(block, unit, four + i, lane + part * dot_lanes);
    BATON_UNROLL
    for (int row = 0; row < Rows; ++row) {
      auto *sum = reinterpret_cast<int32_t *>(&sums[row][part]);
      const auto *weights = reinterpret_cast<const uint32_t *>(words);
      const uint32_t x = four_of(*inputs[row], begin + 4 * four);
      if constexpr (has_sign<Block>)
        baton_dots_signed(sum, weights, x);
      else
        baton_dots_unsigned(sum, weights, x,
                            four_of(*inputs[row], begin + 4 * four + 4));
    }
  }
}

/// products[row][16] of a panel and `Rows` rows, `Parts` times eight outputs
/// from `lane` on.
template <int Rows, int Parts, typename Block>
BATON_INLINE void multiply_outputs(Real *products, const Real *x,
                                   int64_t x_stride, const Block *panel,
                                   int64_t k, int lane) {
  typedef Real Lanes __attribute__((ext_vector_type(dot_lanes)));
  typedef Reader<Block> Read;
  Lanes total[Rows][Parts];
  const QuantisedInputs *inputs[Rows];
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row) {
    inputs[row] = row_at(x, x_stride, row);
    BATON_UNROLL
    for (int part = 0; part < Parts; ++part)
      total[row][part] = Lanes(0.0f);
  }
  for (int64_t block = 0; block < k / Block::inputs; ++block, ++panel)
    for (int unit = 0; unit < Block::inputs / Read::unit; ++unit) {
      constexpr bool is_half = Read::unit < inputs_of_row;
      const int half = is_half ? unit % 2 : 0;
      // The processor's own prefetchers keep too little of one stream under
      // way. The next panel lies behind this one.
      constexpr int groups = Read::unit / Read::group;
      BATON_UNROLL
      for (int group = 0; Rows == 1 && group < groups; ++group)
        prefetch_blocks<1, Block>(reinterpret_cast<const uint8_t *>(panel) +
                                      bytes_ahead,
                                  /*panel_stride=*/0, unit * groups + group);
      DotIntegers sums[Rows][Parts];
      BATON_UNROLL
      for (int row = 0; row < Rows; ++row)
        BATON_UNROLL
      for (int part = 0; part < Parts; ++part)
        sums[row][part] = DotIntegers(0);
      multiply_unit(sums, inputs, *panel, unit, half * Read::unit, lane);
      ScalesOf<dot_lanes> scales[Parts];
      BATON_UNROLL
      for (int part = 0; part < Parts; ++part)
        scales[part] = Read::template scales<dot_lanes>(
            *panel, unit, lane + part * dot_lanes);
      BATON_UNROLL
      for (int row = 0; row < Rows; ++row) {
        const QuantisedInputs &from = *inputs[row];
        const int sum = is_half ? from.sums[half] : from.sums[0] + from.sums[1];
        const DotFloats offset(from.scale * static_cast<float>(sum));
        BATON_UNROLL
        for (int part = 0; part < Parts; ++part) {
          Lanes &to = total[row][part];
          to = __builtin_elementwise_fma(
              __builtin_convertvector(sums[row][part], Lanes),
              __builtin_convertvector(
                  scales[part].scale * DotFloats(from.scale), Lanes),
              to);
          if (!has_sign<Block>)
            to = __builtin_elementwise_fma(
                __builtin_convertvector(scales[part].offset, Lanes),
                __builtin_convertvector(offset, Lanes), to);
        }
        if (!is_half || half)
          ++inputs[row];
      }
    }
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    __builtin_memcpy(products + row * lanes + lane, total[row],
                     sizeof total[row]);
}

/// The same of all 16 outputs, by dots of so many.
template <int Rows, typename Block>
BATON_INLINE void multiply_wide(Real *products, const Real *x, int64_t x_stride,
                                const Block *panel, int64_t k) {
  typedef Reader<Block> Read;
  constexpr bool is_half = Read::unit < inputs_of_row;
  auto dots = [](Integers &sums, Words a, Words b) BATON_INLINE_LAMBDA {
    baton_dots_wide(reinterpret_cast<int32_t *>(&sums),
                    reinterpret_cast<const uint32_t *>(&a),
                    reinterpret_cast<const uint32_t *>(&b));
  };
  Vector total[Rows];
  const QuantisedInputs *inputs[Rows];
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row) {
    inputs[row] = row_at(x, x_stride, row);
    total[row] = splat(0.0f);
  }
  for (int64_t block = 0; block < k / Block::inputs; ++block, ++panel)
    for (int unit = 0; unit < Block::inputs / Read::unit; ++unit) {
      const int half = is_half ? unit % 2 : 0;
      Integers sums[Rows], all(0);
      BATON_UNROLL
      for (int row = 0; row < Rows; ++row)
        sums[row] = Integers(0);
      BATON_UNROLL
      for (int four = 0; four < Read::unit / 4; ++four) {
        const Words weights = bytes_of<lanes>(*panel, unit, four, 0);
        // Of bytes with a sign the inputs are 128 more, from 0 on.
        if (has_sign<Block>)
          dots(all, Words(0x01010101u), weights);
        BATON_UNROLL
        for (int row = 0; row < Rows; ++row) {
          const uint32_t word =
              four_of(*inputs[row], half * Read::unit + 4 * four);
          if (has_sign<Block>)
            dots(sums[row], Words(word ^ 0x80808080u), weights);
          else
            dots(sums[row], weights, Words(word));
        }
      }
      const UnitScales scales = Read::scales(*panel, unit);
      BATON_UNROLL
      for (int row = 0; row < Rows; ++row) {
        const QuantisedInputs &from = *inputs[row];
        const int sum = is_half ? from.sums[half] : from.sums[0] + from.sums[1];
        const Integers own =
            has_sign<Block> ? sums[row] - 128 * all : sums[row];
        total[row] = fma(
            __builtin_convertvector(own, Vector),
            __builtin_convertvector(scales.scale * Floats(from.scale), Vector),
            total[row]);
        if (!has_sign<Block>)
          total[row] =
              fma(__builtin_convertvector(scales.offset, Vector),
                  splat(from.scale * static_cast<float>(sum)), total[row]);
        if (!is_half || half)
          ++inputs[row];
      }
    }
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    store(products + row * lanes, total[row]);
}

/// Rows that one kernel takes of eight outputs, where there are so many; of
/// single rows it takes all sixteen.
constexpr int kernel_rows = 4;
/// Rows that the wide one takes.
constexpr int wide_rows = 8;

/// products[row][16] of a panel and any number of rows.
template <typename Block>
BATON_INLINE void multiply_panel(Real *products, const Real *x,
                                 int64_t x_stride, int64_t rows,
                                 const Block *panel, int64_t k) {
  int64_t row = 0;
  if (baton_has_wide_dots())
    for (; row + wide_rows <= rows; row += wide_rows)
      multiply_wide<wide_rows>(products + row * lanes, x + row * x_stride,
                               x_stride, panel, k);
  for (; row + kernel_rows <= rows; row += kernel_rows)
    for (int lane = 0; lane < lanes; lane += dot_lanes)
      multiply_outputs<kernel_rows, 1>(
          products + row * lanes, x + row * x_stride, x_stride, panel, k, lane);
  for (; row < rows; ++row)
    multiply_outputs<1, lanes / dot_lanes>(
        products + row * lanes, x + row * x_stride, x_stride, panel, k, 0);
}

/// Rows whose products a task has at once.
constexpr int64_t rows_at_once = 32;

/// Calls finish(products, row, rows, column) for panels of 16 columns and rows
/// of the tile, products[sides][rows_at_once][16].
template <int Sides, typename Block, typename Finish>
BATON_INLINE void for_each_panel(const Real *x, int64_t x_stride,
                                 const uint8_t *panels, int64_t panel_stride,
                                 int64_t rows, int64_t k, int64_t columns,
                                 Finish finish) {
  alignas(64) Real products[Sides][rows_at_once * lanes];
  for (int64_t row = 0; row < rows; row += rows_at_once) {
    const int64_t count = rows - row < rows_at_once ? rows - row : rows_at_once;
    for (int64_t column = 0; column < columns; column += lanes) {
      // A loop, not two calls: the kernels exist once.
      for (int side = 0; side < Sides; ++side)
        multiply_panel(
            products[side], x + row * x_stride, x_stride, count,
            reinterpret_cast<const Block *>(
                panels + (column / lanes * Sides + side) * panel_stride),
            k);
      finish(products, row, count, column);
    }
  }
}

//===----------------------------------------------------------------------===//
// Linears
//===----------------------------------------------------------------------===//

template <typename Block>
BATON_INLINE void
integer_linear(Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
               const uint8_t *panels, int64_t panel_stride, const Real *bias,
               const Real *residual, int64_t residual_stride, int64_t rows,
               int64_t k, int64_t columns, int32_t activation) {
  const LinearEnd end{out,     out_stride, bias, residual, residual_stride,
                      columns, activation};
  for_each_panel<1, Block>(x, x_stride, panels, panel_stride, rows, k, columns,
                           [&](const auto &products, int64_t first_row,
                               int64_t count,
                               int64_t column) BATON_INLINE_LAMBDA {
                             end(products[0], lanes, first_row, count, column);
                           });
}

template <typename Block>
BATON_INLINE void
integer_gated_linear(Real *out, int64_t out_stride, const Real *x,
                     int64_t x_stride, const uint8_t *panels,
                     const Real *bias_gate, const Real *bias_up, int64_t rows,
                     int64_t k, int64_t columns, int32_t activation) {
  const GatedEnd end{out, out_stride, bias_gate, bias_up, columns, activation};
  for_each_panel<2, Block>(
      x, x_stride, panels, PanelSize<Quantised<Block>>::of(k), rows, k, columns,
      [&](const auto &products, int64_t first_row, int64_t count,
          int64_t column) BATON_INLINE_LAMBDA {
        end(products[0], products[1], lanes, first_row, count, column);
      });
}

} // namespace

BATON_TASK void baton_task_quantise_rows(Real *out, int64_t out_stride,
                                         const Real *x, int64_t x_stride,
                                         int64_t rows, int64_t k) {
  for (int64_t row = 0; row < rows; ++row) {
    auto *to = reinterpret_cast<QuantisedInputs *>(out + row * out_stride);
    for (int64_t input = 0; input < k; input += inputs_of_row)
      quantise(*to++, x + row * x_stride + input);
  }
}

#define BATON_INTEGER_LINEARS(NAME, BLOCK)                                     \
  BATON_TASK void baton_task_integer_linear_##NAME(                            \
      Real *out, int64_t out_stride, const Real *x, int64_t x_stride,          \
      const int8_t *panels, const Real *bias, const Real *residual,            \
      int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,       \
      int32_t activation) {                                                    \
    integer_linear<blocks::BLOCK>(out, out_stride, x, x_stride,                \
                                  reinterpret_cast<const uint8_t *>(panels),   \
                                  PanelSize<Quantised<blocks::BLOCK>>::of(k),  \
                                  bias, residual, residual_stride, rows, k,    \
                                  columns, activation);                        \
  }                                                                            \
  BATON_TASK void baton_task_integer_gated_linear_##NAME(                      \
      Real *out, int64_t out_stride, const Real *x, int64_t x_stride,          \
      const int8_t *panels, const Real *bias_gate, const Real *bias_up,        \
      int64_t rows, int64_t k, int64_t columns, int32_t activation) {          \
    integer_gated_linear<blocks::BLOCK>(                                       \
        out, out_stride, x, x_stride,                                          \
        reinterpret_cast<const uint8_t *>(panels), bias_gate, bias_up, rows,   \
        k, columns, activation);                                               \
  }
BATON_FOR_EACH_INTEGER_BLOCK(BATON_INTEGER_LINEARS)
#undef BATON_INTEGER_LINEARS

namespace {

/// Panels of one format; as linear_of_format() in linear.cpp.
template <typename Block>
__attribute__((noinline)) void integer_linear_of_format(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const uint8_t *panels, int64_t panel_stride, const Real *bias,
    const Real *residual, int64_t residual_stride, int64_t rows, int64_t k,
    int64_t columns, int32_t activation) {
  integer_linear<Block>(out, out_stride, x, x_stride, panels, panel_stride,
                        bias, residual, residual_stride, rows, k, columns,
                        activation);
}

} // namespace

BATON_TASK void baton_task_integer_linear_mixed(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const int8_t *panels, const Real *bias, const Real *residual,
    int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  linear_of_runs(
      []<typename Format>() BATON_INLINE_LAMBDA {
        // The compiler refuses others where inputs are whole numbers.
        if constexpr (blocks::IsInteger<Format>::value)
          return &integer_linear_of_format<Format>;
        else
          return decltype(&integer_linear_of_format<blocks::Q8_0>)(nullptr);
      },
      out, out_stride, Rows{x, x_stride}, Rows{x, x_stride}, panels, bias,
      residual, residual_stride, rows, k, columns, activation);
}

BATON_TASK void baton_task_partly_integer_linear_mixed(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const Real *exact, int64_t exact_stride, const int8_t *panels,
    const Real *bias, const Real *residual, int64_t residual_stride,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  linear_of_runs(
      []<typename Format>() BATON_INLINE_LAMBDA {
        if constexpr (blocks::IsInteger<Format>::value)
          return &integer_linear_of_format<Format>;
        else if constexpr (blocks::IsPlain<Format>::value)
          return &linear_of_format<Format>;
        else
          return decltype(&integer_linear_of_format<blocks::Q8_0>)(nullptr);
      },
      out, out_stride, Rows{x, x_stride}, Rows{exact, exact_stride}, panels,
      bias, residual, residual_stride, rows, k, columns, activation);
}
