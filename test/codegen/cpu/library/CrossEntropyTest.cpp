//===- CrossEntropyTest.cpp - cross-entropy of an output projection -------===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

struct Result {
  Buffer loss;
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

  /// As a plan does: parts of the rows have their logits one after the other.
  Result run(int64_t part_rows) const {
    Result result = {Buffer(rows, 1), Buffer(rows, width),
                     Buffer(vocabulary, width)};
    for (Buffer *buffer : {&result.loss, &result.dx, &result.dweight})
      fill(*buffer, not_a_number);
    Scratch scratch(baton_product_scratch_bytes(std::max(vocabulary, width)));
    for (int64_t r = 0; r < rows; r += part_rows) {
      const int64_t count = std::min(part_rows, rows - r);
      Buffer logits(count, vocabulary);
      baton_task_product(logits.data(), logits.stride, x.row(r), x.stride, 1,
                         weight.data(), 1, weight.stride, nullptr, nullptr, 0,
                         count, vocabulary, width, scratch.data());
      baton_task_cross_entropy(
          result.loss.row(r), result.loss.stride, logits.data(), logits.stride,
          &targets[r], &weights[r], count, vocabulary,
          static_cast<float>(scale), static_cast<float>(softcap));
      expect_guards_intact(logits);
      baton_task_product(result.dx.row(r), result.dx.stride, logits.data(),
                         logits.stride, 1, weight.data(), weight.stride, 1,
                         nullptr, nullptr, 0, count, width, vocabulary,
                         scratch.data());
      const int32_t replaces = 0;
      baton_task_product_gradient(
          result.dweight.data(), result.dweight.stride, logits.data(), 1,
          logits.stride, x.row(r), x.stride, 1, &weights[r], vocabulary, width,
          count, r ? nullptr : &replaces, scratch.data());
    }
    for (const Buffer *buffer : {&result.loss, &result.dx, &result.dweight})
      expect_guards_intact(*buffer);
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
    for (int64_t vocabulary : {5, 37, 600})
      for (int64_t width : {1, 13, 20, 300})
        for (double softcap : {0.0, 4.0}) {
          Problem problem(random, rows, vocabulary, width, softcap);
          const Result actual = problem.run(16);
          const oracle::CrossEntropy loss = problem.oracle();
          const oracle::Matrix x = problem.x.matrix();
          const oracle::Matrix weight = problem.weight.matrix();
          // Signs are random, so that chains err by the root of their length;
          // what logits err by, losses and shares do.
          const double root = std::sqrt(static_cast<double>(width));
          const double logits =
              rounding * (4.0 * Problem::scale * root * (root + 4.0) + 30.0);
          expect_within(actual.loss, loss.forward(x, weight),
                        [&](int64_t, int64_t) { return 2.0 * logits; });
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

TEST(CrossEntropy, PartsOfTheRowsDoNotChangeBits) {
  Random random(3);
  for (double softcap : {0.0, 4.0}) {
    Problem problem(random, 50, 300, 20, softcap);
    const Result whole = problem.run(50);
    for (int64_t part : {1, 7, 16}) {
      const Result parts = problem.run(part);
      expect_same_bits(parts.loss, whole.loss);
      expect_same_bits(parts.dx, whole.dx);
      expect_same_bits(parts.dweight, whole.dweight);
    }
  }
}

TEST(CrossEntropy, RowsOfWeightZeroContributeNothing) {
  Random random(5);
  for (int64_t part_rows : {4, 16, 60}) {
    Problem clean(random, 60, 37, 20);
    // Single ones, a whole part, and the last one.
    for (int64_t r = 0; r < 60; ++r)
      if (r % 5 == 0 || (r >= 16 && r < 32) || r >= 56)
        clean.weights[r] = 0.0f;
    Problem poisoned = clean;
    for (int64_t r = 0; r < 60; ++r)
      if (clean.weights[r] == 0.0f) {
        poisoned.targets[r] = -100;
        std::fill_n(poisoned.x.row(r), 20, not_a_number);
      }
    const Result expected = clean.run(part_rows);
    const Result actual = poisoned.run(part_rows);
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

TEST(CrossEntropy, LargeLogitsStayFinite) {
  Random random(7);
  Problem problem(random, 4, 40, 16);
  for (int64_t r = 0; r < 4; ++r)
    for (int64_t c = 0; c < 16; ++c)
      problem.x.row(r)[c] *= 1000.0f;
  const Result result = problem.run(4);
  for (int64_t r = 0; r < 4; ++r) {
    EXPECT_TRUE(std::isfinite(result.loss.at(r, 0)));
    for (int64_t c = 0; c < 16; ++c)
      EXPECT_TRUE(std::isfinite(result.dx.at(r, c)));
  }
}

} // namespace
