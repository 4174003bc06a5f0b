//===- perfetto.cpp - a trace as JSON that trace viewers read ------------===//

#include "runtime/trace/perfetto.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace baton {

namespace {

/// Waits shorter than this are not drawn; every task looks at its words.
constexpr double visible_microseconds = 0.5;

double nanoseconds(double microseconds) {
  return std::round(microseconds * 1000);
}

/// To the nanosecond.
double rounded(double microseconds) { return nanoseconds(microseconds) / 1000; }

nlohmann::ordered_json slice(const TracedProgram &program,
                             const std::string &name, const char *category,
                             unsigned worker, double begin, double end) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"pid", program.process},
          {"tid", worker + 1},
          {"ts", rounded(begin)},
          // Ends are rounded like beginnings: viewers drop what overlaps.
          {"dur", (nanoseconds(end) - nanoseconds(begin)) / 1000}};
}

/// A row of its own below the workers': a slice for each step.
template <typename Time, typename Event>
void write_steps(const TraceRecorder &recorder, const TracedProgram &program,
                 const Time &time, const Event &event) {
  const auto row = static_cast<unsigned>(recorder.records().size());
  event({{"name", "thread_name"},
         {"ph", "M"},
         {"pid", program.process},
         {"tid", row + 1},
         {"args", {{"name", "steps"}}}});
  uint64_t last = 0;
  for (const auto &records : recorder.records())
    if (!records.empty())
      last = std::max(last, records.back().end);
  const auto &steps = recorder.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepRecord &record = steps[i];
    uint64_t end = i + 1 < steps.size() ? steps[i + 1].begin
                                        : std::max(last, record.begin);
    auto step =
        slice(program, "step", "step", row, time(record.begin), time(end));
    step["args"] = {{"step", i},
                    {"rows", record.rows},
                    {"past", record.past},
                    {"outputs", record.outputs}};
    event(step);
  }
}

} // namespace

void write_perfetto_events(const TraceRecorder &recorder,
                           const std::vector<TracedPhase> &phases,
                           const TracedProgram &program,
                           const TraceSink &sink) {
  bool is_first = true;
  const auto event = [&](const nlohmann::ordered_json &json) {
    sink((is_first ? "\n" : ",\n") + json.dump());
    is_first = false;
  };
  const double rate = recorder.ticks_per_microsecond();
  const auto time = [&](uint64_t stamp) {
    return static_cast<double>(static_cast<int64_t>(stamp - recorder.start())) /
           rate;
  };

  event({{"name", "process_name"},
         {"ph", "M"},
         {"pid", program.process},
         {"args", {{"name", program.name}}}});
  const auto &records = recorder.records();
  for (unsigned worker = 0; worker < records.size(); ++worker) {
    event({{"name", "thread_name"},
           {"ph", "M"},
           {"pid", program.process},
           {"tid", worker + 1},
           {"args", {{"name", "worker " + std::to_string(worker)}}}});
    for (const TaskRecord &record : records[worker]) {
      const TracedPhase &phase = phases[record.phase];
      const double begin = time(record.begin), ready = time(record.ready);
      auto task =
          slice(program, phase.name, "task", worker, begin, time(record.end));
      task["args"] = {{"step", record.step},
                      {"segment", phase.segment},
                      {"task", record.task},
                      {"wait_us", rounded(ready - begin)}};
      if (!phase.layers.empty()) {
        task["args"]["iteration"] = record.iteration;
        task["args"]["layer"] = phase.layers[record.iteration];
      }
      event(task);
      if (ready - begin >= visible_microseconds)
        event(slice(program, "wait", "wait", worker, begin, ready));
    }
  }
  write_steps(recorder, program, time, event);
}

void write_perfetto(const TraceRecorder &recorder,
                    const std::vector<TracedPhase> &phases,
                    const TracedProgram &program,
                    const std::vector<std::string> &others,
                    const TraceSink &sink) {
  sink("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
  write_perfetto_events(recorder, phases, program, sink);
  for (const std::string &events : others)
    if (!events.empty())
      sink("," + events);
  sink("\n]}\n");
}

} // namespace baton
