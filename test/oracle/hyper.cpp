//===- hyper.cpp - plain FP64 hyper-connections ---------------------------===//

#include "test/oracle/hyper.h"

#include <cmath>

using namespace baton::oracle;

int64_t baton::oracle::hyper_maps_count(int64_t streams, Mixing mixing) {
  switch (mixing) {
  case Mixing::none:
    return streams;
  case Mixing::identity:
    return 2 * streams;
  case Mixing::free:
  case Mixing::sinkhorn:
    break;
  }
  return streams * streams + 2 * streams;
}

Matrix baton::oracle::hyper_project(const Matrix &x, const Matrix &phi,
                                    double epsilon) {
  Matrix result(x.rows, phi.rows);
  for (int64_t r = 0; r < x.rows; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < x.columns; ++c)
      squares += x.at(r, c) * x.at(r, c);
    const double root =
        std::sqrt(squares / static_cast<double>(x.columns) + epsilon);
    for (int64_t i = 0; i < phi.rows; ++i)
      for (int64_t c = 0; c < x.columns; ++c)
        result.at(r, i) += x.at(r, c) / root * phi.at(i, c);
  }
  return result;
}

Matrix baton::oracle::sinkhorn(const Matrix &logits, int64_t iterations,
                               double epsilon) {
  const int64_t n = logits.rows;
  Matrix matrix(n, n);
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k)
      sum += std::exp(logits.at(i, k));
    for (int64_t k = 0; k < n; ++k)
      matrix.at(i, k) = std::exp(logits.at(i, k)) / sum + epsilon;
  }
  for (int64_t round = 0; round < iterations; ++round) {
    // The first division of the rows was the softmax.
    for (int64_t i = 0; round > 0 && i < n; ++i) {
      double sum = epsilon;
      for (int64_t k = 0; k < n; ++k)
        sum += matrix.at(i, k);
      for (int64_t k = 0; k < n; ++k)
        matrix.at(i, k) /= sum;
    }
    for (int64_t k = 0; k < n; ++k) {
      double sum = epsilon;
      for (int64_t i = 0; i < n; ++i)
        sum += matrix.at(i, k);
      for (int64_t i = 0; i < n; ++i)
        matrix.at(i, k) /= sum;
    }
  }
  return matrix;
}

Matrix baton::oracle::hyper_maps(const Matrix &logits,
                                 const std::vector<double> &scale,
                                 const std::vector<double> &base,
                                 int64_t streams, Mixing mixing,
                                 int64_t iterations, double epsilon) {
  auto open = [](double z) { return 1 / (1 + std::exp(-z)); };
  Matrix result(logits.rows, logits.columns);
  for (int64_t r = 0; r < logits.rows; ++r) {
    Matrix mix(streams, streams);
    for (int64_t i = 0; i < logits.columns; ++i) {
      const int64_t part = i < streams ? 0 : i < 2 * streams ? 1 : 2;
      const double z = scale[part] * logits.at(r, i) + base[i];
      if (part == 2)
        mix.values[i - 2 * streams] = z;
      else
        result.at(r, i) = part == 0 ? open(z) + epsilon : 2 * open(z);
    }
    if (mixing == Mixing::sinkhorn)
      mix = sinkhorn(mix, iterations, epsilon);
    for (int64_t i = 2 * streams; i < logits.columns; ++i)
      result.at(r, i) = mix.values[i - 2 * streams];
  }
  return result;
}

Matrix baton::oracle::hyper_pre(const Matrix &x, const Matrix &weights,
                                int64_t streams) {
  const int64_t width = x.columns / streams;
  Matrix result(x.rows, width);
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t j = 0; j < streams; ++j)
      for (int64_t c = 0; c < width; ++c)
        result.at(r, c) += weights.at(r, j) * x.at(r, j * width + c);
  return result;
}

Matrix baton::oracle::hyper_post(const Matrix &x, const Matrix &y,
                                 const Matrix &weights, int64_t streams) {
  const int64_t width = x.columns / streams;
  Matrix result(x.rows, x.columns);
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t j = 0; j < streams; ++j)
      for (int64_t c = 0; c < width; ++c) {
        double sum = weights.at(r, j) * y.at(r, c);
        for (int64_t m = 0; m < streams; ++m) {
          const double share = weights.columns == streams
                                   ? static_cast<double>(m == j)
                                   : weights.at(r, streams + m * streams + j);
          sum += share * x.at(r, m * width + c);
        }
        result.at(r, j * width + c) = sum;
      }
  return result;
}
