//===- RanksCompute.cpp - what ops compute, of the parts that a rank has --===//

#include "Ranks.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding::test;

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double siluGradient(double x) {
  return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
}

template <typename Function>
static Tensor elementwise(const Tensor &a, const Tensor &b, Function function) {
  Tensor result(a.shape);
  for (size_t i = 0; i < a.data.size(); ++i)
    result.data[i] = function(a.data[i], b.data[i]);
  return result;
}

/// Rows of the last dimension.
static int64_t widthOf(const Tensor &x) { return x.shape.back(); }
static int64_t countRows(const Tensor &x) {
  int64_t rows = 1;
  for (int64_t size : ArrayRef(x.shape).drop_back())
    rows *= size;
  return rows;
}

/// sum over k of a[i, k] b[j, k], with either transposed.
static Tensor product(Tensor &a, bool transposeA, Tensor &b, bool transposeB) {
  int64_t m = a.shape[transposeA ? 1 : 0], depth = a.shape[transposeA ? 0 : 1];
  int64_t n = b.shape[transposeB ? 1 : 0];
  Tensor result({m, n});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < depth; ++k)
        result.at(i, j) += (transposeA ? a.at(k, i) : a.at(i, k)) *
                           (transposeB ? b.at(k, j) : b.at(j, k));
  return result;
}

static double deviation(const double *row, int64_t width, double epsilon) {
  double sum = 0;
  for (int64_t k = 0; k < width; ++k)
    sum += row[k] * row[k];
  return 1 / std::sqrt(sum / width + epsilon);
}

static Tensor rmsNorm(Tensor &x, Tensor &weight, double epsilon) {
  Tensor result(x.shape);
  int64_t width = widthOf(x);
  for (int64_t row = 0; row < countRows(x); ++row) {
    double scale = deviation(&x.data[row * width], width, epsilon);
    for (int64_t k = 0; k < width; ++k)
      result.data[row * width + k] =
          x.data[row * width + k] * scale * weight.data[k];
  }
  return result;
}

static Tensor statistics(Tensor &x, double epsilon) {
  Shape shape = x.shape;
  shape.back() = 2;
  Tensor result(shape);
  for (int64_t row = 0; row < countRows(x); ++row)
    result.data[2 * row + 1] =
        deviation(&x.data[row * widthOf(x)], widthOf(x), epsilon);
  return result;
}

static Tensor normInputGradient(Tensor &dy, Tensor &x, Tensor &weight,
                                Tensor &statistics) {
  Tensor result(x.shape);
  int64_t width = widthOf(x);
  for (int64_t row = 0; row < countRows(x); ++row) {
    double scale = statistics.data[2 * row + 1], dot = 0;
    for (int64_t k = 0; k < width; ++k)
      dot +=
          dy.data[row * width + k] * weight.data[k] * x.data[row * width + k];
    for (int64_t k = 0; k < width; ++k)
      result.data[row * width + k] =
          scale * (dy.data[row * width + k] * weight.data[k] -
                   x.data[row * width + k] * dot * scale * scale / width);
  }
  return result;
}

static Tensor normWeightGradient(Tensor &dy, Tensor &x, Tensor &statistics) {
  int64_t width = widthOf(x);
  Tensor result({width});
  for (int64_t row = 0; row < countRows(x); ++row)
    for (int64_t k = 0; k < width; ++k)
      result.data[k] += dy.data[row * width + k] * x.data[row * width + k] *
                        statistics.data[2 * row + 1];
  return result;
}

/// An rms norm but for its division, and the squares to divide by.
static std::vector<Tensor> normBegin(Tensor &x, Tensor &weight) {
  Tensor scaled(x.shape), squares({x.shape[0], 1});
  for (int64_t row = 0; row < x.shape[0]; ++row)
    for (int64_t k = 0; k < x.shape[1]; ++k) {
      scaled.at(row, k) = x.at(row, k) * weight.data[k];
      squares.data[row] += x.at(row, k) * x.at(row, k);
    }
  return {scaled, squares};
}

