//===- MagnitudeTest.cpp - rows of adapted weights with trained lengths ---===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

/// A weight and the pair beside it.
template <typename Type> struct Adapted {
  Adapted(Random &random, int64_t outputs, int64_t inputs, int64_t rank)
      : outputs(outputs), inputs(inputs), rank(rank),
        weight(random, outputs, inputs), panels(weight.packed()),
        down(random.buffer(rank, inputs)), up(random.buffer(outputs, rank)) {}

  /// Of the columns [first, first + count), of which the first begins a panel.
  std::vector<float> squares(int64_t first, int64_t count) const {
    std::vector<float> out(count + 1, Buffer::guard);
    Scratch scratch(baton_adapted_squares_scratch_bytes(count, rank));
    Type::adapted_squares(out.data(), panels.data() + first * inputs,
                          down.data(), down.stride, up.row(first), up.stride,
                          factor, count, rank, inputs, scratch.data());
    EXPECT_EQ(out.back(), Buffer::guard) << "written past the columns";
    out.pop_back();
    return out;
  }

  static constexpr float factor = 0.75f;
  int64_t outputs, inputs, rank;
  Weight<Type> weight;
  std::vector<typename Type::Storage> panels;
  Buffer down, up;
};

template <typename Type> class AdaptedSquares : public ::testing::Test {};
TYPED_TEST_SUITE(AdaptedSquares, WeightTypes);

TYPED_TEST(AdaptedSquares, AreThoseOfTheSum) {
  Random random(1);
  for (int64_t outputs : {1, 16, 37})
    for (int64_t inputs : {1, 7, 64, 203})
      for (int64_t rank : {1, 5, 16}) {
        const Adapted<TypeParam> problem(random, outputs, inputs, rank);
        const oracle::Matrix weight = problem.weight.matrix();
        const std::vector<float> found = problem.squares(0, outputs);
        for (int64_t n = 0; n < outputs; ++n) {
          // What elements are rounded by, and their squares' chains.
          double expected = 0, bound = 0;
          for (int64_t k = 0; k < inputs; ++k) {
            double element = weight.at(n, k), size = std::fabs(element);
            for (int64_t r = 0; r < rank; ++r) {
              const double added = double(problem.factor) *
                                   problem.up.at(n, r) * problem.down.at(r, k);
              element += added;
              size += std::fabs(added);
            }
            const double error =
                (static_cast<double>(rank) + 1) * rounding * size;
            expected += element * element;
            bound += 2 * std::fabs(element) * error + error * error;
          }
          bound += (static_cast<double>(inputs) / 8 + 5) * rounding * expected;
          ASSERT_NEAR(found[n], expected, bound)
              << "row " << n << " of " << outputs << " by " << inputs
              << ", rank " << rank;
        }
      }
}

TYPED_TEST(AdaptedSquares, TilesChangeNoBits) {
  Random random(2);
  const Adapted<TypeParam> problem(random, 70, 99, 3);
  const std::vector<float> whole = problem.squares(0, 70);
  for (int64_t first = 0; first < 70; first += 32) {
    const int64_t count = std::min<int64_t>(32, 70 - first);
    expect_same_bits(problem.squares(first, count).data(), whole.data() + first,
                     count);
  }
}

struct Problem {
  Problem(Random &random, int64_t rows, int64_t columns)
      : rows(rows), columns(columns), x(random.buffer(rows, columns)),
        dy(random.buffer(rows, columns)), magnitude(random.vector(columns)),
        squares(random.vector(columns)), bias(random.vector(columns)) {
    for (float &square : squares)
      square = 0.1f + square * square;
  }

  double scale(int64_t column) const {
    return magnitude[column] / std::sqrt(double(squares[column]));
  }

  int64_t rows, columns;
  Buffer x, dy;
  std::vector<float> magnitude, squares, bias;
};

TEST(Magnitude, ScalesColumnsAndAddsABias) {
  Random random(3);
  for (int64_t columns : {1, 16, 33, 100})
    for (int64_t rows : {0, 1, 5})
      for (bool with_bias : {false, true}) {
        const Problem problem(random, rows, columns);
        const float *bias = with_bias ? problem.bias.data() : nullptr;
        Buffer out(rows, columns);
        baton_task_magnitude(out.data(), out.stride, problem.x.data(),
                             problem.x.stride, problem.magnitude.data(),
                             problem.squares.data(), bias, rows, columns);
        oracle::Matrix expected(rows, columns);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c)
            expected.at(r, c) =
                problem.x.at(r, c) * problem.scale(c) + (bias ? bias[c] : 0.0);
        expect_within(out, expected, [&](int64_t r, int64_t c) {
          return 5 * rounding *
                 (std::fabs(problem.x.at(r, c) * problem.scale(c)) +
                  std::fabs(expected.at(r, c)));
        });
        Buffer in_place = problem.x;
        baton_task_magnitude(in_place.data(), in_place.stride, in_place.data(),
                             in_place.stride, problem.magnitude.data(),
                             problem.squares.data(), bias, rows, columns);
        expect_same_bits(in_place, out);
      }
}

TEST(Magnitude, AdjointIsThatOfTheMagnitude) {
  Random random(4);
  const int32_t yes = 1, no = 0;
  for (int64_t columns : {1, 16, 33, 100})
    for (int64_t rows : {0, 1, 9}) {
      const Problem problem(random, rows, columns);
      const oracle::Matrix x = problem.x.matrix();
      oracle::Matrix gradient(1, columns), size(1, columns);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          const double term = problem.dy.at(r, c) * x.at(r, c) /
                              std::sqrt(double(problem.squares[c]));
          gradient.at(0, c) += term;
          size.at(0, c) += std::fabs(term);
        }
      if (rows)
        expect_adjoint(row_of(doubles(problem.magnitude)), problem.dy.matrix(),
                       gradient, [&](const oracle::Matrix &magnitude) {
                         oracle::Matrix y = x;
                         for (int64_t r = 0; r < rows; ++r)
                           for (int64_t c = 0; c < columns; ++c)
                             y.at(r, c) *=
                                 magnitude.at(0, c) /
                                 std::sqrt(double(problem.squares[c]));
                         return y;
                       });
      for (const int32_t *accumulate :
           {&yes, &no, static_cast<const int32_t *>(nullptr)}) {
        Buffer out = random.buffer(1, columns);
        const Buffer before = out;
        baton_task_magnitude_gradient(out.data(), problem.dy.data(),
                                      problem.dy.stride, problem.x.data(),
                                      problem.x.stride, problem.squares.data(),
                                      rows, columns, accumulate);
        oracle::Matrix expected = gradient;
        for (int64_t c = 0; c < columns && accumulate != &no; ++c)
          expected.at(0, c) += before.at(0, c);
        expect_within(out, expected, [&](int64_t, int64_t c) {
          return (static_cast<double>(rows) + 5) * rounding *
                 (size.at(0, c) + std::fabs(expected.at(0, c)));
        });
      }
    }
}

} // namespace
