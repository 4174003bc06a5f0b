//===- ComparisonTest.cpp - what two programs' logits differ by -----------===//

#include "compiler/comparison/Comparison.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include <unistd.h>

using namespace baton;
using namespace baton::comparison;

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

TEST(ComparisonDistributions, AreSoftmaxesOfLogits) {
  // Shifted by a number that overflows exp.
  const float row[] = {5000, 5000 + std::log(2.0f), 5000, 5000};
  Distribution distribution;
  ASSERT_TRUE(distribution.set(row));
  EXPECT_EQ(distribution.best(), 1u);
  EXPECT_NEAR(distribution.logProbability(1), std::log(0.4), 1e-3);
  EXPECT_NEAR(distribution.logProbability(3), std::log(0.2), 1e-3);
}

TEST(ComparisonDistributions, TheFirstOfEquallyLikelyTokensIsBest) {
  const float row[] = {1, 3, 3, 2};
  Distribution distribution;
  ASSERT_TRUE(distribution.set(row));
  EXPECT_EQ(distribution.best(), 1u);
}

TEST(ComparisonDistributions, LogitsAreNumbers) {
  Distribution distribution;
  for (float fault : {std::numeric_limits<float>::quiet_NaN(),
                      std::numeric_limits<float>::infinity()}) {
    const float row[] = {1, fault, 2};
    EXPECT_FALSE(distribution.set(row));
  }
}

