//===- CrossEntropyTest.cpp - cross-entropy of an output projection -------===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

struct Result {
  Buffer loss;
  Buffer statistics;
  Buffer dx;
  Buffer dweight;
};

struct Problem {
  Problem(Random &random, int64_t rows, int64_t vocabulary, int64_t width,
          double softcap = 0.0)
      : rows(rows), vocabulary(vocabulary), width(width), softcap(softcap),
        x(random.buffer(rows, width, 2.0f)),
        weight(random.buffer(vocabulary, width, 2.0f)), targets(rows),
        weights(random.vector(rows)) {
    for (int32_t &target : targets)
      target = static_cast<int32_t>(random.bits() %
                                    static_cast<uint32_t>(vocabulary));
  }

  oracle::CrossEntropy oracle() const {
    return {targets, doubles(weights), scale, softcap};
  }

  /// The forward pass in tiles of rows and tokens.
  Result forward(int64_t tile_rows, int64_t tile_columns) const {
    Result result = {Buffer(rows, 1), Buffer(rows, 2), Buffer(rows, width),
                     Buffer(vocabulary, width)};
    const int64_t tiles = (vocabulary + tile_columns - 1) / tile_columns;
    Buffer partials(rows, 3 * tiles);
    for (Buffer *buffer : {&result.loss, &result.statistics, &partials})
      fill(*buffer, not_a_number);
    Scratch scratch(
        baton_cross_entropy_scratch_bytes(tile_rows, tile_columns, width));
    for (int64_t r = 0; r < rows; r += tile_rows) {
      const int64_t count = std::min(tile_rows, rows - r);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t first = tile * tile_columns;
        baton_task_cross_entropy_partial(
            partials.row(r) + 3 * tile, partials.stride, x.row(r), x.stride,
            weight.row(first), weight.stride, &targets[r], count, first,
            std::min(tile_columns, vocabulary - first), width,
            static_cast<float>(scale), static_cast<float>(softcap),
            scratch.data());
      }
      baton_task_cross_entropy_merge(
          result.loss.row(r), result.loss.stride, result.statistics.row(r),
          result.statistics.stride, partials.row(r), partials.stride, tiles,
          &weights[r], count);
    }
    for (const Buffer *buffer : {&result.loss, &result.statistics, &partials})
      expect_guards_intact(*buffer);
    return result;
  }

  void input_gradient(Result &result, int64_t tile_rows,
                      int64_t tile_columns) const {
    fill(result.dx, not_a_number);
    Scratch scratch(
        baton_cross_entropy_scratch_bytes(tile_rows, tile_columns, width));
    for (int64_t r = 0; r < rows; r += tile_rows)
      baton_task_cross_entropy_input_gradient(
          result.dx.row(r), result.dx.stride, x.row(r), x.stride, weight.data(),
          weight.stride, &targets[r], &weights[r], result.statistics.row(r),
          result.statistics.stride, std::min(tile_rows, rows - r), vocabulary,
          tile_columns, width, static_cast<float>(scale),
          static_cast<float>(softcap), scratch.data());
    expect_guards_intact(result.dx);
  }

  void weight_gradient(Result &result, int64_t tile_rows, int64_t tile_columns,
                       const int32_t *accumulate) const {
    Scratch scratch(
        baton_cross_entropy_scratch_bytes(tile_rows, tile_columns, width));
    for (int64_t first = 0; first < vocabulary; first += tile_columns)
      baton_task_cross_entropy_weight_gradient(
          result.dweight.row(first), result.dweight.stride, x.data(), x.stride,
          weight.row(first), weight.stride, targets.data(), weights.data(),
          result.statistics.data(), result.statistics.stride, rows, tile_rows,
          first, std::min(tile_columns, vocabulary - first), width,
          static_cast<float>(scale), static_cast<float>(softcap), accumulate,
          scratch.data());
    expect_guards_intact(result.dweight);
  }

  Result run(int64_t tile_rows, int64_t tile_columns) const {
    Result result = forward(tile_rows, tile_columns);
    input_gradient(result, tile_rows, tile_columns);
    const int32_t replaces = 0;
    fill(result.dweight, not_a_number);
    weight_gradient(result, tile_rows, tile_columns, &replaces);
    return result;
  }

  static constexpr double scale = 0.5;
  int64_t rows;
  int64_t vocabulary;
  int64_t width;
  double softcap;
  Buffer x;
  Buffer weight;
  std::vector<int32_t> targets;
  std::vector<float> weights;
};

