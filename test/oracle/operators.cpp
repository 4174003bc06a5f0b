//===- operators.cpp - plain FP64 operators to judge task bodies by -------===//
//
// Loops as the formulas are written.
//
//===----------------------------------------------------------------------===//

#include "test/oracle/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace baton::oracle {

double activate(double x, Activation activation) {
  const double pi = std::acos(-1.0);
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::silu:
    return x / (1.0 + std::exp(-x));
  case Activation::gelu:
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  case Activation::gelu_tanh:
    return 0.5 * x *
           (1.0 + std::tanh(std::sqrt(2.0 / pi) * (x + 0.044715 * x * x * x)));
  case Activation::clamped_swiglu:
    throw std::logic_error("clamped_swiglu is one of gated products");
  case Activation::relu:
    return std::max(x, 0.0);
  }
  return x;
}

double float16_value(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double bfloat16_value(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = bits >> 7 & 255;
  const int fraction = bits & 127;
  if (exponent == 255)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(fraction, -133);
  return sign * std::ldexp(128 + fraction, exponent - 134);
}

Matrix embedding(const Matrix &table, const std::vector<int32_t> &tokens,
                 double multiplier) {
  Matrix out(static_cast<int64_t>(tokens.size()), table.columns);
  for (int64_t row = 0; row < out.rows; ++row)
    for (int64_t i = 0; i < out.columns; ++i)
      out.at(row, i) = table.at(tokens[row], i) * multiplier;
  return out;
}

Matrix rms_norm(const Matrix &x, const std::vector<double> &weight,
                double epsilon) {
  Matrix out(x.rows, x.columns);
  for (int64_t row = 0; row < x.rows; ++row) {
    double sum = 0.0;
    for (int64_t i = 0; i < x.columns; ++i)
      sum += x.at(row, i) * x.at(row, i);
    const double root =
        std::sqrt(sum / static_cast<double>(x.columns) + epsilon);
    for (int64_t i = 0; i < x.columns; ++i)
      out.at(row, i) = x.at(row, i) / root * weight[i];
  }
  return out;
}

Matrix layer_norm(const Matrix &x, const std::vector<double> &weight,
                  const std::vector<double> &bias, double epsilon) {
  Matrix out(x.rows, x.columns);
  const double width = static_cast<double>(x.columns);
  for (int64_t row = 0; row < x.rows; ++row) {
    double mean = 0.0;
    for (int64_t i = 0; i < x.columns; ++i)
      mean += x.at(row, i) / width;
    double variance = 0.0;
    for (int64_t i = 0; i < x.columns; ++i)
      variance += (x.at(row, i) - mean) * (x.at(row, i) - mean) / width;
    for (int64_t i = 0; i < x.columns; ++i)
      out.at(row, i) =
          (x.at(row, i) - mean) / std::sqrt(variance + epsilon) * weight[i] +
          (bias.empty() ? 0.0 : bias[i]);
  }
  return out;
}

Matrix linear(const Matrix &x, const Matrix &weight,
              const std::vector<double> &bias, Activation activation) {
  Matrix out(x.rows, weight.rows);
  for (int64_t row = 0; row < out.rows; ++row)
    for (int64_t column = 0; column < out.columns; ++column) {
      double sum = bias.empty() ? 0.0 : bias[column];
      for (int64_t k = 0; k < x.columns; ++k)
        sum += x.at(row, k) * weight.at(column, k);
      out.at(row, column) = activate(sum, activation);
    }
  return out;
}

double clamped_swiglu(double gate, double up) {
  const double g = std::min(gate, 7.0), u = std::clamp(up, -7.0, 7.0);
  return g / (1.0 + std::exp(-1.702 * g)) * (u + 1.0);
}

Matrix gated_linear(const Matrix &x, const Matrix &gate, const Matrix &up,
                    const std::vector<double> &bias_gate,
                    const std::vector<double> &bias_up, Activation activation) {
  const bool clamped = activation == Activation::clamped_swiglu;
  Matrix out =
      linear(x, gate, bias_gate, clamped ? Activation::none : activation);
  const Matrix factor = linear(x, up, bias_up, Activation::none);
  for (size_t i = 0; i < out.values.size(); ++i) {
    double &value = out.values[i];
    value = clamped ? clamped_swiglu(value, factor.values[i])
                    : value * factor.values[i];
  }
  return out;
}

Matrix matmul(const Matrix &a, const Matrix &b) {
  Matrix out(a.rows, b.columns);
  for (int64_t row = 0; row < out.rows; ++row)
    for (int64_t column = 0; column < out.columns; ++column)
      for (int64_t d = 0; d < b.rows; ++d)
        out.at(row, column) += a.at(row, d) * b.at(d, column);
  return out;
}

Matrix rope_table(const std::vector<float> &inverse_frequencies,
                  int64_t position, int64_t rows, double scale) {
  const int64_t half = static_cast<int64_t>(inverse_frequencies.size());
  Matrix out(rows, 2 * half);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<float>(
          static_cast<double>(position + row) * inverse_frequencies[i]);
      out.at(row, i) = std::cos(angle) * scale;
      out.at(row, half + i) = std::sin(angle) * scale;
    }
  return out;
}