TEST(ComparisonDistributions, DivergeAsKullbackAndLeiblerSay) {
  const float first[] = {std::log(0.5f), std::log(0.25f), std::log(0.25f)};
  const float second[] = {std::log(0.25f), std::log(0.25f), std::log(0.5f)};
  Distribution a, b;
  ASSERT_TRUE(a.set(first) && b.set(second));
  // 0.5 log 2 + 0.25 log 1/2.
  EXPECT_NEAR(divergence(a, b), 0.25 * std::log(2.0), 1e-7);
  EXPECT_EQ(divergence(a, a), 0);
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

TEST(ComparisonMeans, HaveStudentsIntervals) {
  // R's qt(0.975, n).
  const std::pair<size_t, double> known[] = {
      {1, 12.7062047},  {6, 2.44691185},  {7, 2.36462425},
      {12, 2.17881283}, {30, 2.04227246}, {1000, 1.96233908}};
  for (auto [degrees, value] : known)
    EXPECT_NEAR(studentsQuantile(degrees), value, 2e-4) << degrees;
  const TextMean mean = textMean({1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(mean.value, 3);
  ASSERT_TRUE(mean.margin);
  EXPECT_NEAR(*mean.margin, 2.776445 * std::sqrt(0.5), 1e-6);
}

TEST(ComparisonMeans, OneWindowHasNoInterval) {
  EXPECT_EQ(textMean({2}).value, 2);
  EXPECT_FALSE(textMean({2}).margin);
  EXPECT_EQ(textMean({2, 2, 2}).margin, 0);
}

TEST(ComparisonMeans, QuantilesLieBetweenValues) {
  const double sorted[] = {1, 2, 4, 8, 16};
  EXPECT_EQ(quantile(sorted, 0), 1);
  EXPECT_EQ(quantile(sorted, 0.5), 4);
  EXPECT_EQ(quantile(sorted, 0.625), 6);
  EXPECT_EQ(quantile(sorted, 1), 16);
  EXPECT_EQ(quantile(llvm::ArrayRef(sorted, 1), 0.99), 1);
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

namespace {

/// Programs that print files.
class ComparisonStreams : public ::testing::Test {
protected:
  static constexpr size_t windows = 2, context = 4, rows = 1, vocabulary = 3;

  static std::string bytes(const void *data, size_t size) {
    return {static_cast<const char *>(data), size};
  }
  static std::string header() {
    return nlohmann::json{{"format", "baton-logits"},
                          {"version", 1},
                          {"vocabulary", vocabulary},
                          {"windows", windows},
                          {"context", context},
                          {"first", 2},
                          {"rows", rows}}
               .dump() +
           "\n";
  }
  static std::string tokens(std::vector<int32_t> values) {
    return bytes(values.data(), values.size() * sizeof(int32_t));
  }
  static std::string logits(std::vector<float> values) {
    return bytes(values.data(), values.size() * sizeof(float));
  }

  llvm::Expected<LogitStream> stream(const std::string &name,
                                     const std::string &text,
                                     const std::string &then = "") {
    llvm::cantFail(scratch.write(name, text));
    return LogitStream::start(
        scratch, name + ".errors", name,
        {"/bin/sh", "-c", "cat " + scratch.path(name) + "; " + then});
  }

  llvm::Expected<Comparison> compared(const std::string &a,
                                      const std::string &b) {
    auto first = stream("first", a), second = stream("second", b);
    if (!first)
      return first.takeError();
    if (!second)
      return second.takeError();
    return compare(*first, &*second, [&](const Comparison &) { ++told; });
  }

  link::Scratch scratch = llvm::cantFail(link::Scratch::beside(
      ::testing::TempDir() + "comparison-" + std::to_string(getpid())));
  const std::string text = tokens({0, 1, 2, 1, 0, 2, 2, 0});
  int told = 0;
};

} // namespace

TEST_F(ComparisonStreams, AreComparedTokenByToken) {
  const float low = std::log(0.25f), high = std::log(0.5f);
  const std::string a =
      header() + text + logits({low, high, low, high, low, low});
  const std::string b =
      header() + text + logits({low, high, low, low, low, high});
  auto found = compared(a, b);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(told, 2);
  EXPECT_EQ(found->windows, 2u);
  EXPECT_EQ(found->tokens, 2u);
  // The tokens that came are 1 and 0.
  EXPECT_NEAR(found->loss.value, std::log(2.0), 1e-6);
  ASSERT_TRUE(found->other);
  EXPECT_NEAR(found->other->loss.value, 1.5 * std::log(2.0), 1e-6);
  EXPECT_NEAR(found->other->excess.value, 0.5 * std::log(2.0), 1e-6);
  EXPECT_NEAR(found->other->divergence.value, 0.125 * std::log(2.0), 1e-6);
  EXPECT_NEAR(found->other->mostDivergence, 0.25 * std::log(2.0), 1e-6);
  EXPECT_EQ(found->other->agreement.value, 0.5);
}

TEST_F(ComparisonStreams, OfOneModelAreTheSame) {
  const std::string one = header() + text + logits({1, 2, 3, 6, 5, 4});
  auto found = compared(one, one);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->other->divergence.value, 0);
  EXPECT_EQ(found->other->mostDivergence, 0);
  EXPECT_EQ(found->other->agreement.value, 1);
  EXPECT_EQ(found->other->agreement.margin, 0);
  EXPECT_EQ(found->other->excess.value, 0);
}

TEST_F(ComparisonStreams, WhatDoesNotGoTogetherIsRefusedByName) {
  auto problem = [&](const std::string &a, const std::string &b) {
    auto found = compared(a, b);
    return found ? "" : llvm::toString(found.takeError());
  };
  const std::string rest = logits({1, 2, 3, 6, 5, 4});
  const std::string one = header() + text + rest;
  EXPECT_EQ(problem(one, header() + tokens({0, 1, 0, 1, 0, 2, 2, 0}) + rest),
            "second: makes other tokens of the text than the reference: token "
            "2 is 0 instead of 2; models of one tokenizer are compared");
  std::string wide = header();
  wide.replace(wide.find("\"vocabulary\":3"), 14, "\"vocabulary\":4");
  EXPECT_EQ(problem(one, wide + text + rest),
            "second: has a vocabulary of 4 tokens, and the reference one of 3; "
            "distributions of the same tokens are compared");
  EXPECT_EQ(
      problem(one, header() + text + logits({1, 2, std::nanf(""), 1, 2, 3})),
      "second: computes logits that are no numbers, in window 1");
  EXPECT_EQ(problem(one, "{}\n"),
            "second: does not write logits as this batonc reads them; compile "
            "it anew");
  EXPECT_EQ(problem(one, header() + text),
            "second: ended before all of its output was there");
}

TEST_F(ComparisonStreams, WhatAProgramSaysIsItsError) {
  auto found = stream("program", "", "echo 'error: no weights' >&2; exit 1");
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(llvm::toString(found.takeError()), "program: no weights");
  auto killed = stream("program", "", "kill -9 $$");
  ASSERT_FALSE(bool(killed));
  EXPECT_EQ(llvm::toString(killed.takeError()), "program: ended by signal 9");
  auto missing = LogitStream::start(scratch, "x", "there", {"/not/there"});
  ASSERT_FALSE(bool(missing));
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "there: cannot be run: No such file or directory");
}
