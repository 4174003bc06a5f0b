//===- NeuronChoiceTest.cpp - neurons against least squares by QR ---------===//

#include "tools/prune/neuron_choice.h"

#include "runtime/error.h"

#include <Eigen/QR>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace baton {
namespace {

using Matrix = Eigen::MatrixXd;
using RowMajorFloats =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Places = std::vector<Eigen::Index>;

/// Activations [rows, neurons], and output weights [outputs, neurons].
struct Layer {
  Matrix x, w;

  std::vector<float> weights() const {
    const RowMajorFloats stored = w.cast<float>();
    return {stored.data(), stored.data() + stored.size()};
  }
  std::vector<double> moments() const {
    const Matrix g = x.transpose() * x / double(x.rows());
    return {g.data(), g.data() + g.size()};
  }
  /// The least squares' weights of these neurons, [outputs, kept].
  Matrix solve(const Places &kept) const {
    const Matrix own = x(Eigen::all, kept);
    return own.colPivHouseholderQr().solve(x * w.transpose()).transpose();
  }
  double loss(const Places &kept) const {
    return (x * w.transpose() - x(Eigen::all, kept) * solve(kept).transpose())
               .squaredNorm() /
           (x * w.transpose()).squaredNorm();
  }
  LeastSquaresChoice choose(uint64_t keep, double damping,
                            uint64_t exchanges = 0) const {
    return choose_by_least_squares(weights(), moments(), uint64_t(x.cols()),
                                   keep, damping, exchanges);
  }
};

/// Correlated activations: of fewer sources than neurons, and a little of their
/// own.
Layer random_layer(unsigned seed, Eigen::Index rows, Eigen::Index neurons,
                   Eigen::Index outputs, double own = 0.3) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  auto random = [&](Eigen::Index a, Eigen::Index b) {
    return Matrix::NullaryExpr(a, b, [&] { return normal(engine); }).eval();
  };
  Layer layer;
  layer.x = random(rows, neurons / 2) * random(neurons / 2, neurons) +
            own * random(rows, neurons);
  // As a checkpoint holds them.
  layer.w = random(outputs, neurons).cast<float>().cast<double>();
  return layer;
}

/// Each time the one without which QR loses least.
Places greedy(const Layer &layer, uint64_t keep) {
  Places kept;
  for (Eigen::Index j = 0; j < layer.x.cols(); ++j)
    kept.push_back(j);
  while (kept.size() > keep) {
    double least = std::numeric_limits<double>::infinity();
    size_t best = 0;
    for (size_t i = 0; i < kept.size(); ++i) {
      Places without = kept;
      without.erase(without.begin() + ptrdiff_t(i));
      if (const double loss = layer.loss(without); loss < least) {
        least = loss;
        best = i;
      }
    }
    kept.erase(kept.begin() + ptrdiff_t(best));
  }
  return kept;
}

TEST(NeuronChoice, IsThatOfQrNeuronByNeuron) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Layer layer = random_layer(seed, 60, 14, 5);
    const Places expected = greedy(layer, 6);
    const LeastSquaresChoice found = layer.choose(6, 1e-12);
    ASSERT_EQ(Places(found.kept.begin(), found.kept.end()), expected)
        << "seed " << seed;
    EXPECT_NEAR(found.loss, layer.loss(expected), 1e-9);
    const Matrix solution = layer.solve(expected);
    for (Eigen::Index i = 0; i < solution.rows(); ++i)
      for (Eigen::Index j = 0; j < solution.cols(); ++j)
        EXPECT_NEAR(found.weights[size_t(i * solution.cols() + j)],
                    solution(i, j), 1e-6);
  }
}

/// Each time the exchange by which QR loses least, until none wins much.
Places exchanged(const Layer &layer, Places kept, uint64_t most) {
  for (uint64_t made = 0; made < most; ++made) {
    double least = layer.loss(kept) * (1 - 1e-4);
    Places best;
    for (size_t i = 0; i < kept.size(); ++i)
      for (Eigen::Index j = 0; j < layer.x.cols(); ++j) {
        if (std::count(kept.begin(), kept.end(), j))
          continue;
        Places other = kept;
        other[i] = j;
        if (const double loss = layer.loss(other); loss < least) {
          least = loss;
          best = other;
        }
      }
    if (best.empty())
      break;
    std::sort(best.begin(), best.end());
    kept = best;
  }
  return kept;
}