TEST(CrossEntropy, OracleMatchesDifferences) {
  Random random(1);
  for (double softcap : {0.0, 1.5}) {
    Problem problem(random, 5, 7, 3, softcap);
    problem.weights[2] = 0.0f;
    const oracle::CrossEntropy loss = problem.oracle();
    const oracle::Matrix x = problem.x.matrix();
    const oracle::Matrix weight = problem.weight.matrix();
    oracle::Matrix ones(5, 1);
    ones.values.assign(5, 1.0);
    const oracle::CrossEntropy::Gradient gradient = loss.gradient(x, weight);
    expect_adjoint(x, ones, gradient.dx, [&](const oracle::Matrix &moved) {
      return loss.forward(moved, weight);
    });
    expect_adjoint(
        weight, ones, gradient.dweight,
        [&](const oracle::Matrix &moved) { return loss.forward(x, moved); });
  }
}

TEST(CrossEntropy, MatchesOracle) {
  Random random(2);
  for (int64_t rows : {1, 7, 40})
    for (int64_t vocabulary : {5, 37, 150})
      for (int64_t width : {1, 13, 20, 300})
        for (double softcap : {0.0, 4.0}) {
          Problem problem(random, rows, vocabulary, width, softcap);
          const Result actual = problem.run(16, 48);
          const oracle::CrossEntropy loss = problem.oracle();
          const oracle::Matrix x = problem.x.matrix();
          const oracle::Matrix weight = problem.weight.matrix();
          // Signs are random, so that chains err by the root of their length;
          // what logits err by, losses and shares do.
          const double root = std::sqrt(static_cast<double>(width));
          const double logits =
              rounding * (4.0 * Problem::scale * root * (root + 4.0) + 30.0);
          const oracle::Matrix statistics = loss.statistics(x, weight);
          expect_within(actual.loss, loss.forward(x, weight),
                        [&](int64_t, int64_t) { return 2.0 * logits; });
          expect_within(
              actual.statistics, statistics, [&](int64_t r, int64_t c) {
                return logits * std::max(1.0, std::fabs(statistics.at(r, c)));
              });
          const oracle::CrossEntropy::Gradient gradient =
              loss.gradient(x, weight);
          expect_within(actual.dx, gradient.dx,
                        [&](int64_t, int64_t) { return 4.0 * logits; });
          // A token's share and its slope, over all rows.
          expect_within(
              actual.dweight, gradient.dweight, [&](int64_t, int64_t) {
                return std::sqrt(static_cast<double>(rows)) * 4.0 * logits;
              });
          if (HasFatalFailure())
            FAIL() << "rows " << rows << " vocabulary " << vocabulary
                   << " width " << width << " softcap " << softcap;
        }
}

TEST(CrossEntropy, TilesDoNotChangeGradients) {
  Random random(3);
  Problem problem(random, 50, 300, 20, 4.0);
  // More of either side than a product packs at once.
  Result whole = problem.run(50, 300);
  for (int64_t tile_rows : {1, 7, 16, 50})
    for (int64_t tile_columns : {7, 16, 100, 300}) {
      Result tiled = whole;
      problem.input_gradient(tiled, tile_rows, tile_columns);
      expect_same_bits(tiled.dx, whole.dx);
      const int32_t replaces = 0;
      fill(tiled.dweight, not_a_number);
      problem.weight_gradient(tiled, tile_rows, tile_columns, &replaces);
      expect_same_bits(tiled.dweight, whole.dweight);
      // Nor do tiles of rows change the statistics.
      expect_same_bits(problem.forward(tile_rows, 300).statistics,
                       whole.statistics);
    }
  Problem tall(random, 300, 20, 9);
  Result once = tall.run(300, 20), often = tall.run(32, 20);
  expect_same_bits(often.statistics, once.statistics);
  expect_same_bits(often.loss, once.loss);
  expect_same_bits(often.dx, once.dx);
  expect_same_bits(often.dweight, once.dweight);
}

