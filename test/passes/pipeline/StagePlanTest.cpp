//===- StagePlanTest.cpp - plans of stages against trying everything ------===//

#include "passes/pipeline/StagePlan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace baton::pipeline;

namespace {

/// What layers take on devices of a kind: as many as share the work, and part
/// of it none can share.
struct Layers {
  std::vector<double> seconds, bytes, activations;
  std::vector<double> speeds;
  double whole = 0.1;

  StageCost operator()(int begin, int end, const Submesh &submesh) const {
    StageCost cost;
    for (int layer = begin; layer < end; ++layer) {
      cost.seconds += seconds[layer] / speeds[submesh.kind] *
                      (whole + (1 - whole) / submesh.devices);
      cost.bytes += bytes[layer] / submesh.devices;
      cost.microbatchBytes += activations[layer] / submesh.devices;
    }
    return cost;
  }
};

/// Every cut, on every submesh.
void tryAll(const StageRequest &request, const StageCosts &costs,
            std::vector<PlannedStage> &stages, std::vector<int> &left,
            int begin, std::optional<StagePlan> &best) {
  if (begin == request.layers) {
    double seconds = secondsOf(stages, request.microbatches);
    if (fits(stages, request.kinds, request.microbatches) &&
        (!best || seconds < best->seconds))
      best = StagePlan{stages, seconds};
    return;
  }
  for (const Submesh &submesh : submeshesOf(request.kinds)) {
    if (left[submesh.kind] < submesh.devices ||
        (request.alike && !stages.empty() &&
         stages.front().submesh.devices != submesh.devices))
      continue;
    left[submesh.kind] -= submesh.devices;
    for (int end = begin + 1; end <= request.layers; ++end) {
      stages.push_back({begin, end, submesh, costs(begin, end, submesh)});
      tryAll(request, costs, stages, left, end, best);
      stages.pop_back();
    }
    left[submesh.kind] += submesh.devices;
  }
}

std::optional<StagePlan> tryAll(const StageRequest &request,
                                const StageCosts &costs) {
  std::vector<PlannedStage> stages;
  std::vector<int> left;
  for (const DeviceKind &kind : request.kinds)
    left.push_back(kind.devices());
  std::optional<StagePlan> best;
  tryAll(request, costs, stages, left, 0, best);
  return best;
}

TEST(StagePlan, TakesAsLongAsTheBestOfAll) {
  std::mt19937 random(3);
  auto number = [&](int low, int high) {
    return low + int(random() % unsigned(high - low + 1));
  };
  int found = 0, none = 0, several = 0;
  for (int draw = 0; draw < 120; ++draw) {
    SCOPED_TRACE(draw);
    const bool twoKinds = draw % 2;
    StageRequest request;
    request.layers = number(1, twoKinds ? 6 : 10);
    request.microbatches = number(1, 8);
    request.alike = draw % 5 == 0;
    request.kinds.push_back(
        {"a", twoKinds ? 1 : number(1, 2), 2, double(number(2, 24))});
    if (twoKinds)
      request.kinds.push_back({"b", 1, number(1, 2), double(number(2, 24))});
    Layers layers;
    for (int i = 0; i < request.layers; ++i) {
      layers.seconds.push_back(number(1, 9));
      layers.bytes.push_back(number(1, 4));
      layers.activations.push_back(number(0, 2));
    }
    layers.speeds = {1, 1.0 + number(0, 3)};
    auto expected = tryAll(request, layers);
    auto plan = planStages(request, layers);
    ASSERT_EQ(plan.has_value(), expected.has_value());
    if (!plan) {
      ++none;
      continue;
    }
    ++found;
    several += plan->stages.size() > 1;
    EXPECT_NEAR(plan->seconds, expected->seconds, 1e-9);
    EXPECT_NEAR(plan->seconds, secondsOf(plan->stages, request.microbatches),
                1e-9);
    EXPECT_TRUE(fits(plan->stages, request.kinds, request.microbatches));
    int at = 0;
    for (const PlannedStage &stage : plan->stages) {
      EXPECT_EQ(stage.begin, at);
      at = stage.end;
    }
    EXPECT_EQ(at, request.layers);
  }
  EXPECT_GT(found, 60);
  EXPECT_GT(none, 5);
  EXPECT_GT(several, 30);
}

/// Eight alike layers, two fast devices and two of half their speed: a step of
/// three or four stages with more layers on fast devices beats any plan of one
/// kind, and any even cut.
TEST(StagePlan, TakesDevicesOfTwoKinds) {
  Layers layers{std::vector<double>(12, 1.0),
                std::vector<double>(12, 1.0),
                std::vector<double>(12, 0.0),
                {2, 1},
                0.5};
  StageRequest both{12, 16, {{"fast", 1, 2, 100}, {"slow", 1, 2, 100}}, false};
  auto plan = planStages(both, layers);
  ASSERT_TRUE(plan);
  std::vector<int> counts(2);
  for (const PlannedStage &stage : plan->stages)
    counts[stage.submesh.kind] += stage.end - stage.begin;
  // Twice as fast, twice as many layers.
  EXPECT_EQ(counts, (std::vector<int>{8, 4}));
  EXPECT_EQ(plan->stages.size(), 4u);
  for (int kind : {0, 1}) {
    StageRequest one{12, 16, {both.kinds[kind]}, false};
    Layers alone = layers;
    alone.speeds = {layers.speeds[kind]};
    auto homogeneous = planStages(one, alone);
    ASSERT_TRUE(homogeneous);
    EXPECT_LT(plan->seconds, 0.75 * homogeneous->seconds);
  }
}

/// Memory wants more stages than time does: the first one holds as many
/// microbatches as there are stages.
TEST(StagePlan, CountsMicrobatchesOnTheirWay) {
  Layers layers{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1}, 0};
  StageRequest request{4, 8, {{"a", 1, 4, 0}}, false};
  for (double memory : {1.0, 1.5, 2.0, 3.0, 4.0, 6.0}) {
    request.kinds[0].memory = memory;
    auto expected = tryAll(request, layers);
    auto plan = planStages(request, layers);
    ASSERT_EQ(plan.has_value(), expected.has_value());
    if (plan) {
      EXPECT_NEAR(plan->seconds, expected->seconds, 1e-12);
    }
  }
}

/// An interrupted search has the best so far.
TEST(StagePlan, EndsWhenAsked) {
  Layers layers{
      {1, 2, 3, 4, 5, 6}, {1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0}, {1}, 0.2};
  StageRequest request{6, 4, {{"a", 1, 4, 100}}, false};
  bool hadSome = false;
  auto some = planStages(request, layers, [&](const auto &best) {
    hadSome = best.has_value();
    return !hadSome;
  });
  ASSERT_TRUE(hadSome);
  ASSERT_TRUE(some);
  EXPECT_GE(some->seconds, planStages(request, layers)->seconds);
}

} // namespace