static Tensor normEnd(Tensor &x, Tensor &squares, int64_t width,
                      double epsilon) {
  Tensor result(x.shape);
  for (int64_t row = 0; row < x.shape[0]; ++row)
    for (int64_t n = 0; n < x.shape[1]; ++n)
      result.at(row, n) =
          x.at(row, n) / std::sqrt(squares.data[row] / width + epsilon);
  return result;
}

static Tensor normEndGradient(Tensor &dy, Tensor &x, Tensor &squares,
                              int64_t width, double epsilon) {
  Tensor result(squares.shape);
  for (int64_t row = 0; row < x.shape[0]; ++row) {
    double sum = 0;
    for (int64_t n = 0; n < x.shape[1]; ++n)
      sum += dy.at(row, n) * x.at(row, n);
    result.data[row] = -sum / (2 * width) *
                       std::pow(squares.data[row] / width + epsilon, -1.5);
  }
  return result;
}

/// Pairs (i, i + n); backwards with the sign -1.
static Tensor rotate(Tensor &x, Tensor &table, double sign) {
  Tensor result = x;
  int64_t n = table.shape[1] / 2;
  for (int64_t row = 0; row < x.shape[0]; ++row)
    for (int64_t head = 0; head < x.shape[1]; ++head)
      for (int64_t i = 0; i < n; ++i) {
        double c = table.at(row, i), s = sign * table.at(row, n + i);
        double a = x.at(row, head, i), b = x.at(row, head, n + i);
        result.at(row, head, i) = a * c - b * s;
        result.at(row, head, n + i) = b * c + a * s;
      }
  return result;
}

