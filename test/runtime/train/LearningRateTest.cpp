//===- LearningRateTest.cpp - schedules at their corners -----------------===//

#include "runtime/train/learning_rate.h"

#include "test/runtime/weights/fixture.h"

#include <cmath>
#include <limits>

namespace baton::test {
namespace {

LearningRateSchedule schedule(ScheduleKind kind, uint64_t warm_up = 10) {
  return {kind, 0.5, 110, warm_up, usual_final_fraction(kind)};
}

TEST(LearningRate, WarmsUp) {
  for (ScheduleKind kind :
       {ScheduleKind::Constant, ScheduleKind::Linear, ScheduleKind::Cosine}) {
    for (uint64_t step = 0; step < 10; ++step)
      EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), step),
                       0.5 * (double(step) + 1) / 11);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 10), 0.5);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind, 0), 0), 0.5);
  }
}

TEST(LearningRate, Falls) {
  LearningRateSchedule constant = schedule(ScheduleKind::Constant);
  EXPECT_DOUBLE_EQ(learning_rate(constant, 60), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(constant, 1000), 0.5);

  LearningRateSchedule linear = schedule(ScheduleKind::Linear);
  EXPECT_DOUBLE_EQ(learning_rate(linear, 60), 0.25);
  EXPECT_NEAR(learning_rate(linear, 109), 0.005, 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate(linear, 110), 0);
  EXPECT_DOUBLE_EQ(learning_rate(linear, ~uint64_t(0)), 0);
  linear.final_fraction = 0.2;
  EXPECT_DOUBLE_EQ(learning_rate(linear, 60), 0.3);
  EXPECT_DOUBLE_EQ(learning_rate(linear, 110), 0.1);

  LearningRateSchedule cosine = schedule(ScheduleKind::Cosine);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 60), 0.5 * 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 35),
                   0.5 * (0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2));
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 110), 0.05);
  for (uint64_t step = 10; step < 120; ++step)
    EXPECT_LE(learning_rate(cosine, step + 1), learning_rate(cosine, step));
}

TEST(LearningRate, OnlyWarmUp) {
  LearningRateSchedule all = schedule(ScheduleKind::Cosine, 110);
  check(all);
  EXPECT_DOUBLE_EQ(learning_rate(all, 109), 0.5 * 110 / 111);
  EXPECT_DOUBLE_EQ(learning_rate(all, 110), 0.05);
}

TEST(LearningRate, Names) {
  EXPECT_EQ(parse_schedule("constant"), ScheduleKind::Constant);
  EXPECT_EQ(parse_schedule("linear"), ScheduleKind::Linear);
  EXPECT_EQ(parse_schedule("cosine"), ScheduleKind::Cosine);
  expect_contains(error_of([] { parse_schedule("Cosine"); }),
                  "--lr-schedule: \"Cosine\"");
  expect_contains(error_of([] { parse_schedule("constat"); }),
                  "linear or cosine; did you mean constant?");
}

TEST(LearningRate, Refuses) {
  auto refusal = [](void (*change)(LearningRateSchedule &)) {
    LearningRateSchedule changed = schedule(ScheduleKind::Linear);
    check(changed);
    change(changed);
    return error_of([&] { check(changed); });
  };
  using Schedule = LearningRateSchedule;
  expect_contains(refusal([](Schedule &it) { it.warm_up = 111; }),
                  "--warmup: 111 steps are more than");
  expect_contains(refusal([](Schedule &it) { it.steps = 0; }), "--steps");
  for (auto change :
       {+[](Schedule &it) { it.peak = 0; }, +[](Schedule &it) { it.peak = -1; },
        +[](Schedule &it) { it.peak = std::nan(""); },
        +[](Schedule &it) {
          it.peak = std::numeric_limits<double>::infinity();
        }})
    expect_contains(refusal(change), "--lr");
  for (auto change : {+[](Schedule &it) { it.final_fraction = -0.1; },
                      +[](Schedule &it) { it.final_fraction = 1.1; },
                      +[](Schedule &it) { it.final_fraction = std::nan(""); },
                      +[](Schedule &it) { it.kind = ScheduleKind::Constant; }})
    expect_contains(refusal(change), "--final-fraction");
}

} // namespace
} // namespace baton::test