TEST(CrossEntropy, LogitsAreThoseOfTheProduct) {
  Random random(4);
  Problem problem(random, 5, 40, 300);
  Buffer logits(5, 40), partials(5, 3);
  Scratch product(baton_product_scratch_bytes(40));
  baton_task_product(logits.data(), logits.stride, problem.x.data(),
                     problem.x.stride, 1, problem.weight.data(), 1,
                     problem.weight.stride, nullptr, nullptr, 0, 5, 40, 300,
                     product.data());
  Scratch scratch(baton_cross_entropy_scratch_bytes(5, 40, 300));
  baton_task_cross_entropy_partial(
      partials.data(), partials.stride, problem.x.data(), problem.x.stride,
      problem.weight.data(), problem.weight.stride, problem.targets.data(), 5,
      0, 40, 300, 0.5f, 0.0f, scratch.data());
  for (int64_t r = 0; r < 5; ++r)
    EXPECT_EQ(partials.at(r, 2), logits.at(r, problem.targets[r]) * 0.5f);
}

TEST(CrossEntropy, RowsOfWeightZeroContributeNothing) {
  Random random(5);
  for (int64_t tile_rows : {4, 16, 60}) {
    Problem clean(random, 60, 37, 20);
    // Single ones, a whole tile, and the last one.
    for (int64_t r = 0; r < 60; ++r)
      if (r % 5 == 0 || (r >= 16 && r < 32) || r >= 56)
        clean.weights[r] = 0.0f;
    Problem poisoned = clean;
    for (int64_t r = 0; r < 60; ++r)
      if (clean.weights[r] == 0.0f) {
        poisoned.targets[r] = -100;
        std::fill_n(poisoned.x.row(r), 20, not_a_number);
      }
    const Result expected = clean.run(tile_rows, 16);
    const Result actual = poisoned.run(tile_rows, 16);
    expect_same_bits(actual.loss, expected.loss);
    expect_same_bits(actual.dx, expected.dx);
    expect_same_bits(actual.dweight, expected.dweight);
    for (int64_t r = 0; r < 60; ++r)
      if (clean.weights[r] == 0.0f) {
        EXPECT_EQ(actual.loss.at(r, 0), 0.0f);
        for (int64_t c = 0; c < 20; ++c)
          EXPECT_EQ(actual.dx.at(r, c), 0.0f);
      }
    // They might as well not be there.
    const oracle::CrossEntropy::Gradient gradient =
        clean.oracle().gradient(clean.x.matrix(), clean.weight.matrix());
    expect_within(actual.dweight, gradient.dweight,
                  [](int64_t, int64_t) { return 1e-5; });
  }
}

TEST(CrossEntropy, WeightGradientIsAddedLast) {
  Random random(6);
  Problem problem(random, 40, 37, 20);
  Result result = problem.run(16, 16);
  const Buffer old = random.buffer(37, 20);
  Buffer sum(37, 20);
  for (int64_t t = 0; t < 37; ++t)
    for (int64_t c = 0; c < 20; ++c)
      sum.row(t)[c] = result.dweight.at(t, c) + old.at(t, c);
  const int32_t adds = 1;
  for (const int32_t *accumulate :
       {static_cast<const int32_t *>(nullptr), &adds}) {
    result.dweight = old;
    problem.weight_gradient(result, 16, 16, accumulate);
    expect_same_bits(result.dweight, sum);
  }
}

TEST(CrossEntropy, LargeLogitsStayFinite) {
  Random random(7);
  Problem problem(random, 4, 40, 16);
  for (int64_t r = 0; r < 4; ++r)
    for (int64_t c = 0; c < 16; ++c)
      problem.x.row(r)[c] *= 1000.0f;
  const Result result = problem.run(4, 16);
  for (int64_t r = 0; r < 4; ++r) {
    EXPECT_TRUE(std::isfinite(result.loss.at(r, 0)));
    for (int64_t c = 0; c < 16; ++c)
      EXPECT_TRUE(std::isfinite(result.dx.at(r, c)));
  }
}

} // namespace
