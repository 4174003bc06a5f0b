//===- SampleTimeTest.cpp - what masks cost -------------------------------===//

#include "test/codegen/cpu/library/SampleProblem.h"

#include <chrono>
#include <cstdio>

using namespace baton;
using namespace baton::test;

namespace {

/// Microseconds, the best of many.
double time_of(const SampleProblem &problem) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i)
    problem.draw([&](auto... arguments) {
      const auto begin = std::chrono::steady_clock::now();
      baton_task_sample(arguments...);
      const std::chrono::duration<double, std::micro> time =
          std::chrono::steady_clock::now() - begin;
      best = std::min(best, time.count());
    });
  return best;
}

} // namespace

/// Those that allow half of all tokens, or few.
TEST(Sample, MasksCostLittle) {
  constexpr int64_t vocabulary = 131072;
  Random random(9);
  for (const SamplingCase &each : {SamplingCase{0, 0, 1, 0},
                                   {1, 0, 1, 0},
                                   {1, 40, 0.95, 0},
                                   {1, 0, 0.95, 0}}) {
    SampleProblem problem(random, 1, vocabulary, 3);
    each.set(problem.sampling[0]);
    const double without = time_of(problem);
    std::printf("temperature %.0f, top_k %2.0f, top_p %.2f: %4.0f us",
                each.temperature, double(each.top_k), each.top_p, without);
    for (uint32_t one_of : {2, 1000}) {
      problem.add_masks(random, one_of);
      const double masked = time_of(problem);
      std::printf(", with 1 of %u tokens %4.0f us", one_of, masked);
      // Far more than seen, as others share the machine.
      EXPECT_LT(masked, 5 * without + 100);
    }
    std::printf("\n");
  }
}
