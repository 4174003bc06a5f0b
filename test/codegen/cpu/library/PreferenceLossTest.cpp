//===- PreferenceLossTest.cpp - the loss of pairs of answers --------------===//

#include "test/codegen/cpu/library/Gradients.h"

#include <array>

using namespace baton;
using namespace baton::test;

namespace {

/// Rows of a step: some before the first pair, pairs, rows between answers that
/// are no targets, and rows without a token at the end.
struct Problem {
  struct Pair {
    int64_t first, end;
    double weight, beta, chosen, rejected;
  };

  Problem(Random &random, int64_t rows, int64_t before, int64_t length)
      : rows(rows), losses(random.vector(rows)), weights(rows),
        preferences(rows * 4) {
    for (int64_t row = 0; row < rows; ++row) {
      // What a row's loss times its weight is.
      weights[row] = row >= before && row % 3 != 1
                         ? (row - before) % length < length / 2 ? 1.0f : -1.0f
                         : 0.0f;
      losses[row] *= 4.0f * weights[row];
    }
    for (int64_t row = before; row < rows; row += length) {
      const Pair pair = {row,
                         std::min(row + length, rows),
                         0.25 + 0.5 * std::fabs(random.value()),
                         0.1 + std::fabs(random.value()),
                         10.0 * random.value(),
                         10.0 * random.value()};
      float *numbers = &preferences[row * 4];
      for (double value : {pair.weight, pair.beta, pair.chosen, pair.rejected})
        *numbers++ = static_cast<float>(value);
      pairs.push_back(pair);
    }
  }

  /// By the numbers that the body gets.
  double number(const Pair &pair, int64_t i) const {
    return preferences[pair.first * 4 + i];
  }

  /// Log-probabilities, and the loss, of a pair; with a change of one row.
  std::array<double, 3> of(const Pair &pair, int64_t changed = -1,
                           double by = 0) const {
    double chosen = 0, rejected = 0;
    for (int64_t row = pair.first; row < pair.end; ++row) {
      const double loss = losses[row] + (row == changed ? by : 0);
      (weights[row] > 0 ? chosen : rejected) -= weights[row] == 0  ? 0
                                                : weights[row] > 0 ? loss
                                                                   : -loss;
    }
    const double z = number(pair, 1) * ((chosen - number(pair, 2)) -
                                        (rejected - number(pair, 3)));
    return {chosen, rejected,
            z > 0 ? std::log1p(std::exp(-z)) : std::log1p(std::exp(z)) - z};
  }

  void run(Buffer &results, std::vector<float> &gradient) const {
    fill(results, not_a_number);
    gradient.assign(rows + 1, not_a_number);
    gradient.back() = Buffer::guard;
    baton_task_preference_loss(results.data(), results.stride, gradient.data(),
                               losses.data(), 1, weights.data(),
                               preferences.data(), rows);
    EXPECT_EQ(gradient.back(), Buffer::guard);
    expect_guards_intact(results);
  }

