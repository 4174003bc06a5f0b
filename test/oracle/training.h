//===- training.h - plain FP64 adjoints to judge task bodies by -----------===//
//
// The formulas of backpropagation, in double precision, for the operators of
// operators.h and for those that only training has. Tests hold each adjoint
// against differences of its operator.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_ORACLE_TRAINING_H
#define BATON_TEST_ORACLE_TRAINING_H

#include "test/oracle/operators.h"

namespace baton::oracle {

/// The sum over all elements of a * b.
double inner_product(const Matrix &a, const Matrix &b);

Matrix transpose(const Matrix &x);

/// One value per column.
std::vector<double> sum_rows(const Matrix &x);

/// [vocabulary, width]; indices outside contribute nothing.
Matrix embedding_gradient(const Matrix &dy, const std::vector<int32_t> &indices,
                          int64_t vocabulary, double multiplier);

/// rope_table of rows at these positions.
Matrix rope_table_at(const std::vector<float> &inverse_frequencies,
                     const std::vector<int32_t> &positions, double scale);

Matrix rope_gradient(const Matrix &dy, const Matrix &table, int64_t heads,
                     int64_t head_dim);

struct NormGradient {
  Matrix dx;
  std::vector<double> dweight;
  std::vector<double> dbias;
};

/// Of rms_norm or, `centered`, of layer_norm.
NormGradient norm_gradient(const Matrix &dy, const Matrix &x,
                           const std::vector<double> &weight, double epsilon,
                           bool centered);

/// The derivative of activate.
double activation_slope(double x, Activation activation);

/// Of y = softmax(x), given y.
Matrix softmax_gradient(const Matrix &dy, const Matrix &y);

/// Row r of x for each row of a step that it sees, which are `positions[r]`
/// before it and itself, the last `window` of them if that is not 0; `hidden`
/// for others.
Matrix mask_sequences(const Matrix &x, const std::vector<int32_t> &positions,
                      int64_t window, double hidden);

/// x times the sigmoid of its gates: one of each head, or one of each element.
Matrix gate(const Matrix &x, const Matrix &gates, int64_t heads);

struct GateGradient {
  Matrix dx;
  Matrix dgates;
};
GateGradient gate_gradient(const Matrix &dy, const Matrix &x,
                           const Matrix &gates, int64_t heads);

/// Rows of several sequences, one behind the other, whose queries share one
/// key/value head.
struct SequenceAttention {
  /// Of each row in its own sequence.
  std::vector<int32_t> positions;
  int64_t group;
  int64_t head_dim;
  int64_t value_dim;
  double scale;
  double softcap; // 0: none
  int64_t window; // 0: none
  /// Of each query head one more score, of a value of zeros; or none.
  std::vector<double> sinks = {};

  Matrix forward(const Matrix &q, const Matrix &keys,
                 const Matrix &values) const;
  /// Per query head the maximum of its scores and the sum of e^(score -
  /// maximum).
  Matrix statistics(const Matrix &q, const Matrix &keys) const;

  struct Gradient {
    Matrix dq;
    Matrix dk;
    Matrix dv;
    /// Of each row: [rows, group].
    Matrix dsinks;
  };
  Gradient gradient(const Matrix &dout, const Matrix &q, const Matrix &keys,
                    const Matrix &values) const;
};

/// Weighted losses of rows whose logits are products of x and weight.
struct CrossEntropy {
  std::vector<int32_t> targets;
  std::vector<double> weights;
  double scale;
  double softcap; // 0: none

  /// [rows, 1].
  Matrix forward(const Matrix &x, const Matrix &weight) const;
  /// Maximum of the logits, sum of e^(logit - maximum).
  Matrix statistics(const Matrix &x, const Matrix &weight) const;

  struct Gradient {
    Matrix dx;
    Matrix dweight;
  };
  /// Of the sum of all losses.
  Gradient gradient(const Matrix &x, const Matrix &weight) const;
};

} // namespace baton::oracle

#endif // BATON_TEST_ORACLE_TRAINING_H
