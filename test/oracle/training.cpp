//===- training.cpp - plain FP64 adjoints to judge task bodies by ---------===//
//
// Loops as the formulas are written.
//
//===----------------------------------------------------------------------===//

#include "test/oracle/training.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace baton::oracle {

double inner_product(const Matrix &a, const Matrix &b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.values.size(); ++i)
    sum += a.values[i] * b.values[i];
  return sum;
}

Matrix transpose(const Matrix &x) {
  Matrix out(x.columns, x.rows);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t column = 0; column < x.columns; ++column)
      out.at(column, row) = x.at(row, column);
  return out;
}

std::vector<double> sum_rows(const Matrix &x) {
  std::vector<double> out(x.columns, 0.0);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t column = 0; column < x.columns; ++column)
      out[column] += x.at(row, column);
  return out;
}

Matrix embedding_gradient(const Matrix &dy, const std::vector<int32_t> &indices,
                          int64_t vocabulary, double multiplier) {
  Matrix out(vocabulary, dy.columns);
  for (int64_t row = 0; row < dy.rows; ++row)
    if (indices[row] >= 0 && indices[row] < vocabulary)
      for (int64_t i = 0; i < dy.columns; ++i)
        out.at(indices[row], i) += multiplier * dy.at(row, i);
  return out;
}

Matrix rope_table_at(const std::vector<float> &inverse_frequencies,
                     const std::vector<int32_t> &positions, double scale) {
  Matrix out(static_cast<int64_t>(positions.size()),
             2 * static_cast<int64_t>(inverse_frequencies.size()));
  for (int64_t row = 0; row < out.rows; ++row) {
    const Matrix one =
        rope_table(inverse_frequencies, positions[row], 1, scale);
    for (int64_t i = 0; i < out.columns; ++i)
      out.at(row, i) = one.at(0, i);
  }
  return out;
}

Matrix rope_gradient(const Matrix &dy, const Matrix &table, int64_t heads,
                     int64_t head_dim) {
  const int64_t half = table.columns / 2;
  Matrix out = dy;
  for (int64_t row = 0; row < dy.rows; ++row)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < half; ++i) {
        const int64_t low = head * head_dim + i;
        const double cosine = table.at(row, i);
        const double sine = table.at(row, half + i);
        out.at(row, low) =
            dy.at(row, low) * cosine + dy.at(row, low + half) * sine;
        out.at(row, low + half) =
            dy.at(row, low + half) * cosine - dy.at(row, low) * sine;
      }
  return out;
}

NormGradient norm_gradient(const Matrix &dy, const Matrix &x,
                           const std::vector<double> &weight, double epsilon,
                           bool centered) {
  const double width = static_cast<double>(x.columns);
  NormGradient out = {Matrix(x.rows, x.columns),
                      std::vector<double>(x.columns, 0.0), sum_rows(dy)};
  for (int64_t row = 0; row < x.rows; ++row) {
    double mean = 0.0;
    if (centered)
      for (int64_t i = 0; i < x.columns; ++i)
        mean += x.at(row, i) / width;
    double variance = 0.0;
    for (int64_t i = 0; i < x.columns; ++i)
      variance += (x.at(row, i) - mean) * (x.at(row, i) - mean) / width;
    const double root = std::sqrt(variance + epsilon);
    double along = 0.0;
    double common = 0.0;
    for (int64_t i = 0; i < x.columns; ++i) {
      const double normal = (x.at(row, i) - mean) / root;
      out.dweight[i] += dy.at(row, i) * normal;
      along += dy.at(row, i) * weight[i] * normal / width;
      if (centered)
        common += dy.at(row, i) * weight[i] / width;
    }
    for (int64_t i = 0; i < x.columns; ++i)
      out.dx.at(row, i) = (dy.at(row, i) * weight[i] - common -
                           (x.at(row, i) - mean) / root * along) /
                          root;
  }
  return out;
}

double activation_slope(double x, Activation activation) {
  const double pi = std::acos(-1.0);
  switch (activation) {
  case Activation::none:
    return 1.0;
  case Activation::silu: {
    const double open = 1.0 / (1.0 + std::exp(-x));
    return open + x * open * (1.0 - open);
  }
  case Activation::gelu:
    return 0.5 * std::erfc(-x / std::sqrt(2.0)) +
           x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * pi);
  case Activation::gelu_tanh: {
    const double root = std::sqrt(2.0 / pi);
    const double t = std::tanh(root * (x + 0.044715 * x * x * x));
    return 0.5 * (1.0 + t) +
           0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x);
  }
  case Activation::clamped_swiglu:
    throw std::logic_error("clamped_swiglu is one of gated products");
  case Activation::relu:
    return x > 0.0 ? 1.0 : 0.0;
  }
  return 1.0;
}

