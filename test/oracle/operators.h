//===- operators.h - plain FP64 operators to judge task bodies by ---------===//
//
// The textbook definition of every operator, in double precision and without
// regard to speed. Shares no code with any task library, so that both CPU and
// CUDA bodies can be held to it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_ORACLE_OPERATORS_H
#define BATON_TEST_ORACLE_OPERATORS_H

#include <cstdint>
#include <vector>

namespace baton::oracle {

/// A dense row-major matrix.
struct Matrix {
  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(rows * columns, 0.0) {}

  double &at(int64_t row, int64_t column) {
    return values[row * columns + column];
  }
  double at(int64_t row, int64_t column) const {
    return values[row * columns + column];
  }

  int64_t rows;
  int64_t columns;
  std::vector<double> values;
};

enum class Activation { none, silu, gelu, gelu_tanh, relu, clamped_swiglu };

double activate(double x, Activation activation);

/// The value of IEEE binary16 and of bfloat16 bits, by their definitions.
double float16_value(uint16_t bits);
double bfloat16_value(uint16_t bits);

/// [tokens, width] from table [vocabulary, width].
Matrix embedding(const Matrix &table, const std::vector<int32_t> &tokens,
                 double multiplier);

/// `weight` and `bias` have one value per column; `bias` may be empty.
Matrix rms_norm(const Matrix &x, const std::vector<double> &weight,
                double epsilon);
Matrix layer_norm(const Matrix &x, const std::vector<double> &weight,
                  const std::vector<double> &bias, double epsilon);

/// activation(x W^T + bias), W [outputs, inputs]; `bias` may be empty.
Matrix linear(const Matrix &x, const Matrix &weight,
              const std::vector<double> &bias, Activation activation);

/// gpt-oss's: of a gate of at most 7 and an up within -7 and 7.
double clamped_swiglu(double gate, double up);

/// activation(x G^T + bias_gate) * (x U^T + bias_up).
Matrix gated_linear(const Matrix &x, const Matrix &gate, const Matrix &up,
                    const std::vector<double> &bias_gate,
                    const std::vector<double> &bias_up, Activation activation);

/// a [rows, depth] times b [depth, columns].
Matrix matmul(const Matrix &a, const Matrix &b);

/// [rows, 2 * half]: cosines, then sines, of (position + row) * frequency. The
/// angle is rounded to F32, as the models define it.
Matrix rope_table(const std::vector<float> &inverse_frequencies,
                  int64_t position, int64_t rows, double scale);

/// Rotates the pairs (i, i + half) of every head; the rest is copied.
Matrix rope(const Matrix &x, const Matrix &table, int64_t heads,
            int64_t head_dim);

struct AttentionShape {
  int64_t position;
  int64_t group;
  int64_t head_dim;
  int64_t value_dim;
  double scale;
  double softcap; // 0: none
  int64_t window; // 0: none
  /// A score more of each head, or none.
  std::vector<double> sinks = {};
};

/// Two passes over all positions that a row sees; q [rows, group * head_dim],
/// keys [positions, head_dim], values [positions, value_dim].
Matrix attention(const Matrix &q, const Matrix &keys, const Matrix &values,
                 const AttentionShape &shape);

/// Column j of row r stays if position + r - window < j <= position + r.
Matrix mask_causal(const Matrix &x, int64_t position, int64_t window);

/// A row of -infinity gives zeros.
Matrix softmax(const Matrix &x);
/// The same with one more element in each row, which is left out of the result.
Matrix softmax(const Matrix &x, double sink);

} // namespace baton::oracle

#endif // BATON_TEST_ORACLE_OPERATORS_H
