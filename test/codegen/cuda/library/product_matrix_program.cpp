//===- product_matrix_program.cpp - a product of training, emulated -------===//
//
// Usage: product_matrix_program SEED
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
#include "codegen/cuda/library/product_matrix.h"

namespace {

/// Two tiles of rows; the depth goes round the stages and ends within one.
constexpr int64_t rows = ROWS + 5, depth = 427, columns = COLUMNS;

struct Product {
  const float *a, *b;
  float *out;
};

/// The left side has depths side by side, the right one lines.
void kernel(void *argument) {
  const Product &product = *static_cast<const Product *>(argument);
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_product_bf16<THREADS, ROWS, COLUMNS, ARCHITECTURE>(
      shared, product.out, columns, product.a, depth, 1, product.b, columns, 1,
      nullptr, nullptr, 0, rows, columns, depth, nullptr);
}

/// Small integers, so that every sum is exact.
int value(int64_t line, int64_t d) {
  return static_cast<int>((line * 7 + d * 5 + line * d % 3) % 9) - 4;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<float> a(rows * depth), b(depth * columns),
      out(rows * columns, NAN);
  for (int64_t d = 0; d < depth; ++d) {
    for (int64_t row = 0; row < rows; ++row)
      a[row * depth + d] = static_cast<float>(value(row, d));
    for (int64_t column = 0; column < columns; ++column)
      b[d * columns + column] = static_cast<float>(value(column + 1000, d));
  }
  Product product = {a.data(), b.data(), out.data()};
  constexpr BatonProductMatrixShape shape{THREADS, ROWS, COLUMNS, ARCHITECTURE};
  baton::emulation::launch({1, THREADS, shape.shared_bytes(),
                            argc > 1 ? strtoull(argv[1], nullptr, 10) : 0},
                           kernel, &product);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t expected = 0;
      for (int64_t d = 0; d < depth; ++d)
        expected += value(row, d) * value(column + 1000, d);
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
