//===- Gradients.h - what tests of adjoints share -------------------------===//
//
// Buffers from matrices, vectors as matrices of one row, and the test of an
// oracle's adjoint: differences of the operator that it belongs to.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_GRADIENTS_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_GRADIENTS_H

#include "codegen/cpu/library/training.h"
#include "test/codegen/cpu/library/Support.h"
#include "test/oracle/training.h"

#include <algorithm>
#include <limits>

namespace baton::test {

inline const float not_a_number = std::numeric_limits<float>::quiet_NaN();

inline oracle::Matrix row_of(const std::vector<double> &values) {
  oracle::Matrix result(1, static_cast<int64_t>(values.size()));
  result.values = values;
  return result;
}

/// Space of so many bytes that begins as NaN, and a guard behind it.
class Scratch {
public:
  explicit Scratch(int64_t bytes) : values(bytes / 4 + 1, not_a_number) {
    values.back() = Buffer::guard;
  }
  ~Scratch() { EXPECT_EQ(values.back(), Buffer::guard) << "scratch overrun"; }
  float *data() { return values.data(); }

private:
  std::vector<float> values;
};

inline void fill(Buffer &buffer, float value) {
  for (int64_t r = 0; r < buffer.rows; ++r)
    std::fill_n(buffer.row(r), buffer.width, value);
}

/// The gradient of inner_product(dy, operate(x)) by x, by central differences.
template <typename Operate>
oracle::Matrix differences(oracle::Matrix x, const oracle::Matrix &dy,
                           Operate operate) {
  oracle::Matrix result(x.rows, x.columns);
  const double step = 1e-5;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double middle = x.values[i];
    x.values[i] = middle + step;
    const double above = oracle::inner_product(dy, operate(x));
    x.values[i] = middle - step;
    const double below = oracle::inner_product(dy, operate(x));
    x.values[i] = middle;
    result.values[i] = (above - below) / (2.0 * step);
  }
  return result;
}

/// `gradient` is that of inner_product(dy, operate(x)) by x, up to the error
/// of a central difference.
template <typename Operate>
void expect_adjoint(const oracle::Matrix &x, const oracle::Matrix &dy,
                    const oracle::Matrix &gradient, Operate operate) {
  ASSERT_EQ(x.rows, gradient.rows);
  ASSERT_EQ(x.columns, gradient.columns);
  const oracle::Matrix expected = differences(x, dy, operate);
  for (size_t i = 0; i < x.values.size(); ++i)
    ASSERT_NEAR(gradient.values[i], expected.values[i],
                1e-6 * (1.0 + std::fabs(gradient.values[i])))
        << "element " << i;
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_GRADIENTS_H
