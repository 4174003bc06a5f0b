//===- SampleTwins.cpp - tokens drawn from logits -------------------------===//

#include "test/codegen/cpu/library/SampleProblem.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton;
using namespace baton::test;

TWIN_TEST(baton_task_sample) {
  Random random(6);
  int number = 0;
  for (int64_t vocabulary : {1, 9, 131, 1000})
    for (const SamplingCase &each : sampling_cases()) {
      // The emulation takes long for many tokens: they have some of the cases.
      if (++number % 4 && vocabulary == 1000)
        continue;
      SampleProblem problem(random, 13, vocabulary, 3, vocabulary == 131);
      for (BatonSampling &wanted : problem.sampling)
        each.set(wanted);
      problem.add_changes(random);
      problem.sampling[0].changes = 0;
      problem.sampling[1].wanted = BATON_WANTED_LOGPROBS;
      problem.sampling[1].likely = random.bits() % 21;
      problem.sampling[2].wanted = BATON_WANTED_NOTHING;
      problem.score(random, 4);
      problem.score(random, 5);
      problem.add_masks(random, vocabulary == 131 ? 2 : 30);
      for (size_t row : {0, 3, 4})
        problem.sampling[row].masked = 0;
      // More of the most likely ones than a mask leaves.
      for (size_t row : {6, 7}) {
        problem.sampling[row].wanted = BATON_WANTED_LOGPROBS;
        problem.sampling[row].likely = BATON_MOST_LIKELY;
      }
      problem.sampling[7].changes = 0;
      std::fill_n(problem.mask_of(8), problem.line_words, 0u);
      for (size_t row : {9, 10, 11, 12})
        problem.list(random, row, /*only=*/row > 10);
      if (vocabulary > 1)
        for (int64_t row : {3, 5, 10, 12})
          problem.logits.row(row)[vocabulary / 2] = std::nanf("");
      twin.agree([&](auto body) {
        // Tokens as numbers: as bits some would be NaNs.
        std::vector<float> words;
        const std::vector<BatonDraw> draws = problem.draw(body);
        for (size_t row = 0; row < draws.size(); ++row) {
          const BatonDraw &draw = draws[row];
          words.push_back(static_cast<float>(draw.drawn.token));
          words.push_back(draw.drawn.logprob);
          for (const BatonLogprob &likely : draw.likely) {
            words.push_back(static_cast<float>(likely.token));
            words.push_back(likely.logprob);
          }
          if (row > 8 && draw.drawn.token >= 0)
            words.insert(words.end(), draw.listed,
                         draw.listed + problem.sampling[row].changes);
        }
        return words;
      });
      if (::testing::Test::HasFatalFailure())
        return;
    }
}
