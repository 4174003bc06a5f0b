//===- matrix_program.cpp - a linear on tensor cores, emulated ------------===//
//
// Usage: matrix_program SEED
//
// One block's product of several tiles, by the shape in the macros THREADS,
// ROWS, COLUMNS and ARCHITECTURE. Exits with 1 if it is wrong.
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Behind the standard headers, whose attributes it redefines.
#include "codegen/cuda/library/matrix.h"

namespace {

/// Two tiles of rows; the depth goes round the ring and ends within a stage.
constexpr int64_t rows = ROWS + 5, k = 427, columns = COLUMNS;

struct Linear {
  const float *x;
  const uint16_t *panels;
  float *out;
};

void kernel(void *argument) {
  const Linear &linear = *static_cast<const Linear *>(argument);
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_linear_bf16<THREADS, ROWS, COLUMNS, ARCHITECTURE>(
      shared, linear.out, columns, linear.x, k, linear.panels, nullptr, nullptr,
      0, rows, k, columns, BATON_ACTIVATION_NONE);
}

/// Small integers, so that every sum is exact.
int value(int64_t row, int64_t depth) {
  return static_cast<int>((row * 7 + depth * 5 + row * depth % 3) % 9) - 4;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<float> x(rows * k), out(rows * columns, NAN);
  std::vector<uint16_t> panels(k * columns);
  for (int64_t depth = 0; depth < k; ++depth) {
    for (int64_t row = 0; row < rows; ++row)
      x[row * k + depth] = static_cast<float>(value(row, depth));
    for (int64_t column = 0; column < columns; ++column)
      panels[(column / 16 * k + depth) * 16 + column % 16] =
          __float_as_uint(static_cast<float>(value(column + 1000, depth))) >>
          16;
  }
  Linear linear = {x.data(), panels.data(), out.data()};
  constexpr BatonMatrixShape shape{THREADS, ROWS, COLUMNS, ARCHITECTURE};
  baton::emulation::launch({1, THREADS, shape.shared_bytes(),
                            argc > 1 ? strtoull(argv[1], nullptr, 10) : 0},
                           kernel, &linear);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t expected = 0;
      for (int64_t depth = 0; depth < k; ++depth)
        expected += value(row, depth) * value(column + 1000, depth);
      const float actual = out[row * columns + column];
      if (actual != static_cast<float>(expected)) {
        printf("row %lld column %lld: %g instead of %lld\n",
               static_cast<long long>(row), static_cast<long long>(column),
               actual, static_cast<long long>(expected));
        return 1;
      }
    }
  return 0;
}