  int64_t rows;
  std::vector<float> losses, weights, preferences;
  std::vector<Pair> pairs;
};

TEST(PreferenceLoss, IsTheFormula) {
  Random random(1);
  for (auto [rows, before, length] : {std::array<int64_t, 3>{1, 0, 1},
                                      {12, 0, 12},
                                      {40, 3, 9},
                                      {700, 0, 64}}) {
    const Problem problem(random, rows, before, length);
    Buffer results(rows, 7);
    std::vector<float> gradient;
    problem.run(results, gradient);
    int64_t next = 0;
    for (const Problem::Pair &pair : problem.pairs) {
      for (; next < pair.first; ++next)
        for (int64_t i = 0; i < 7; ++i)
          EXPECT_EQ(results.at(next, i), 0.0f);
      const auto [chosen, rejected, loss] = problem.of(pair);
      const double weight = problem.number(pair, 0),
                   beta = problem.number(pair, 1),
                   gain = chosen - problem.number(pair, 2),
                   other = rejected - problem.number(pair, 3),
                   z = beta * (gain - other);
      const double expected[] = {loss,    beta * gain,       beta * other,
                                 z,       z > 0 ? 1.0 : 0.0, chosen,
                                 rejected};
      // Sums are rounded once, differences of them keep that error.
      const double error = 16 * rounding *
                           (1 + std::fabs(chosen) + std::fabs(rejected) +
                            std::fabs(gain) + std::fabs(other));
      for (int64_t i = 0; i < 7; ++i)
        EXPECT_NEAR(results.at(pair.first, i), weight * expected[i], error)
            << "column " << i << " of row " << pair.first;
      for (int64_t row = pair.first; row < pair.end; ++row) {
        const double slope = weight * beta / (1 + std::exp(z));
        EXPECT_NEAR(gradient[row], slope, slope * (8 * rounding + error));
        // What the formula itself says of a change of the row's loss.
        if (problem.weights[row] != 0) {
          const double step = 1e-5;
          EXPECT_NEAR(weight *
                          (problem.of(pair, row, step)[2] -
                           problem.of(pair, row, -step)[2]) /
                          (2 * step),
                      slope, 1e-8);
        }
      }
      next = pair.first + 1;
    }
  }
}

/// Where nothing has changed yet, nothing is gained, whatever the sums are.
TEST(PreferenceLoss, BeginsAtLogTwo) {
  Random random(2);
  Problem problem(random, 120, 0, 30);
  Buffer results(120, 7);
  std::vector<float> gradient;
  for (const Problem::Pair &pair : problem.pairs) {
    float *numbers = &problem.preferences[pair.first * 4];
    numbers[0] = 1.0f;
    numbers[2] = numbers[3] = 0.0f;
  }
  problem.run(results, gradient);
  for (const Problem::Pair &pair : problem.pairs)
    for (int64_t i = 0; i < 2; ++i)
      problem.preferences[pair.first * 4 + 2 + i] =
          results.at(pair.first, 5 + i);
  problem.run(results, gradient);
  for (const Problem::Pair &pair : problem.pairs) {
    EXPECT_NEAR(results.at(pair.first, 0), std::log(2.0), 2 * rounding);
    for (int64_t i = 1; i < 5; ++i)
      EXPECT_EQ(results.at(pair.first, i), 0.0f);
    EXPECT_EQ(gradient[pair.first],
              0.5f * problem.preferences[pair.first * 4 + 1]);
  }
}

/// Far from zero losses neither overflow nor vanish.
TEST(PreferenceLoss, HasNoExtremes) {
  for (float difference : {-3000.0f, -30.0f, 30.0f, 80.0f, 3000.0f}) {
    const float loss = -difference, weight = 1.0f;
    const float preferences[] = {1.0f, 1.0f, 0.0f, 0.0f};
    float results[7], gradient;
    baton_task_preference_loss(results, 7, &gradient, &loss, 1, &weight,
                               preferences, 1);
    const double expected =
        difference > 0 ? std::log1p(std::exp(-double(difference)))
                       : std::log1p(std::exp(double(difference))) - difference;
    EXPECT_NEAR(results[0], expected, 1e-6 * expected + 1e-37) << difference;
    EXPECT_NEAR(gradient, 1 / (1 + std::exp(double(difference))),
                1e-6 / (1 + std::exp(double(difference))) + 1e-37)
        << difference;
    EXPECT_EQ(results[4], difference > 0 ? 1.0f : 0.0f);
  }
}

TEST(WeighRows, MultipliesEachRow) {
  Random random(3);
  for (auto [rows, width] :
       {std::array<int64_t, 2>{1, 1}, {5, 1}, {3, 16}, {9, 37}}) {
    const Buffer x = random.buffer(rows, width),
                 factors = random.buffer(rows, 1);
    Buffer out(rows, width);
    baton_task_weigh_rows(out.data(), out.stride, x.data(), x.stride,
                          factors.data(), factors.stride, rows, width);
    Buffer there = x;
    baton_task_weigh_rows(there.data(), there.stride, there.data(),
                          there.stride, factors.data(), factors.stride, rows,
                          width);
    expect_same_bits(out, there);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < width; ++column)
        EXPECT_EQ(out.at(row, column), x.at(row, column) * factors.at(row, 0));
    expect_guards_intact(out);
  }
}

} // namespace
