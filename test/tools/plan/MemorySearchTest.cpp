//===- MemorySearchTest.cpp - plans under a cap on memory -----------------===//

#include "tools/plan/memory_search.h"

#include "test/runtime/execute/tiered_program.h"

#include <gtest/gtest.h>

namespace baton::plan {
namespace {

constexpr int64_t chunk_floats = TieredLayers::chunk_bytes / 4;

MemoryProgram program(const char *recompute, int64_t saved, double backward,
                      uint64_t fixed) {
  MemoryProgram made;
  made.recompute = recompute;
  made.layers = *TieredLayers::parse(
      test::tiered_program(9, 5 * chunk_floats, saved * chunk_floats / 8, 1),
      {8, 0, 1, 0});
  made.times = {1e-3, backward, 2e-3};
  made.fixed = fixed;
  return made;
}

TEST(MemorySearch, TimesAStep) {
  const MemoryProgram made = program("none", 4, 2e-3, 0);
  // Of nine layers one at a time: ten chunks, and four of saved values.
  TierRates rates;
  rates.mapped = double(TieredLayers::chunk_bytes) * 1e4;
  MemoryPlan plan = plan_of(made.layers, made.times, {0, 9}, 1, rates);
  EXPECT_DOUBLE_EQ(plan.computation, 2e-3 + 9 * 3e-3);
  EXPECT_DOUBLE_EQ(plan.forward, 9 * 9 * 1e-4);
  EXPECT_DOUBLE_EQ(plan.backward, (8 * 14 + 5) * 1e-4);
  EXPECT_DOUBLE_EQ(plan.update, 9 * 25 * 1e-4);
  // From the disk: the first one's read, and of others what is longer than the
  // computation of the layer before.
  rates.uncached = 1;
  rates.disk = double(TieredLayers::chunk_bytes) * 6e3;
  plan = plan_of(made.layers, made.times, {0, 9}, 1, rates);
  EXPECT_DOUBLE_EQ(plan.forward, 9 * 9 * 1e-4 + 1.5e-3 + 8 * (1.5e-3 - 1e-3));
  EXPECT_NEAR(plan.backward,
              (8 * 14 + 5) * 1e-4 + 5. / 6e3 + 8 * (14. / 6e3 - 2e-3), 1e-12);
  // Nothing moves where all stays.
  EXPECT_EQ(plan_of(made.layers, made.times, {9, 0}, 1, rates).seconds(),
            plan.computation);
}

TEST(MemorySearch, IsTheBestOfAll) {
  // Repeating takes time, and saves values.
  const std::vector<MemoryProgram> programs = {
      program("none", 40, 2e-3, 1000), program("selective", 24, 2.1e-3, 2000),
      program("full", 2, 3e-3, 3000)};
  size_t refused = 0, different = 0;
  std::string before;
  for (uint64_t chunks = 40; chunks < 900; chunks += 23)
    for (double uncached : {0., .5}) {
      MemorySearchOptions options;
      options.programs = programs;
      options.most = chunks * TieredLayers::chunk_bytes;
      options.rates = {double(TieredLayers::chunk_bytes) * 3e4,
                       double(TieredLayers::chunk_bytes) * 2e4, uncached};
      const MemorySearchResult result = search_memory(options);
      std::optional<MemoryPlan> best;
      uint64_t all = 0;
      for (size_t number = 0; number < programs.size(); ++number)
        for (uint32_t slots = 1; slots <= 4; ++slots)
          for (uint32_t persistent = 0; persistent <= 9; ++persistent)
            for (uint32_t swapped = 0; swapped <= 9; ++swapped) {
              ++all;
              TieredLayers layers = programs[number].layers;
              layers.set_slots(slots);
              if (programs[number].fixed +
                      layers.peak({persistent, swapped}, 1) >
                  options.most)
                continue;
              MemoryPlan plan =
                  plan_of(layers, programs[number].times, {persistent, swapped},
                          1, options.rates);
              if (!best || plan.seconds() < best->seconds())
                best = plan;
            }
      ASSERT_EQ(result.best.has_value(), best.has_value()) << chunks;
      EXPECT_LE(result.timed, all);
      if (!best) {
        ++refused;
        continue;
      }
      EXPECT_EQ(result.best->seconds(), best->seconds()) << chunks;
      const std::string found = programs[result.best->program].recompute;
      different += found != before;
      before = found;
      ASSERT_EQ(result.of_program.size(), programs.size());
    }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(different, 1u);
}

} // namespace
} // namespace baton::plan
