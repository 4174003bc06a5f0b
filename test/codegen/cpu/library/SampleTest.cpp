//===- SampleTest.cpp - tokens drawn from logits --------------------------===//

#include "test/codegen/cpu/library/SampleProblem.h"

#include <limits>
#include <map>

using namespace baton;
using namespace baton::test;

namespace {

void expect_draws(const SampleProblem &problem) {
  const std::vector<BatonDraw> draws = problem.draw(baton_task_sample);
  for (size_t row = 0; row < draws.size(); ++row) {
    SCOPED_TRACE("row " + std::to_string(row));
    const BatonDraw expected = problem.expected(row);
    ASSERT_EQ(draws[row].drawn.token, expected.drawn.token);
    EXPECT_NEAR(draws[row].drawn.logprob, expected.drawn.logprob, 1e-5);
    for (int i = 0; i < BATON_MOST_LIKELY; ++i) {
      ASSERT_EQ(draws[row].likely[i].token, expected.likely[i].token) << i;
      EXPECT_NEAR(draws[row].likely[i].logprob, expected.likely[i].logprob,
                  1e-5);
    }
    // Logits are as they are; of a row with a fault nothing is said.
    const BatonSampling &wanted = problem.sampling[row];
    const bool lists =
        wanted.wanted >= BATON_WANTED_LISTED && expected.drawn.token >= 0;
    for (uint32_t i = 0; lists && i < wanted.changes; ++i)
      if (wanted.wanted == BATON_WANTED_LISTED_ONLY)
        EXPECT_EQ(draws[row].listed[i], expected.listed[i]) << i;
      else
        EXPECT_NEAR(draws[row].listed[i], expected.listed[i], 1e-5) << i;
  }
}

} // namespace

TEST(Sample, DrawsWhatTheHostDraws) {
  Random random(1);
  for (int64_t vocabulary : {1, 2, 7, 8, 17, 131, 1000, 5003})
    for (float deviation : {0.1f, 3.0f, 30.0f}) {
      for (const SamplingCase &each : sampling_cases())
        for (bool coarse : {false, true}) {
          SCOPED_TRACE(std::to_string(vocabulary) + " tokens, deviation " +
                       std::to_string(deviation) + ", temperature " +
                       std::to_string(each.temperature) + ", top_k " +
                       std::to_string(each.top_k) + ", top_p " +
                       std::to_string(each.top_p) + ", min_p " +
                       std::to_string(each.min_p));
          SampleProblem problem(random, 3, vocabulary, deviation, coarse);
          for (BatonSampling &wanted : problem.sampling)
            each.set(wanted);
          expect_draws(problem);
          problem.add_changes(random);
          problem.sampling[1].wanted = BATON_WANTED_LOGPROBS;
          problem.sampling[1].likely = random.bits() % 21;
          problem.sampling[2].wanted = BATON_WANTED_NOTHING;
          if (random.bits() % 2)
            problem.add_masks(random, coarse ? 2 : 40);
          expect_draws(problem);
          problem.score(random, 0);
          problem.score(random, 2);
          expect_draws(problem);
          problem.list(random, 0, /*only=*/false);
          problem.list(random, 1, /*only=*/true);
          expect_draws(problem);
          if (HasFatalFailure())
            return;
        }
    }
}

