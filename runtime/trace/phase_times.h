//===- phase_times.h - where a traced run's time went ---------------------===//

#ifndef BATON_RUNTIME_TRACE_PHASE_TIMES_H
#define BATON_RUNTIME_TRACE_PHASE_TIMES_H

#include "runtime/trace/recorder.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace baton {

/// Seconds by phase, of all its iterations in all steps of the prompt, and in
/// all others.
struct PhaseTimes {
  explicit PhaseTimes(size_t phases) : prefill(phases), decode(phases) {}

  std::vector<double> prefill, decode;
};

/// Of one step that was traced; seconds.
struct StepTimes {
  StepRecord step;
  /// From its beginning to the end of its last task.
  double seconds = 0;
  /// From there to the beginning of the step behind it; none where no step
  /// goes on from it.
  std::optional<double> border;
  /// By phase: of each of its iterations, in order.
  std::vector<std::vector<double>> phases;
};

/// How much later each phase's last task of an iteration ended than all tasks
/// before it in the program's order: a step's phases add up to the step.
/// `segments` tells each phase's segment, numbered in the program's order. Of
/// tasks that were dropped nothing is known.
std::vector<StepTimes> step_times(const TraceRecorder &recorder,
                                  const std::vector<uint32_t> &segments);

/// The same, added up.
PhaseTimes phase_times(const TraceRecorder &recorder,
                       const std::vector<uint32_t> &segments,
                       uint64_t prompt_tokens);

} // namespace baton

#endif // BATON_RUNTIME_TRACE_PHASE_TIMES_H
