//===- RouterLossTest.cpp - losses of routers, and their gradients --------===//

#include "test/codegen/cpu/library/ExpertsProblem.h"
#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

struct Shape {
  int64_t rows, k, count;
};
const Shape shapes[] = {{1, 1, 1},   {3, 2, 5},    {9, 3, 9},
                        {6, 8, 128}, {2, 64, 100}, {20, 4, 17}};

std::vector<int32_t> experts_of(const ExpertsProblem &problem) {
  return problem
      .route(baton_task_route_rows, false, BATON_SCORING_SOFTMAX, true, 1.0f)
      .experts;
}

/// What a row of logits adds to the sums that have a gradient.
oracle::Matrix terms_of(const oracle::Matrix &logits) {
  oracle::Matrix result(logits.rows, logits.columns + 1);
  for (int64_t row = 0; row < logits.rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < logits.columns; ++i)
      sum += std::exp(logits.at(row, i));
    for (int64_t i = 0; i < logits.columns; ++i)
      result.at(row, i) = std::exp(logits.at(row, i)) / sum;
    result.at(row, logits.columns) = std::log(sum) * std::log(sum);
  }
  return result;
}

/// Sums of several layers, each in the place of those before.
Buffer sums_of(const std::vector<ExpertsProblem> &layers) {
  const auto &[rows, k, count, logits, bias] = layers.front();
  Buffer sums(rows, 2 * count + 1);
  fill(sums, not_a_number);
  baton_task_router_begin(sums.data(), sums.stride, rows, sums.width);
  for (const ExpertsProblem &layer : layers)
    baton_task_router_sums(sums.data(), sums.stride, sums.data(), sums.stride,
                           layer.logits.data(), layer.logits.stride,
                           experts_of(layer).data(), k + 3, rows, k, count);
  return sums;
}

std::vector<ExpertsProblem> layers_of(Random &random, const Shape &shape,
                                      int64_t layers) {
  std::vector<ExpertsProblem> result;
  for (int64_t i = 0; i < layers; ++i)
    result.emplace_back(random, shape.rows, shape.k, shape.count);
  return result;
}

/// As many as there are sums.
oracle::Matrix expected_sums(const std::vector<ExpertsProblem> &layers) {
  const int64_t rows = layers[0].rows, k = layers[0].k, count = layers[0].count;
  oracle::Matrix result(rows, 2 * count + 1);
  for (const ExpertsProblem &layer : layers) {
    const oracle::Matrix terms = terms_of(layer.logits.matrix());
    const std::vector<int32_t> experts = experts_of(layer);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i <= count; ++i)
        result.at(row, i) += terms.at(row, i);
      for (int64_t j = 0; j < k; ++j)
        result.at(row, count + 1 + experts[row * (k + 3) + j]) += 1;
    }
  }
  return result;
}

TEST(RouterLoss, SumsAreOfAllLayers) {
  Random random(1);
  for (const Shape &shape : shapes) {
    const std::vector<ExpertsProblem> layers = layers_of(random, shape, 3);
    const oracle::Matrix expected = expected_sums(layers);
    expect_within(sums_of(layers), expected, [&](int64_t r, int64_t c) {
      // Counts are exact.
      return c > shape.count
                 ? 0.0
                 : 64 * rounding * (1 + std::fabs(expected.at(r, c)));
    });
  }
}

TEST(RouterLoads, CountChoices) {
  Random random(7);
  const int32_t no = 0;
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const std::vector<int32_t> experts = experts_of(problem);
    std::vector<float> expected(count);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < k; ++j)
        expected[experts[row * (k + 3) + j]] += 1;
    std::vector<float> loads(count, not_a_number);
    // In two tiles, and then once more, on top.
    const int64_t half = (count + 1) / 2;
    for (const int32_t *accumulate :
         {&no, static_cast<const int32_t *>(nullptr)})
      for (int64_t first : {int64_t(0), half})
        baton_task_router_loads(loads.data() + first, experts.data(), k + 3,
                                rows, k, first, std::min(half, count - first),
                                accumulate);
    for (int64_t e = 0; e < count; ++e)
      EXPECT_EQ(loads[e], 2 * expected[e]) << "expert " << e << " of " << count;
  }
}

TEST(RouterLoss, SumsHaveTheAdjointThatDifferencesSay) {
  Random random(2);
  for (const auto &[rows, k, count] : shapes) {
    const ExpertsProblem problem(random, rows, k, count);
    const Buffer dy = random.buffer(rows, count + 1);
    Buffer gradient(rows, count);
    baton_task_router_sums_gradient(gradient.data(), gradient.stride, dy.data(),
                                    dy.stride, problem.logits.data(),
                                    problem.logits.stride, rows, count);
    const oracle::Matrix expected =
        differences(problem.logits.matrix(), dy.matrix(), terms_of);
    expect_within(gradient, expected, [&](int64_t r, int64_t c) {
      return 64 * rounding * (1 + std::fabs(expected.at(r, c)));
    });
  }
}