TEST(NeuronChoice, ExchangesAreThoseOfQr) {
  uint64_t several = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const Layer layer = random_layer(seed, 60, 14, 3);
    const Places eliminated = greedy(layer, 6);
    for (uint64_t most : {1, 100}) {
      const Places expected = exchanged(layer, eliminated, most);
      const LeastSquaresChoice found = layer.choose(6, 1e-12, most);
      ASSERT_EQ(Places(found.kept.begin(), found.kept.end()), expected)
          << "seed " << seed << ", " << most;
      EXPECT_NEAR(found.loss, layer.loss(expected), 1e-9);
      EXPECT_EQ(found.exchanges > 0, expected != eliminated);
      EXPECT_LE(found.exchanges, most);
      several += found.exchanges > 1;
    }
  }
  // Elimination is not where it ends.
  EXPECT_GT(several, 0u);
}

TEST(NeuronChoice, ExchangesLoseNothingMore) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const Layer layer = random_layer(seed, 300, 100, 8);
    const LeastSquaresChoice before = layer.choose(40, 1e-9),
                             after = layer.choose(40, 1e-9, 1000);
    EXPECT_GT(after.exchanges, 0u) << "seed " << seed;
    EXPECT_LT(after.exchanges, 1000u);
    EXPECT_LT(after.loss, before.loss);
    EXPECT_NEAR(after.loss, layer.loss({after.kept.begin(), after.kept.end()}),
                1e-9);
  }
  // What is lost by rounding alone is no reason for one.
  Layer layer = random_layer(11, 90, 12, 6, 1.0);
  for (Eigen::Index j = 8; j < 12; ++j)
    layer.x.col(j) = 2.0 * layer.x.col(j - 8) - layer.x.col(j - 4);
  EXPECT_EQ(layer.choose(8, 1e-9, 100).exchanges, 0u);
  layer.x.setZero();
  EXPECT_EQ(layer.choose(3, 1e-6, 100).kept.size(), 3u);
}

TEST(NeuronChoice, GoesOnOverBlocksOfChanges) {
  // More than one block is removed; the way there is the greedy one still.
  const Layer layer = random_layer(7, 400, 150, 4, 0.05);
  const LeastSquaresChoice all = layer.choose(20, 1e-12),
                           part = layer.choose(60, 1e-12);
  // Who goes first is gone later, too.
  EXPECT_TRUE(std::includes(part.kept.begin(), part.kept.end(),
                            all.kept.begin(), all.kept.end()));
  EXPECT_NEAR(all.loss, layer.loss({all.kept.begin(), all.kept.end()}), 1e-7);
  EXPECT_LT(part.loss, all.loss);
}

TEST(NeuronChoice, LosesNothingOfWhatIsASum) {
  // Four neurons are sums of two others.
  Layer layer = random_layer(11, 90, 12, 6, 1.0);
  for (Eigen::Index j = 8; j < 12; ++j)
    layer.x.col(j) = 2.0 * layer.x.col(j - 8) - layer.x.col(j - 4);
  const LeastSquaresChoice found = layer.choose(8, 1e-9);
  EXPECT_LT(found.loss, 1e-12);
  EXPECT_LT(layer.loss({found.kept.begin(), found.kept.end()}), 1e-12);
  // Equal ones do not both go.
  layer.x.col(9) = layer.x.col(8);
  layer.x.col(10) = layer.x.col(8);
  layer.x.col(11) = layer.x.col(8);
  EXPECT_LT(layer.choose(9, 1e-9).loss, 1e-12);
}

TEST(NeuronChoice, KeepsAllAndSilentOnes) {
  Layer layer = random_layer(3, 50, 10, 3);
  const LeastSquaresChoice all = layer.choose(10, 1e-6);
  EXPECT_EQ(all.loss, 0);
  EXPECT_EQ(all.weights, layer.weights());
  // What is never active goes first, and a layer that never is, keeps some.
  layer.x.col(4).setZero();
  const LeastSquaresChoice rest = layer.choose(9, 1e-6);
  EXPECT_EQ(std::count(rest.kept.begin(), rest.kept.end(), 4u), 0);
  EXPECT_LT(rest.loss, 1e-15);
  layer.x.setZero();
  const LeastSquaresChoice silent = layer.choose(3, 1e-6);
  EXPECT_EQ(silent.kept.size(), 3u);
  EXPECT_EQ(silent.loss, 0);
  // Numbers that no activations have.
  std::vector<double> negative(4, 0);
  negative[0] = negative[3] = -1;
  negative[1] = negative[2] = 5;
  EXPECT_THROW(choose_by_least_squares(std::vector<float>{1, 1}, negative, 2, 1,
                                       1e-6, 0),
               Error);
}

TEST(NeuronChoice, Largest) {
  const double sizes[] = {1, 5, 2, 5, 5, 0};
  EXPECT_EQ(largest(sizes, 2), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(largest(sizes, 4), (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(largest(sizes, 9).size(), 6u);
}

} // namespace
} // namespace baton