std::vector<Tensor> Ranks::compute(Operation &op, unsigned rank) {
  auto x = [&](unsigned i) -> Tensor & { return operand(op, i, rank); };
  using Results = std::vector<Tensor>;
  return llvm::TypeSwitch<Operation *, Results>(&op)
      .Case([&](EmbeddingOp) {
        int64_t first = boxOf(op.getOperand(1), rank).offsets[0];
        Tensor result({x(0).shape[0], x(1).shape[1]});
        for (int64_t row = 0; row < result.shape[0]; ++row) {
          int64_t index = int64_t(x(0).data[row]) - first;
          if (index >= 0 && index < x(1).shape[0])
            for (int64_t k = 0; k < result.shape[1]; ++k)
              result.at(row, k) = x(1).at(index, k);
        }
        return Results{result};
      })
      .Case([&](EmbeddingGradientOp) {
        Box box = boxOf(op.getResult(0), rank);
        Tensor result(box.sizes);
        for (int64_t row = 0; row < x(0).shape[0]; ++row) {
          int64_t index = int64_t(x(1).data[row]) - box.offsets[0];
          if (index >= 0 && index < box.sizes[0])
            for (int64_t k = 0; k < x(0).shape[1]; ++k)
              result.at(index, k) += x(0).at(row, k);
        }
        return Results{result};
      })
      .Case([&](LinearOp linear) {
        Tensor result = product(x(0), false, x(1), false);
        if (linear.getBias())
          for (int64_t row = 0; row < result.shape[0]; ++row)
            for (int64_t n = 0; n < result.shape[1]; ++n)
              result.at(row, n) += x(2).data[n];
        return Results{result};
      })
      .Case([&](LinearInputGradientOp) {
        return Results{product(x(0), false, x(1), true)};
      })
      .Case([&](LinearWeightGradientOp) {
        return Results{product(x(0), true, x(1), true)};
      })
      .Case([&](BiasGradientOp) {
        Tensor result({x(0).shape[1]});
        for (int64_t row = 0; row < x(0).shape[0]; ++row)
          for (int64_t n = 0; n < x(0).shape[1]; ++n)
            result.data[n] += x(0).at(row, n);
        return Results{result};
      })
      .Case([&](RmsNormOp norm) {
        return Results{rmsNorm(x(0), x(1), norm.getEpsilon().convertToFloat())};
      })
      .Case([&](NormStatisticsOp norm) {
        return Results{statistics(x(0), norm.getEpsilon().convertToFloat())};
      })
      .Case([&](NormInputGradientOp) {
        return Results{normInputGradient(x(0), x(1), x(2), x(3))};
      })
      .Case([&](NormWeightGradientOp) {
        return Results{normWeightGradient(x(0), x(1), x(2))};
      })
      .Case([&](NormBeginOp) { return normBegin(x(0), x(1)); })
      .Case([&](NormEndOp end) {
        return Results{normEnd(x(0), x(1), end.getWidth(),
                               end.getEpsilon().convertToFloat())};
      })
      .Case([&](NormBeginGradientOp begin) {
        Tensor result(x(0).shape);
        for (int64_t row = 0; row < result.shape[0]; ++row)
          for (int64_t k = 0; k < result.shape[1]; ++k)
            result.at(row, k) = x(2).at(row, k) * x(1).data[k] +
                                2 * x(3).data[row] * x(0).at(row, k);
        return Results{result};
      })
      .Case([&](NormEndGradientOp end) {
        return Results{normEndGradient(x(0), x(1), x(2), end.getWidth(),
                                       end.getEpsilon().convertToFloat())};
      })
      .Case([&](RopeTableOp table) {
        int64_t n = table.getFrequencies().size();
        Tensor result({x(0).shape[0], 2 * n});
        for (int64_t row = 0; row < result.shape[0]; ++row)
          for (int64_t i = 0; i < n; ++i) {
            double angle = x(0).data[row] * table.getFrequencies()[i];
            result.at(row, i) = std::cos(angle);
            result.at(row, n + i) = std::sin(angle);
          }
        return Results{result};
      })
      .Case([&](RopeOp) { return Results{rotate(x(0), x(1), 1)}; })
      .Case([&](RopeGradientOp) { return Results{rotate(x(0), x(1), -1)}; })
      .Case([&](ReshapeOp) {
        Tensor result(boxOf(op.getResult(0), rank).sizes);
        if (result.data.size() == x(0).data.size())
          result.data = x(0).data;
        else
          result.shape = {};
        return Results{result};
      })
      .Case([&](model::SliceOp slice) {
        // The axis is whole, and the last one.
        int64_t offset = slice.getOffsetAttr().getInt();
        Tensor result(boxOf(op.getResult(0), rank).sizes);
        for (int64_t row = 0; row < countRows(result); ++row)
          for (int64_t k = 0; k < widthOf(result); ++k)
            result.data[row * widthOf(result) + k] =
                x(0).data[row * widthOf(x(0)) + offset + k];
        return Results{result};
      })
      .Case([&](JoinOp) {
        Tensor result(boxOf(op.getResult(0), rank).sizes);
        for (int64_t row = 0; row < countRows(result); ++row) {
          int64_t at = 0;
          for (unsigned i = 0; i < op.getNumOperands(); ++i)
            for (int64_t k = 0; k < widthOf(x(i)); ++k)
              result.data[row * widthOf(result) + at++] =
                  x(i).data[row * widthOf(x(i)) + k];
        }
        return Results{result};
      })
      .Case([&](GateOp) {
        return Results{elementwise(
            x(0), x(1), [](double a, double g) { return a * sigmoid(g); })};
      })
      .Case([&](GateGradientOp) {
        Tensor change = elementwise(x(0), x(1), std::multiplies<double>());
        return Results{elementwise(change, x(2), [](double d, double g) {
          return d * sigmoid(g) * (1 - sigmoid(g));
        })};
      })
      .Case([&](AddOp) {
        return Results{elementwise(x(0), x(1), std::plus<double>())};
      })
      .Case([&](MulOp) {
        return Results{elementwise(x(0), x(1), std::multiplies<double>())};
      })
      .Case([&](ActivateOp) {
        return Results{
            elementwise(x(0), x(0), [](double a, double) { return silu(a); })};
      })
      .Case([&](ActivateGradientOp) {
        return Results{elementwise(x(0), x(1), [](double d, double a) {
          return d * siluGradient(a);
        })};
      })
      .Case<SequenceAttentionOp, AttentionDeltaOp, AttentionQueryGradientOp,
            AttentionKeyValueGradientOp>(
          [&](auto) { return computeAttention(op, rank); })
      .Case<CrossEntropyOp, LogitMaximumOp, LogitSumsOp, LossesOp,
            LossGradientsOp>([&](auto) { return computeLoss(op, rank); })
      .Default([](Operation *op) -> Results {
        llvm::report_fatal_error(llvm::Twine("cannot interpret ") +
                                 op->getName().getStringRef());
      });
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

std::vector<Tensor> Ranks::computeAttention(Operation &op, unsigned rank) {
  auto x = [&](unsigned i) -> Tensor & { return operand(op, i, rank); };
  if (isa<AttentionDeltaOp>(op)) {
    Tensor result({x(0).shape[0], x(0).shape[1]});
    for (int64_t row = 0; row < result.shape[0]; ++row)
      for (int64_t head = 0; head < result.shape[1]; ++head)
        for (int64_t e = 0; e < x(0).shape[2]; ++e)
          result.at(row, head) += x(0).at(row, head, e) * x(1).at(row, head, e);
    return {result};
  }
  bool forward = isa<SequenceAttentionOp>(op);
  // q, k, v stand behind dy in adjoints.
  unsigned first = forward ? 0 : 1;
  Value queries = op.getOperand(first), keys = op.getOperand(first + 1);
  Tensor &q = x(first), &k = x(first + 1), &v = x(first + 2);
  Tensor &positions = forward ? x(3) : x(6);
  double scale =
      op.getAttrOfType<FloatAttr>("scale").getValue().convertToFloat();
  int64_t group = wholeShape(queries)[1] / wholeShape(keys)[1];
  int64_t headOffset = boxOf(queries, rank).offsets[1];
  int64_t keyOffset = boxOf(keys, rank).offsets[1];
  int64_t rows = q.shape[0], heads = q.shape[1], width = v.shape[2];
  Tensor result({rows, heads, width}), statistics({rows, heads, 2});
  Tensor dq(q.shape), dk(k.shape), dv(v.shape);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      int64_t g = (head + headOffset) / group - keyOffset;
      int64_t begin = std::max<int64_t>(row - int64_t(positions.data[row]), 0);
      std::vector<double> scores;
      for (int64_t other = begin; other <= row; ++other) {
        double score = 0;
        for (int64_t d = 0; d < q.shape[2]; ++d)
          score += q.at(row, head, d) * k.at(other, g, d);
        scores.push_back(score * scale);
      }
      if (forward) {
        double maximum = *llvm::max_element(scores), sum = 0;
        for (double score : scores)
          sum += std::exp(score - maximum);
        statistics.at(row, head, 0) = maximum;
        statistics.at(row, head, 1) = sum;
        for (int64_t other = begin; other <= row; ++other)
          for (int64_t e = 0; e < width; ++e)
            result.at(row, head, e) +=
                std::exp(scores[other - begin] - maximum) / sum *
                v.at(other, g, e);
        continue;
      }
      Tensor &dy = x(0), &delta = x(4), &made = x(5);
      for (int64_t other = begin; other <= row; ++other) {
        double weight =
            std::exp(scores[other - begin] - made.at(row, head, 0)) /
            made.at(row, head, 1);
        double dot = 0;
        for (int64_t e = 0; e < width; ++e) {
          dot += dy.at(row, head, e) * v.at(other, g, e);
          dv.at(other, g, e) += weight * dy.at(row, head, e);
        }
        double ds = weight * (dot - delta.at(row, head)) * scale;
        for (int64_t d = 0; d < q.shape[2]; ++d) {
          dq.at(row, head, d) += ds * k.at(other, g, d);
          dk.at(other, g, d) += ds * q.at(row, head, d);
        }
      }
    }
  if (forward)
    return {result, statistics};
  if (isa<AttentionQueryGradientOp>(op))
    return {dq};
  return {dk, dv};
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

std::vector<Tensor> Ranks::computeLoss(Operation &op, unsigned rank) {
  auto x = [&](unsigned i) -> Tensor & { return operand(op, i, rank); };
  if (isa<LossesOp>(op)) {
    Tensor loss(x(0).shape);
    for (int64_t row = 0; row < loss.shape[0]; ++row)
      loss.data[row] = x(2).data[row] * (std::log(x(1).at(row, 0)) +
                                         x(0).data[row] - x(1).at(row, 1));
    return {loss};
  }
  Tensor logits = product(x(0), false, x(1), false);
  int64_t rows = logits.shape[0], vocabulary = logits.shape[1];
  const bool hasBias =
      llvm::TypeSwitch<Operation *, bool>(&op)
          .Case<CrossEntropyOp, LogitMaximumOp, LogitSumsOp, LossGradientsOp>(
              [](auto op) { return bool(op.getBias()); });
  if (hasBias) {
    Tensor &bias = x(op.getNumOperands() - 1);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t n = 0; n < vocabulary; ++n)
        logits.at(row, n) += bias.data[n];
  }
  int64_t first = boxOf(op.getOperand(1), rank).offsets[0];
  // The target among the logits that this rank has.
  auto target = [&](int64_t row) { return int64_t(x(2).data[row]) - first; };
  auto hasTarget = [&](int64_t row) {
    return target(row) >= 0 && target(row) < vocabulary;
  };
  Tensor maximum({rows}), sums({rows, 2});
  for (int64_t row = 0; row < rows; ++row) {
    maximum.data[row] = -std::numeric_limits<double>::infinity();
    for (int64_t n = 0; n < vocabulary; ++n)
      maximum.data[row] = std::max(maximum.data[row], logits.at(row, n));
  }
  if (isa<LogitMaximumOp>(op))
    return {maximum};
  if (isa<LogitSumsOp>(op))
    maximum = x(3);
  if (isa<LossGradientsOp>(op)) {
    maximum = x(4);
    sums = x(5);
  } else {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < vocabulary; ++n)
        sums.at(row, 0) += std::exp(logits.at(row, n) - maximum.data[row]);
      if (hasTarget(row))
        sums.at(row, 1) = logits.at(row, target(row));
    }
  }
  if (isa<LogitSumsOp>(op))
    return {sums};
  Tensor &weights = x(3), loss({rows});
  for (int64_t row = 0; row < rows; ++row) {
    loss.data[row] = weights.data[row] * (std::log(sums.at(row, 0)) +
                                          maximum.data[row] - sums.at(row, 1));
    for (int64_t n = 0; n < vocabulary; ++n)
      logits.at(row, n) = weights.data[row] *
                          std::exp(logits.at(row, n) - maximum.data[row]) /
                          sums.at(row, 0);
    if (hasTarget(row))
      logits.at(row, target(row)) -= weights.data[row];
  }
  Tensor dx = product(logits, false, x(1), true);
  Tensor dweight = product(logits, true, x(0), true);
  std::vector<Tensor> results = {dx, dweight};
  if (hasBias) {
    Tensor dbias({vocabulary});
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t n = 0; n < vocabulary; ++n)
        dbias.data[n] += logits.at(row, n);
    results.push_back(dbias);
  }
  if (isa<CrossEntropyOp>(op))
    results.insert(results.begin(), loss);
  return results;
}