/// Losses of rows, some of which have no weight, and what is in those.
struct LossProblem {
  LossProblem(Random &random, const Shape &shape, int64_t layers)
      : rows(shape.rows), count(shape.count), layers(layers),
        sums(sums_of(layers_of(random, shape, layers))),
        loss(random.buffer(rows, 1)), weights(random.vector(rows)) {
    for (int64_t row = 0; row < rows; ++row) {
      weights[row] = row % 3 == 1 ? 0.0f : std::fabs(weights[row]) + 0.1f;
      counted += weights[row] != 0;
    }
  }

  /// By tiles of columns, as plans have them.
  std::vector<float> shares() const {
    std::vector<float> result(count + 1, Buffer::guard);
    for (int64_t first = 0; first < count; first += 64)
      baton_task_expert_shares(
          result.data() + first, sums.data() + count + 1 + first, sums.stride,
          weights.data(), rows, std::min<int64_t>(64, count - first), layers);
    return result;
  }

  int64_t rows, count, layers, counted = 0;
  Buffer sums, loss;
  std::vector<float> weights;
};

TEST(RouterLoss, SharesAreOfTheRowsThatCount) {
  Random random(3);
  for (const Shape &shape : shapes) {
    const LossProblem problem(random, shape, 2);
    const std::vector<float> shares = problem.shares();
    EXPECT_EQ(shares.back(), Buffer::guard);
    double all = 0;
    for (int64_t i = 0; i < shape.count; ++i) {
      double chosen = 0;
      for (int64_t row = 0; row < shape.rows; ++row)
        if (problem.weights[row] != 0)
          chosen += problem.sums.at(row, shape.count + 1 + i);
      EXPECT_NEAR(shares[i], chosen / double(2 * problem.counted), rounding);
      all += shares[i];
    }
    // Each row is of k experts, in each layer.
    EXPECT_NEAR(all, double(shape.k), 1e-4);
  }
}

TEST(RouterLoss, NoRowHasNoShares) {
  const std::vector<float> weights(3, 0.0f), choices(6, not_a_number);
  std::vector<float> shares(2, not_a_number);
  baton_task_expert_shares(shares.data(), choices.data(), 2, weights.data(), 3,
                           2, 1);
  EXPECT_EQ(shares, std::vector<float>(2, 0.0f));
}

TEST(RouterLoss, LossesAreTheFormulas) {
  Random random(4);
  for (const Shape &shape : shapes)
    for (auto [balance, z] :
         {std::pair{0.25f, 0.0f}, {0.0f, 0.5f}, {2.0f, 3.0f}}) {
      const LossProblem problem(random, shape, 3);
      const auto &[rows, count, layers, counted, sums, loss, weights] = problem;
      const std::vector<float> shares = problem.shares();
      Buffer losses(rows, 4), dsums(rows, count + 1);
      Buffer poisoned = sums;
      for (int64_t row = 0; row < rows; ++row)
        if (weights[row] == 0.0f)
          std::fill_n(poisoned.row(row), sums.width, not_a_number);
      baton_task_router_loss(losses.data(), losses.stride, dsums.data(),
                             dsums.stride, loss.data(), loss.stride,
                             poisoned.data(), poisoned.stride, weights.data(),
                             shares.data(), rows, count, layers, balance, z);
      oracle::Matrix expected(rows, 4), gradient(rows, count + 1);
      for (int64_t row = 0; row < rows; ++row) {
        const double weight = double(weights[row]) / double(layers);
        if (weight == 0)
          continue;
        for (int64_t i = 0; i < count; ++i) {
          const double share = double(shares[i]) * double(count) * weight;
          expected.at(row, 2) += share * double(sums.at(row, i));
          gradient.at(row, i) = double(balance) * share;
        }
        expected.at(row, 1) = loss.at(row, 0);
        expected.at(row, 3) = weight * double(sums.at(row, count));
        gradient.at(row, count) = double(z) * weight;
        expected.at(row, 0) = expected.at(row, 1) +
                              double(balance) * expected.at(row, 2) +
                              double(z) * expected.at(row, 3);
      }
      // The sum may cancel.
      expect_within(losses, expected, [&](int64_t r, int64_t c) {
        double most = 0;
        for (int64_t i = 0; i < 4; ++i)
          most = std::max(most, std::fabs(expected.at(r, c ? c : i)));
        return 256 * rounding * most;
      });
      expect_within(dsums, gradient, [&](int64_t r, int64_t c) {
        return 64 * rounding * std::fabs(gradient.at(r, c));
      });
    }
}

} // namespace
