//===- PerfettoTest.cpp - slices that viewers can place ------------------===//

#include "runtime/trace/perfetto.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace baton;

namespace {

int64_t nanoseconds(const nlohmann::json &microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

} // namespace

TEST(Perfetto, TasksThatFollowAtOnceDoNotOverlap) {
  constexpr unsigned tasks = 1000;
  TraceRecorder recorder(1);
  uint64_t begin = recorder.start();
  for (unsigned task = 0; task < tasks; ++task) {
    recorder.record(0, 0, 0, 0, task, begin, begin);
    begin = recorder.records()[0].back().end;
  }
  std::string text;
  write_perfetto(recorder, {{"phase", "segment", {}}}, {"program"}, {},
                 [&](const std::string &piece) { text += piece; });

  unsigned count = 0;
  int64_t end = 0;
  const auto trace = nlohmann::json::parse(text);
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    EXPECT_EQ(nanoseconds(event["ts"]), end) << event;
    end = nanoseconds(event["ts"]) + nanoseconds(event["dur"]);
    ++count;
  }
  EXPECT_EQ(count, tasks);
}

TEST(Perfetto, LayersOfIterations) {
  TraceRecorder recorder(1);
  for (uint32_t iteration : {0, 1})
    recorder.record(0, 0, 0, iteration, 0, recorder.start(), recorder.start());
  std::string text;
  write_perfetto(recorder, {{"phase", "segment", {7, 3}}}, {"program"}, {},
                 [&](const std::string &piece) { text += piece; });
  std::vector<std::pair<int, int>> found;
  const auto trace = nlohmann::json::parse(text);
  for (const auto &event : trace["traceEvents"])
    if (event.value("cat", "") == "task")
      found.emplace_back(event["args"]["iteration"], event["args"]["layer"]);
  EXPECT_EQ(found, (std::vector<std::pair<int, int>>{{0, 7}, {1, 3}}));
}