Matrix softmax_gradient(const Matrix &dy, const Matrix &y) {
  Matrix out(y.rows, y.columns);
  for (int64_t row = 0; row < y.rows; ++row) {
    double sum = 0.0;
    for (int64_t i = 0; i < y.columns; ++i)
      sum += dy.at(row, i) * y.at(row, i);
    for (int64_t i = 0; i < y.columns; ++i)
      out.at(row, i) = y.at(row, i) * (dy.at(row, i) - sum);
  }
  return out;
}

Matrix mask_sequences(const Matrix &x, const std::vector<int32_t> &positions,
                      int64_t window, double hidden) {
  Matrix out = x;
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t column = 0; column < x.columns; ++column) {
      const int64_t back = row - column;
      if (back < 0 || back > positions[row] || (window > 0 && back >= window))
        out.at(row, column) = hidden;
    }
  return out;
}

Matrix gate(const Matrix &x, const Matrix &gates, int64_t heads) {
  Matrix out = x;
  const int64_t width = x.columns / heads;
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t i = 0; i < x.columns; ++i) {
      const double logit =
          gates.at(row, gates.columns == heads ? i / width : i);
      out.at(row, i) /= 1.0 + std::exp(-logit);
    }
  return out;
}

GateGradient gate_gradient(const Matrix &dy, const Matrix &x,
                           const Matrix &gates, int64_t heads) {
  GateGradient out = {gate(dy, gates, heads), Matrix(x.rows, gates.columns)};
  const int64_t width = x.columns / heads;
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t i = 0; i < x.columns; ++i) {
      const int64_t place = gates.columns == heads ? i / width : i;
      const double open = 1.0 / (1.0 + std::exp(-gates.at(row, place)));
      out.dgates.at(row, place) +=
          dy.at(row, i) * x.at(row, i) * open * (1.0 - open);
    }
  return out;
}

namespace {

/// The first row that `row` sees; it sees all up to itself.
int64_t first_seen(const SequenceAttention &shape, int64_t row) {
  const int64_t position = shape.positions[row];
  const int64_t seen = shape.window > 0
                           ? std::min<int64_t>(position, shape.window - 1)
                           : position;
  return row - seen;
}

/// Of one query head and one row: scores of the rows that are seen, and their
/// derivatives by the inner product of query and key.
struct Scores {
  std::vector<double> values;
  std::vector<double> slopes;
  double maximum;
  double sum;
};

Scores scores_of(const SequenceAttention &shape, const Matrix &q,
                 const Matrix &keys, int64_t row, int64_t head) {
  Scores out;
  for (int64_t key = first_seen(shape, row); key <= row; ++key) {
    double score = 0.0;
    for (int64_t d = 0; d < shape.head_dim; ++d)
      score += q.at(row, head * shape.head_dim + d) * keys.at(key, d);
    score *= shape.scale;
    double slope = shape.scale;
    if (shape.softcap != 0.0) {
      const double bent = std::tanh(score / shape.softcap);
      score = shape.softcap * bent;
      slope *= 1.0 - bent * bent;
    }
    out.values.push_back(score);
    out.slopes.push_back(slope);
  }
  out.maximum = *std::max_element(out.values.begin(), out.values.end());
  out.sum = 0.0;
  if (!shape.sinks.empty()) {
    out.maximum = std::max(out.maximum, shape.sinks[head]);
    out.sum = std::exp(shape.sinks[head] - out.maximum);
  }
  for (double score : out.values)
    out.sum += std::exp(score - out.maximum);
  return out;
}

} // namespace

Matrix SequenceAttention::forward(const Matrix &q, const Matrix &keys,
                                  const Matrix &values) const {
  Matrix out(q.rows, group * value_dim);
  for (int64_t row = 0; row < q.rows; ++row)
    for (int64_t head = 0; head < group; ++head) {
      const Scores scores = scores_of(*this, q, keys, row, head);
      const int64_t first = first_seen(*this, row);
      for (int64_t key = first; key <= row; ++key)
        for (int64_t e = 0; e < value_dim; ++e)
          out.at(row, head * value_dim + e) +=
              std::exp(scores.values[key - first] - scores.maximum) /
              scores.sum * values.at(key, e);
    }
  return out;
}

Matrix SequenceAttention::statistics(const Matrix &q,
                                     const Matrix &keys) const {
  Matrix out(q.rows, 2 * group);
  for (int64_t row = 0; row < q.rows; ++row)
    for (int64_t head = 0; head < group; ++head) {
      const Scores scores = scores_of(*this, q, keys, row, head);
      out.at(row, 2 * head) = scores.maximum;
      out.at(row, 2 * head + 1) = scores.sum;
    }
  return out;
}

