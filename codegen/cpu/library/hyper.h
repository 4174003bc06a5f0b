//===- hyper.h - hyper-connections, a row at a time -----------------------===//
//
// What the bodies of hyper.cpp and their adjoints share. Fused bodies call the
// same functions for a row as those of single ops, so that their bits agree.
//
// The streams of a row lie behind one another, n of `width` elements each.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_HYPER_H
#define BATON_CODEGEN_CPU_LIBRARY_HYPER_H

#include "codegen/cpu/library/activation.h"
#include "codegen/cpu/library/library.h"

namespace baton::cpu {

constexpr int64_t most_streams = 8;
constexpr int64_t most_mixed = most_streams * most_streams;
/// Numbers of a row's maps, whole vectors.
constexpr int64_t most_maps = most_mixed + lanes;

/// How many of a row's maps there are.
BATON_INLINE int64_t maps_of(int64_t streams, int32_t mixing) {
  if (mixing == BATON_MIXING_NONE)
    return streams;
  return 2 * streams +
         (mixing == BATON_MIXING_IDENTITY ? 0 : streams * streams);
}

//===- The product and its norm -------------------------------------------===//

/// Rows that share one reading of phi, and how many columns of it at a time: as
/// many as stay in the first-level cache for all of them.
constexpr int64_t rows_together = 8;
constexpr int64_t columns_together = 256;

/// Adds products of `count` elements of x with `Outputs` rows of phi.
template <int Outputs>
BATON_INLINE void add_products(Vector *sums, const Real *x, const Real *phi,
                               int64_t width, int64_t count) {
  Vector own[Outputs];
  BATON_UNROLL
  for (int i = 0; i < Outputs; ++i)
    own[i] = sums[i];
  for_each_vector(count, [&](int64_t first, int64_t lanes) BATON_INLINE_LAMBDA {
    const Vector value = load(x + first, lanes);
    BATON_UNROLL
    for (int i = 0; i < Outputs; ++i)
      own[i] = fma(value, load(phi + i * width + first, lanes), own[i]);
  });
  BATON_UNROLL
  for (int i = 0; i < Outputs; ++i)
    sums[i] = own[i];
}

/// out[r][i] = (x[r] · phi[i]) / sqrt(mean(x[r]^2) + epsilon) for all i <
/// outputs and at most rows_together rows; `width` is that of all streams.
BATON_INLINE void project_rows(Real *out, int64_t out_stride, const Real *x,
                               int64_t x_stride, const Real *phi, int64_t rows,
                               int64_t width, int64_t outputs, Real epsilon) {
  Vector sums[rows_together][most_maps];
  Vector squares[rows_together];
  for (int64_t row = 0; row < rows; ++row) {
    squares[row] = splat(0.0f);
    for (int64_t i = 0; i < outputs; ++i)
      sums[row][i] = splat(0.0f);
  }
  for (int64_t column = 0; column < width; column += columns_together) {
    const int64_t rest = width - column;
    const int64_t count = rest < columns_together ? rest : columns_together;
    for (int64_t row = 0; row < rows; ++row) {
      const Real *source = x + row * x_stride + column;
      for_each_vector(count,
                      [&](int64_t first, int64_t lanes) BATON_INLINE_LAMBDA {
                        const Vector value = load(source + first, lanes);
                        squares[row] = fma(value, value, squares[row]);
                      });
      int64_t first = 0;
      for (; first + 4 <= outputs; first += 4)
        add_products<4>(&sums[row][first], source, phi + first * width + column,
                        width, count);
      for (; first < outputs; ++first)
        add_products<1>(&sums[row][first], source, phi + first * width + column,
                        width, count);
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    const Real mean = reduce_sum(squares[row]) / static_cast<Real>(width);
    const Real inverse = 1.0f / __builtin_elementwise_sqrt(mean + epsilon);
    for (int64_t i = 0; i < outputs; ++i)
      out[row * out_stride + i] = reduce_sum(sums[row][i]) * inverse;
  }
}

/// Calls body(first, count) for as many rows at a time.
template <typename Body>
BATON_INLINE void for_rows_together(int64_t rows, Body body) {
  for (int64_t first = 0; first < rows; first += rows_together)
    body(first, rows - first < rows_together ? rows - first : rows_together);
}

//===- The maps -----------------------------------------------------------===//

/// The sum of n numbers `step` apart, from the first on.
BATON_INLINE Real sum_of(const Real *values, int64_t n, int64_t step) {
  Real sum = values[0];
  for (int64_t i = 1; i < n; ++i)
    sum += values[i * step];
  return sum;
}

/// Divides rows, or columns, of an n by n matrix by their sums plus epsilon,
/// and keeps the divisors.
BATON_INLINE void divide_by_sums(Real *matrix, Real *divisors, int64_t n,
                                 bool rows, Real epsilon) {
  const int64_t line = rows ? n : 1, step = rows ? 1 : n;
  for (int64_t i = 0; i < n; ++i) {
    divisors[i] = sum_of(matrix + i * line, n, step) + epsilon;
    for (int64_t k = 0; k < n; ++k)
      matrix[i * line + k * step] /= divisors[i];
  }
}

/// softmax of every row of an n by n matrix, whose memory has whole vectors.
BATON_INLINE void softmax_rows(Real *matrix, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Real most = matrix[i * n];
    for (int64_t k = 1; k < n; ++k)
      most = matrix[i * n + k] > most ? matrix[i * n + k] : most;
    for (int64_t k = 0; k < n; ++k)
      matrix[i * n + k] -= most;
  }
  for (int64_t first = 0; first < n * n; first += lanes)
    store(matrix + first, exp(load(matrix + first)));
  Real sums[most_streams];
  divide_by_sums(matrix, sums, n, /*rows=*/true, 0.0f);
}

/// See baton_task_hyper_maps. `kept(matrix, divisors, rows)` sees every
/// division's result.
template <typename Kept>
BATON_INLINE void sinkhorn(Real *matrix, int64_t n, int64_t iterations,
                           Real epsilon, Kept kept) {
  Real divisors[most_streams];
  auto divide = [&](bool rows) BATON_INLINE_LAMBDA {
    divide_by_sums(matrix, divisors, n, rows, epsilon);
    kept(matrix, divisors, rows);
  };
  softmax_rows(matrix, n);
  for (int64_t i = 0; i < n * n; ++i)
    matrix[i] += epsilon;
  divide(/*rows=*/false);
  for (int64_t i = 1; i < iterations; ++i) {
    divide(/*rows=*/true);
    divide(/*rows=*/false);
  }
}

/// scale * logits + base, for n numbers of one part.
BATON_INLINE void affine(Real *out, const Real *logits, const Real *base,
                         Real scale, int64_t count) {
  for_each_vector(count, [&](int64_t first, int64_t n) BATON_INLINE_LAMBDA {
    store(out + first,
          fma(splat(scale), load(logits + first, n), load(base + first, n)), n);
  });
}

/// One row of baton_task_hyper_maps.
BATON_INLINE void maps_row(Real *out, const Real *logits, const Real *scale,
                           const Real *base, int64_t streams, int32_t mixing,
                           int64_t iterations, Real epsilon) {
  Real part[most_mixed];
  affine(part, logits, base, scale[0], streams);
  store(out, sigmoid(load(part, streams)) + epsilon, streams);
  if (mixing == BATON_MIXING_NONE)
    return;
  affine(part, logits + streams, base + streams, scale[1], streams);
  store(out + streams, 2.0f * sigmoid(load(part, streams)), streams);
  if (mixing == BATON_MIXING_IDENTITY)
    return;
  const int64_t mixed = streams * streams;
  for (int64_t first = 0; first < most_mixed; first += lanes)
    store(part + first, splat(0.0f));
  affine(part, logits + 2 * streams, base + 2 * streams, scale[2], mixed);
  if (mixing == BATON_MIXING_SINKHORN)
    sinkhorn(part, streams, iterations, epsilon,
             [](const Real *, const Real *, bool) BATON_INLINE_LAMBDA {});
  for_each_vector(mixed, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
    store(out + 2 * streams + first, load(part + first, count), count);
  });
}