/// Each token as often as the softmax of what is left says.
TEST(Sample, FollowsTheDistribution) {
  Random random(2);
  constexpr int64_t rows = 20000, vocabulary = 50;
  SampleProblem problem(random, rows, vocabulary, 1.5f);
  for (int64_t row = 1; row < rows; ++row)
    std::copy_n(problem.logits.row(0), vocabulary, problem.logits.row(row));
  const float *logits = problem.logits.row(0);
  std::vector<int64_t> order(vocabulary);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return logits[a] > logits[b]; });
  for (const SamplingCase &each : {SamplingCase{1, 0, 1, 0},
                                   {0.7, 12, 1, 0},
                                   {1.3, 0, 0.8, 0},
                                   {1, 20, 0.9, 0.1}}) {
    for (size_t row = 0; row < rows; ++row) {
      each.set(problem.sampling[row]);
      problem.sampling[row].seed = row % 100;
      problem.sampling[row].position = row / 100;
    }
    std::map<int64_t, double> expected;
    double total = 0, among = 0;
    auto weight = [&](int64_t token) {
      return std::exp((logits[token] - logits[order[0]]) / each.temperature);
    };
    const size_t most = each.top_k ? each.top_k : vocabulary;
    for (size_t i = 0; i < most; ++i)
      among += weight(order[i]);
    for (size_t i = 0; i < most && total < each.top_p * among; ++i) {
      if (weight(order[i]) < each.min_p)
        break;
      total += expected[order[i]] = weight(order[i]);
    }
    std::map<int64_t, double> seen;
    for (const BatonDraw &draw : problem.draw(baton_task_sample))
      ++seen[draw.drawn.token];
    double chi_square = 0;
    for (auto [token, share] : expected) {
      const double count = share / total * rows;
      chi_square += (seen[token] - count) * (seen[token] - count) / count;
      seen.erase(token);
    }
    EXPECT_TRUE(seen.empty()) << "token " << seen.begin()->first;
    // Its mean is the degrees of freedom, its variance twice that: this is six
    // standard deviations above.
    const double freedom = double(expected.size()) - 1;
    EXPECT_LT(chi_square, freedom + 6 * std::sqrt(2 * freedom));
  }
}

TEST(Sample, LogitsThatAreNotFinite) {
  Random random(3);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (float wrong : {infinity, -infinity, std::nanf("")})
    for (int64_t at : {0, 7, 15, 130}) {
      SampleProblem problem(random, 2, 131, 2);
      for (BatonSampling &wanted : problem.sampling)
        wanted.wanted = BATON_WANTED_LOGPROBS;
      problem.logits.row(1)[at] = wrong;
      auto draws = problem.draw(baton_task_sample);
      EXPECT_GE(draws[0].drawn.token, 0);
      EXPECT_EQ(draws[1].drawn.token, BATON_NOT_FINITE);
      const BatonSampling before = problem.sampling[1];
      problem.score(random, 1);
      EXPECT_EQ(problem.draw(baton_task_sample)[1].drawn.token,
                BATON_NOT_FINITE);
      problem.sampling[1] = before;
      // A bias that overflows.
      problem.logits.row(1)[at] = 3e38f;
      problem.sampling[1].changes = 1;
      problem.changes[SampleProblem::line_changes] = {static_cast<int32_t>(at),
                                                      0, 3e38f};
      draws = problem.draw(baton_task_sample);
      EXPECT_EQ(draws[1].drawn.token, BATON_NOT_FINITE);
    }
}

/// Of a row that wants listed tokens only others may be anything; else they may
/// not.
TEST(Sample, OtherLogitsThanThoseListedAreNotLookedAt) {
  Random random(9);
  for (int64_t vocabulary : {5, 16, 131, 1000}) {
    SampleProblem problem(random, 2, vocabulary, 3);
    problem.list(random, 0, /*only=*/true);
    problem.list(random, 1, /*only=*/false);
    expect_draws(problem);
    const uint32_t count = problem.sampling[0].changes;
    for (int64_t row : {0, 1})
      for (int64_t token = 0; token < vocabulary; ++token) {
        const BatonChange *line = &problem.changes[0];
        if (std::none_of(line, line + count, [&](const BatonChange &listed) {
              return listed.token == token;
            }))
          problem.logits.row(row)[token] = std::nanf("");
      }
    const std::vector<BatonDraw> draws = problem.draw(baton_task_sample);
    EXPECT_GE(draws[0].drawn.token, 0);
    expect_draws(problem);
    problem.logits.row(0)[problem.changes[count - 1].token] =
        std::numeric_limits<float>::infinity();
    EXPECT_EQ(problem.draw(baton_task_sample)[0].drawn.token, BATON_NOT_FINITE);
  }
}

