//===- ChoicesTest.cpp - integer programs against trying everything -------===//

#include "passes/planning/Choices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace baton::planning;

namespace {

/// Up to 8 ops of up to 4 options, each read by some of those behind it.
ChoiceProblem drawProblem(std::mt19937 &random) {
  auto number = [&](unsigned low, unsigned high) -> unsigned {
    return low + random() % (high - low + 1);
  };
  ChoiceProblem problem;
  const unsigned count = number(2, 8);
  for (unsigned i = 0; i < count; ++i) {
    Choice choice{"choice " + std::to_string(i), {}, {}};
    const unsigned options = number(1, 4);
    for (unsigned option = 0; option < options; ++option) {
      // Some can't be; costs are of very different sizes.
      choice.seconds.push_back(number(0, 15) == 0 ? kForbidden
                                                  : number(0, 20) * 1e-6);
      choice.bytes.push_back(number(0, 10) * 1e9);
    }
    problem.choices.push_back(choice);
  }
  for (unsigned from = 0; from + 1 < count; ++from) {
    Transfer transfer{from, {}, {}};
    const unsigned forms = number(1, 4), readers = number(1, 3);
    for (unsigned i = 0; i < readers; ++i) {
      Transfer::Reader reader{number(from + 1, count - 1), {}};
      for (size_t option = 0;
           option < problem.choices[reader.choice].seconds.size(); ++option)
        reader.form.push_back(number(0, forms - 1));
      transfer.readers.push_back(reader);
    }
    for (size_t option = 0; option < problem.choices[from].seconds.size();
         ++option) {
      std::vector<double> row;
      for (unsigned form = 0; form < forms; ++form)
        row.push_back(number(0, 15) == 0 ? kForbidden : number(0, 30) * 1e-6);
      transfer.seconds.push_back(row);
    }
    problem.transfers.push_back(transfer);
  }
  if (number(0, 1))
    problem.memory = number(0, 5 * count) * 1e9;
  return problem;
}

/// The least time that any options take, and least memory.
std::pair<double, double> tryAll(const ChoiceProblem &problem) {
  std::vector<unsigned> options(problem.choices.size());
  double seconds = kForbidden, bytes = kForbidden;
  for (bool more = true; more;) {
    double taken = secondsOf(problem, options);
    if (std::isfinite(taken)) {
      bytes = std::min(bytes, bytesOf(problem, options));
      if (bytesOf(problem, options) <= problem.memory)
        seconds = std::min(seconds, taken);
    }
    more = false;
    for (size_t i = 0; i < options.size() && !more; ++i) {
      more = ++options[i] < problem.choices[i].seconds.size();
      if (!more)
        options[i] = 0;
    }
  }
  return {seconds, bytes};
}

TEST(Choices, TakeAsLongAsTheBestOfAll) {
  std::mt19937 random(7);
  unsigned solved = 0, none = 0, bound = 0;
  for (int draw = 0; draw < 400; ++draw) {
    SCOPED_TRACE(draw);
    ChoiceProblem problem = drawProblem(random);
    auto [seconds, bytes] = tryAll(problem);
    auto options = solve(problem);
    ASSERT_EQ(options.has_value(), std::isfinite(seconds));
    auto smallest = solveForMemory(problem);
    ASSERT_EQ(smallest.has_value(), std::isfinite(bytes));
    if (smallest) {
      EXPECT_NEAR(bytesOf(problem, *smallest), bytes, 1);
    }
    if (!options) {
      ++none;
      continue;
    }
    ++solved;
    EXPECT_NEAR(secondsOf(problem, *options), seconds, 1e-12);
    EXPECT_LE(bytesOf(problem, *options), problem.memory);
    bound += bytes < bytesOf(problem, *options);
  }
  // Draws of every kind.
  EXPECT_GT(solved, 150u);
  EXPECT_GT(none, 20u);
  EXPECT_GT(bound, 50u);
}

/// A form is paid for once, however many read it.
TEST(Choices, ShareWhatSeveralRead) {
  ChoiceProblem problem;
  problem.choices = {
      {"value", {0, 5}, {}}, {"left", {0, 4}, {}}, {"right", {0, 4}, {}}};
  Transfer transfer{0, {{1, {1, 0}}, {2, {1, 0}}}, {{0, 6}, {0, 0}}};
  problem.transfers = {transfer};
  auto options = solve(problem);
  ASSERT_TRUE(options);
  // Bringing it once, for 6, is less than 8 without it; another place costs 5.
  EXPECT_EQ(secondsOf(problem, *options), 5);
  problem.choices[0].seconds[1] = 7;
  options = solve(problem);
  ASSERT_TRUE(options);
  EXPECT_EQ(secondsOf(problem, *options), 6);
}

} // namespace