SequenceAttention::Gradient
SequenceAttention::gradient(const Matrix &dout, const Matrix &q,
                            const Matrix &keys, const Matrix &values) const {
  Gradient out = {Matrix(q.rows, q.columns), Matrix(keys.rows, keys.columns),
                  Matrix(values.rows, values.columns), Matrix(q.rows, group)};
  for (int64_t row = 0; row < q.rows; ++row)
    for (int64_t head = 0; head < group; ++head) {
      const Scores scores = scores_of(*this, q, keys, row, head);
      const int64_t first = first_seen(*this, row);
      std::vector<double> weights, dweights;
      double mean = 0.0;
      for (int64_t key = first; key <= row; ++key) {
        double dweight = 0.0;
        for (int64_t e = 0; e < value_dim; ++e)
          dweight += dout.at(row, head * value_dim + e) * values.at(key, e);
        weights.push_back(
            std::exp(scores.values[key - first] - scores.maximum) / scores.sum);
        dweights.push_back(dweight);
        mean += weights.back() * dweight;
      }
      if (!sinks.empty())
        out.dsinks.at(row, head) =
            -std::exp(sinks[head] - scores.maximum) / scores.sum * mean;
      for (int64_t key = first; key <= row; ++key) {
        const int64_t i = key - first;
        for (int64_t e = 0; e < value_dim; ++e)
          out.dv.at(key, e) += weights[i] * dout.at(row, head * value_dim + e);
        const double dproduct =
            weights[i] * (dweights[i] - mean) * scores.slopes[i];
        for (int64_t d = 0; d < head_dim; ++d) {
          const int64_t place = head * head_dim + d;
          out.dq.at(row, place) += dproduct * keys.at(key, d);
          out.dk.at(key, d) += dproduct * q.at(row, place);
        }
      }
    }
  return out;
}

namespace {

/// A row's logits, their derivatives by the inner product, and what makes
/// probabilities of them.
Scores logits_of(const CrossEntropy &loss, const Matrix &x,
                 const Matrix &weight, int64_t row) {
  Scores out;
  for (int64_t token = 0; token < weight.rows; ++token) {
    double logit = 0.0;
    for (int64_t d = 0; d < x.columns; ++d)
      logit += x.at(row, d) * weight.at(token, d);
    logit *= loss.scale;
    double slope = loss.scale;
    if (loss.softcap != 0.0) {
      const double bent = std::tanh(logit / loss.softcap);
      logit = loss.softcap * bent;
      slope *= 1.0 - bent * bent;
    }
    out.values.push_back(logit);
    out.slopes.push_back(slope);
  }
  out.maximum = *std::max_element(out.values.begin(), out.values.end());
  out.sum = 0.0;
  for (double logit : out.values)
    out.sum += std::exp(logit - out.maximum);
  return out;
}

} // namespace

Matrix CrossEntropy::forward(const Matrix &x, const Matrix &weight) const {
  Matrix out(x.rows, 1);
  for (int64_t row = 0; row < x.rows; ++row) {
    if (weights[row] == 0.0)
      continue;
    const Scores logits = logits_of(*this, x, weight, row);
    out.at(row, 0) = weights[row] * (logits.maximum + std::log(logits.sum) -
                                     logits.values[targets[row]]);
  }
  return out;
}

Matrix CrossEntropy::statistics(const Matrix &x, const Matrix &weight) const {
  Matrix out(x.rows, 2);
  for (int64_t row = 0; row < x.rows; ++row) {
    const Scores logits = logits_of(*this, x, weight, row);
    out.at(row, 0) = logits.maximum;
    out.at(row, 1) = logits.sum;
  }
  return out;
}

CrossEntropy::Gradient CrossEntropy::gradient(const Matrix &x,
                                              const Matrix &weight) const {
  Gradient out = {Matrix(x.rows, x.columns),
                  Matrix(weight.rows, weight.columns)};
  for (int64_t row = 0; row < x.rows; ++row) {
    if (weights[row] == 0.0)
      continue;
    const Scores logits = logits_of(*this, x, weight, row);
    for (int64_t token = 0; token < weight.rows; ++token) {
      const double share =
          std::exp(logits.values[token] - logits.maximum) / logits.sum;
      const double dproduct = weights[row] *
                              (share - (token == targets[row] ? 1.0 : 0.0)) *
                              logits.slopes[token];
      for (int64_t d = 0; d < x.columns; ++d) {
        out.dx.at(row, d) += dproduct * weight.at(token, d);
        out.dweight.at(token, d) += dproduct * x.at(row, d);
      }
    }
  }
  return out;
}

} // namespace baton::oracle