Matrix rope(const Matrix &x, const Matrix &table, int64_t heads,
            int64_t head_dim) {
  const int64_t half = table.columns / 2;
  Matrix out = x;
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < half; ++i) {
        const int64_t low = head * head_dim + i;
        const double cosine = table.at(row, i);
        const double sine = table.at(row, half + i);
        out.at(row, low) =
            x.at(row, low) * cosine - x.at(row, low + half) * sine;
        out.at(row, low + half) =
            x.at(row, low + half) * cosine + x.at(row, low) * sine;
      }
  return out;
}

Matrix attention(const Matrix &q, const Matrix &keys, const Matrix &values,
                 const AttentionShape &shape) {
  Matrix out(q.rows, shape.group * shape.value_dim);
  for (int64_t row = 0; row < q.rows; ++row)
    for (int64_t head = 0; head < shape.group; ++head) {
      const int64_t last = shape.position + row;
      const int64_t first =
          shape.window > 0 ? std::max<int64_t>(0, last - shape.window + 1) : 0;
      std::vector<double> scores;
      for (int64_t key = first; key <= last; ++key) {
        double score = 0.0;
        for (int64_t d = 0; d < shape.head_dim; ++d)
          score += q.at(row, head * shape.head_dim + d) * keys.at(key, d);
        score *= shape.scale;
        if (shape.softcap != 0.0)
          score = shape.softcap * std::tanh(score / shape.softcap);
        scores.push_back(score);
      }
      double largest = *std::max_element(scores.begin(), scores.end());
      double sum = 0.0;
      if (!shape.sinks.empty()) {
        largest = std::max(largest, shape.sinks[head]);
        sum = std::exp(shape.sinks[head] - largest);
      }
      for (double &score : scores)
        sum += score = std::exp(score - largest);
      for (int64_t d = 0; d < shape.value_dim; ++d) {
        double value = 0.0;
        for (int64_t key = first; key <= last; ++key)
          value += scores[key - first] / sum * values.at(key, d);
        out.at(row, head * shape.value_dim + d) = value;
      }
    }
  return out;
}

Matrix mask_causal(const Matrix &x, int64_t position, int64_t window) {
  Matrix out = x;
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t column = 0; column < x.columns; ++column)
      if (column > position + row ||
          (window > 0 && column <= position + row - window))
        out.at(row, column) = -std::numeric_limits<double>::infinity();
  return out;
}

Matrix softmax(const Matrix &x) {
  return softmax(x, -std::numeric_limits<double>::infinity());
}

Matrix softmax(const Matrix &x, double sink) {
  Matrix out(x.rows, x.columns);
  for (int64_t row = 0; row < x.rows; ++row) {
    double largest = sink;
    for (int64_t i = 0; i < x.columns; ++i)
      largest = std::max(largest, x.at(row, i));
    if (std::isinf(largest) && largest < 0)
      continue;
    double sum = std::exp(sink - largest);
    for (int64_t i = 0; i < x.columns; ++i)
      sum += std::exp(x.at(row, i) - largest);
    for (int64_t i = 0; i < x.columns; ++i)
      out.at(row, i) = std::exp(x.at(row, i) - largest) / sum;
  }
  return out;
}

} // namespace baton::oracle