/// Of what a mask allows as of a vocabulary that has no other tokens.
TEST(Sample, MaskedTokensHaveNoProbability) {
  Random random(6);
  constexpr int64_t vocabulary = 1003;
  SampleProblem problem(random, 1, vocabulary, 3);
  BatonSampling &wanted = problem.sampling[0];
  wanted.wanted = BATON_WANTED_LOGPROBS;
  wanted.likely = BATON_MOST_LIKELY;
  wanted.masked = 1;
  const std::vector<size_t> allowed = {0, 31, 32, 500, 1002};
  SampleProblem small(random, 1, int64_t(allowed.size()), 3);
  for (size_t i = 0; i < allowed.size(); ++i) {
    problem.mask_of(0)[allowed[i] / 32] |= uint32_t(1) << allowed[i] % 32;
    small.logits.row(0)[i] = problem.logits.row(0)[allowed[i]];
  }
  // The most likely one of all is not among them.
  problem.logits.row(0)[501] = 50;
  for (const SamplingCase &each : sampling_cases()) {
    each.set(wanted);
    small.sampling[0] = wanted;
    small.sampling[0].masked = 0;
    const BatonDraw draw = problem.draw(baton_task_sample).front(),
                    expected = small.draw(baton_task_sample).front();
    auto expect_same = [&](BatonLogprob one, BatonLogprob other) {
      ASSERT_GE(other.token, 0);
      EXPECT_EQ(one.token, int32_t(allowed[size_t(other.token)]));
      EXPECT_NEAR(one.logprob, other.logprob, 1e-5);
    };
    // Top-k that leaves all of the small one draws in another order.
    if (each.top_k < 2 || each.temperature == 0)
      expect_same(draw.drawn, expected.drawn);
    else
      EXPECT_TRUE(std::ranges::count(allowed, size_t(draw.drawn.token)));
    for (size_t i = 0; i < allowed.size(); ++i)
      expect_same(draw.likely[i], expected.likely[i]);
    for (size_t i = allowed.size(); i < BATON_MOST_LIKELY; ++i)
      EXPECT_EQ(draw.likely[i].token, BATON_NOT_DRAWN);
  }
}

/// Also those of tokens that may not be drawn, and nothing is drawn of none.
TEST(Sample, MasksHideNoFault) {
  Random random(7);
  for (bool fault : {false, true}) {
    SampleProblem problem(random, 2, 131, 2);
    problem.add_masks(random, 1000);
    problem.sampling[0].wanted = BATON_WANTED_LOGPROBS;
    std::fill_n(problem.mask_of(0), 4, 0u);
    problem.mask_of(0)[4] = ~uint32_t(7);
    if (fault)
      problem.logits.row(0)[130] = -std::numeric_limits<float>::infinity();
    const std::vector<BatonDraw> draws = problem.draw(baton_task_sample);
    EXPECT_EQ(draws[0].drawn.token, fault ? BATON_NOT_FINITE : BATON_NOT_DRAWN);
    EXPECT_EQ(draws[0].likely[0].token, BATON_NOT_DRAWN);
    EXPECT_GE(draws[1].drawn.token, 0);
  }
}

/// A row without one reads none.
TEST(Sample, NoMaskIsRead) {
  Random random(8);
  SampleProblem problem(random, 2, 500, 2);
  for (BatonSampling &wanted : problem.sampling)
    wanted.line = 1u << 30;
  EXPECT_GE(problem.draw(baton_task_sample)[1].drawn.token, 0);
}

TEST(Sample, ExtremeTemperatures) {
  Random random(4);
  for (double temperature : {1e-310, 1e-300, 1e-3, 1e300})
    for (const SamplingCase &each : sampling_cases()) {
      SampleProblem problem(random, 2, 500, 1);
      for (BatonSampling &wanted : problem.sampling) {
        each.set(wanted);
        wanted.temperature = temperature;
      }
      for (int64_t token = 0; token < 500; ++token)
        problem.logits.row(1)[token] = -3e38f;
      problem.logits.row(1)[3] = problem.logits.row(1)[400] = 3e38f;
      expect_draws(problem);
      problem.add_masks(random, 3);
      problem.mask_of(1)[0] &= ~8u;
      expect_draws(problem);
      if (HasFatalFailure())
        return;
    }
}

/// A token that is none changes nothing.
TEST(Sample, ChangesOutsideTheVocabulary) {
  Random random(5);
  SampleProblem problem(random, 1, 100, 2);
  const BatonDraw expected = problem.draw(baton_task_sample).front();
  problem.sampling[0].changes = 2;
  problem.changes[0] = {-1, 3, 100};
  problem.changes[1] = {100, 3, 100};
  EXPECT_EQ(problem.draw(baton_task_sample).front().drawn.token,
            expected.drawn.token);
}
