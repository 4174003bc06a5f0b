//===- matrix_blocks_program.cpp - a linear of blocks, emulated -----------===//
//
// Usage: matrix_blocks_program SEED
//
// One block's product of several tiles, by the shape in the macros THREADS,
// ROWS, COLUMNS and ARCHITECTURE, of weights in the format BLOCK, whose Index
// is INDEX; with MIXED every second panel is of Q8_0, with PLAIN of F16; with
// INTEGERS inputs are of 8 bits; with STREAM there is one row, and weights flow
// through a ring. Exits with 1 if it is wrong.
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/matrix_integers.h"
#include "test/codegen/cuda/library/stream_blocks_linears.h"

namespace {

using namespace baton::cuda;
typedef blocks::BLOCK Block;
#ifdef PLAIN
typedef blocks::F16 Other;
constexpr uint32_t other = blocks::f16;
#else
typedef blocks::Q8_0 Other;
constexpr uint32_t other = blocks::q8_0;
#endif
#if defined(MIXED) || defined(PLAIN)
constexpr bool is_mixed = true;
#else
constexpr bool is_mixed = false;
#endif
constexpr uint32_t formats = 1u << blocks::INDEX | (is_mixed ? 1u << other : 0);

/// Two tiles of rows; the depth goes round the chunks and, where blocks allow
/// it, ends within a stage.
#ifdef STREAM
/// Of three chunks, so that the fourth warp has none of a panel.
constexpr int64_t rows = 1, columns = COLUMNS,
                  k = Block::inputs > 32 ? Block::inputs * 3
                                         : Block::inputs * 11;
#else
constexpr int64_t rows = ROWS + 5, columns = COLUMNS,
                  k = Block::inputs > 32 ? Block::inputs * 4
                                         : Block::inputs * 13;
#endif

struct Linear {
  const float *x;
  const int8_t *panels;
  float *out;
};

#ifdef INTEGERS
constexpr int shared_bytes =
    BatonBlocksMatrixShape{{THREADS, ROWS, COLUMNS, 80}, formats}
        .integer_shared_bytes();
/// Words of a row that quantise_rows makes.
constexpr int64_t width = k / 32 * 10;
#else
#ifdef STREAM
constexpr int shared_bytes = baton::test::block_ring_bytes * THREADS;
#else
constexpr int shared_bytes =
    BatonBlocksMatrixShape{{THREADS, ROWS, COLUMNS, ARCHITECTURE}, formats}
        .shared_bytes();
#endif
constexpr int64_t width = k;
#endif

/// A panel's bytes: a head, and the blocks of either format.
constexpr int64_t head_bytes = is_mixed ? sizeof(blocks::MixedHead) : 0,
                  stride = head_bytes +
                           (is_mixed && sizeof(Block) * Other::inputs <
                                            sizeof(Other) * Block::inputs
                                ? k / Other::inputs * sizeof(Other)
                                : k / Block::inputs * sizeof(Block));

void kernel(void *argument) {
  const Linear &linear = *static_cast<const Linear *>(argument);
  BATON_DYNAMIC_SHARED(shared);
#ifdef STREAM
  static const float zeros[COLUMNS] = {};
  baton::test::stream_blocks<formats, formats, false, THREADS>(
      shared, linear.out, linear.x, linear.x,
      reinterpret_cast<const unsigned char *>(linear.panels), zeros, zeros, k,
      stride, columns, 48, BATON_ACTIVATION_NONE, false);
#else
  const BatonMatrixLinear call = {linear.out,
                                  columns,
                                  linear.x,
                                  width,
                                  linear.panels,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  0,
                                  rows,
                                  k,
                                  columns,
                                  BATON_ACTIVATION_NONE,
                                  false,
                                  is_mixed ? mixed_format
                                           : first_format(formats)};
#ifdef INTEGERS
  baton_matrix_multiply_integers<formats, THREADS, ROWS, COLUMNS>(shared, call);
#else
  baton_matrix_multiply_blocks<formats, THREADS, ROWS, COLUMNS, ARCHITECTURE>(
      shared, call);
#endif
#endif
}

/// Small whole numbers, so that every sum is exact.
int value(int64_t row, int64_t depth) {
  return static_cast<int>((row * 7 + depth * 5 + row * depth % 3) % 9) - 4;
}

/// Gives a block of any bits scales of 1 and 2, and units whole ones to 4.
template <typename Any> void simplify(Any &block) {
  for (int lane = 0; lane < 16; ++lane) {
    block.scale[lane] = lane % 2 ? 0x3c00 : 0x4000;
    if constexpr (requires { block.minimum; })
      block.minimum[lane] = 0x3c00;
  }
  if constexpr (requires { block.units; })
    for (auto &unit : block.units)
      for (auto &scale : unit)
        scale = scale % 4 * 16 + scale / 64 + 1;
}

/// Whole numbers of 1 to 3.
void simplify(blocks::F16 &line) {
  for (uint16_t &number : line.numbers)
    number = number % 3 == 0 ? 0x3c00 : number % 3 == 1 ? 0x4000 : 0x4200;
}

/// Of an output of a panel.
template <typename Any>
float number_of(const unsigned char *panel, int64_t depth, int64_t lane) {
  if constexpr (blocks::IsPlain<Any>::value)
    return plain_weight_at<Any>(reinterpret_cast<const int8_t *>(panel), depth,
                                lane);
  else
    return weight_at(reinterpret_cast<const Quantised<Any> *>(panel), depth,
                     lane);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<unsigned char> panels(columns / 16 * stride);
  uint32_t state = 1;
  for (unsigned char &byte : panels) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<unsigned char>(state >> 24);
  }
  auto is_other = [](int64_t panel) { return is_mixed && panel % 2 != 0; };
  for (int64_t panel = 0; panel < columns / 16; ++panel) {
    unsigned char *const place = &panels[panel * stride];
    if (is_mixed)
      *reinterpret_cast<blocks::MixedHead *>(place) = {
          is_other(panel) ? other : blocks::INDEX,
          static_cast<uint32_t>(stride),
          {}};
    if (is_other(panel))
      for (int64_t i = 0; i < k / Other::inputs; ++i)
        simplify(reinterpret_cast<Other *>(place + head_bytes)[i]);
    else
      for (int64_t i = 0; i < k / Block::inputs; ++i)
        simplify(reinterpret_cast<Block *>(place + head_bytes)[i]);
  }
  std::vector<float> x(rows * k), out(rows * columns, NAN),
      numbers(k * columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t depth = 0; depth < k; ++depth)
      x[row * k + depth] = static_cast<float>(value(row, depth));
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t depth = 0; depth < k; ++depth) {
      const unsigned char *const place =
          &panels[column / 16 * stride + head_bytes];
      numbers[column * k + depth] =
          is_other(column / 16) ? number_of<Other>(place, depth, column % 16)
                                : number_of<Block>(place, depth, column % 16);
    }
#ifdef INTEGERS
  // The largest magnitude of each 32 is 127: a scale of 1.
  std::vector<float> left(rows * width);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t place = 0; place < k / 32; ++place) {
      float *const from = &x[row * k + place * 32];
      from[row % 32] = 127;
      quantise(reinterpret_cast<blocks::QuantisedInputs *>(
                   &left[row * width])[place],
               from);
    }
#else
  const std::vector<float> &left = x;
#endif
  Linear linear = {left.data(), reinterpret_cast<const int8_t *>(panels.data()),
                   out.data()};
  baton::emulation::launch(
      {1, THREADS, shared_bytes, argc > 1 ? strtoull(argv[1], nullptr, 10) : 0},
      kernel, &linear);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      double expected = 0;
      for (int64_t depth = 0; depth < k; ++depth)
        expected += double{x[row * k + depth]} * numbers[column * k + depth];
      const float actual = out[row * columns + column];
      if (actual != expected) {
        printf("row %lld column %lld: %g instead of %g\n",
               static_cast<long long>(row), static_cast<long long>(column),
               actual, expected);
        return 1;
      }
    }
  return 0;
}
