//===- PhaseTimesTest.cpp - where a traced run's time went ---------------===//

#include "runtime/trace/phase_times.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace baton;

namespace {

/// Records tasks at milliseconds after the recorder's construction.
class Tasks {
public:
  void add(TraceRecorder &recorder, unsigned worker, uint32_t phase,
           uint32_t iteration, uint64_t ready, uint64_t end) const {
    recorder.add(worker, {at(ready), at(ready), at(end), 0, phase, iteration});
  }

private:
  uint64_t at(uint64_t milliseconds) const {
    return start + milliseconds * 1000000;
  }
  uint64_t start = std::chrono::steady_clock::now().time_since_epoch().count();
};

} // namespace

TEST(PhaseTimes, AddUpToTheStep) {
  TraceRecorder recorder(2);
  recorder.record_step(4, 0, 1);
  Tasks tasks;
  // Phase 0, then twice phases 1 and 2, of which one ends while a task of the
  // phase before is still running.
  tasks.add(recorder, 0, 0, 0, 0, 100);
  tasks.add(recorder, 0, 1, 0, 100, 200);
  tasks.add(recorder, 1, 1, 0, 100, 300);
  tasks.add(recorder, 0, 2, 0, 200, 250);
  tasks.add(recorder, 1, 2, 0, 300, 400);
  tasks.add(recorder, 0, 1, 1, 400, 450);
  tasks.add(recorder, 1, 2, 1, 410, 440);
  PhaseTimes times = phase_times(recorder, {0, 1, 1}, 4);
  // The clocks of steps and of such tasks are not the same.
  EXPECT_NEAR(times.prefill[0], 0.100, 0.005);
  EXPECT_NEAR(times.prefill[1], 0.200 + 0.050, 0.005);
  EXPECT_NEAR(times.prefill[2], 0.100, 0.005);
  EXPECT_EQ(times.decode, std::vector<double>(3, 0.0));
  EXPECT_NEAR(phase_times(recorder, {0, 1, 1}, 0).decode[1], 0.250, 0.005);
}

TEST(PhaseTimes, CountALateTaskInItsOwnStep) {
  TraceRecorder recorder(1);
  uint32_t prompt = recorder.record_step(4, 0, 0);
  recorder.record_step(1, 4, 1);
  uint64_t begin = recorder.steps().back().begin + 1;
  recorder.record(0, prompt, 0, 0, 0, begin, begin);
  PhaseTimes times = phase_times(recorder, {0}, 4);
  EXPECT_GT(times.prefill[0], 0);
  EXPECT_EQ(times.decode[0], 0);
}

TEST(PhaseTimes, AreNothingWithoutTasks) {
  TraceRecorder recorder(1);
  recorder.record_step(3, 0, 1);
  EXPECT_EQ(phase_times(recorder, {0}, 3).prefill, std::vector<double>(1, 0.0));
}

TEST(StepTimes, TellEachIterationAndWhatIsBetween) {
  TraceRecorder recorder(2);
  recorder.record_step(4, 0, 1);
  Tasks tasks;
  tasks.add(recorder, 0, 0, 0, 0, 100);
  tasks.add(recorder, 1, 1, 0, 100, 300);
  tasks.add(recorder, 0, 1, 1, 300, 350);
  recorder.record_step(1, 4, 1);
  // Of another run.
  recorder.record_step(4, 0, 1);
  const std::vector<StepTimes> steps = step_times(recorder, {0, 1});
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].step.rows, 4u);
  ASSERT_EQ(steps[0].phases.size(), 2u);
  ASSERT_EQ(steps[0].phases[1].size(), 2u);
  EXPECT_NEAR(steps[0].phases[1][0], 0.200, 0.005);
  EXPECT_NEAR(steps[0].phases[1][1], 0.050, 0.005);
  EXPECT_NEAR(steps[0].seconds, 0.350, 0.005);
  EXPECT_TRUE(steps[0].border.has_value());
  EXPECT_FALSE(steps[1].border.has_value());
  EXPECT_FALSE(steps[2].border.has_value());
}