//===- Reading and writing streams ----------------------------------------===//

/// One row of baton_task_hyper_pre.
BATON_INLINE void pre_row(Real *out, const Real *x, const Real *weights,
                          int64_t streams, int64_t width) {
  for_each_vector(width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
    Vector sum = weights[0] * load(x + first, count);
    for (int64_t j = 1; j < streams; ++j)
      sum = fma(splat(weights[j]), load(x + j * width + first, count), sum);
    store(out + first, sum, count);
  });
}

/// One row of baton_task_hyper_post.
BATON_INLINE void post_row(Real *out, const Real *x, const Real *y,
                           const Real *weights, int64_t streams, int64_t width,
                           bool mixes) {
  const Real *mixing = weights + streams;
  for_each_vector(width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
    const Vector made = load(y + first, count);
    // All streams are read before the first is written: `out` may be x.
    Vector before[most_streams];
    for (int64_t m = 0; m < streams; ++m)
      before[m] = load(x + m * width + first, count);
    for (int64_t j = 0; j < streams; ++j) {
      Vector sum =
          mixes ? weights[j] * made : fma(splat(weights[j]), made, before[j]);
      if (mixes)
        for (int64_t m = 0; m < streams; ++m)
          sum = fma(splat(mixing[m * streams + j]), before[m], sum);
      store(out + j * width + first, sum, count);
    }
  });
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_HYPER_H
