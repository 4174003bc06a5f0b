//===- UndisturbedTest.cpp - steps without their disturbances ------------===//

#include "runtime/trace/undisturbed.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

using namespace baton;

TEST(UndisturbedTimes, LeaveOutWhatFewLayersSuffer) {
  constexpr uint32_t prompt = 5, steps = 4, layers = 20;
  TraceRecorder recorder(2);
  auto start = std::chrono::steady_clock::now();
  for (uint32_t step = 0; step < steps; ++step) {
    bool is_prompt = step == 0;
    recorder.record_step(is_prompt ? prompt : 1,
                         is_prompt ? 0 : prompt + step - 1, 1);
    uint64_t before = recorder.steps().back().begin;
    recorder.record(0, step, 0, 0, 0, before, before);
    before = recorder.records()[0].back().end;
    for (uint32_t layer = 0; layer < layers; ++layer) {
      if (layer % 4 == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (unsigned worker : {0, 1})
        recorder.record(worker, step, 1, layer, worker, before, before);
      before = recorder.records()[1].back().end;
    }
  }
  std::chrono::duration<double> total =
      std::chrono::steady_clock::now() - start;
  UndisturbedTimes times = undisturbed_times(recorder, {0, 1}, prompt);
  EXPECT_GT(times.prefill, 0);
  EXPECT_GT(times.decode, 0);
  // Every step slept in five of its layers.
  EXPECT_LT(times.prefill + (steps - 1) * times.decode, total.count());
  EXPECT_EQ(times.decode_positions, prompt + 1);
}

TEST(UndisturbedTimes, AreNothingWithoutTasks) {
  TraceRecorder recorder(1);
  recorder.record_step(3, 0, 1);
  UndisturbedTimes times = undisturbed_times(recorder, {0}, 3);
  EXPECT_EQ(times.prefill, 0);
  EXPECT_EQ(times.decode, 0);
}
