//===- phase_times.h - where a traced run's time went ---------------------===//

#ifndef BATON_RUNTIME_TRACE_PHASE_TIMES_H
#define BATON_RUNTIME_TRACE_PHASE_TIMES_H

#include "runtime/trace/recorder.h"

#include <cstdint>
#include <vector>

namespace baton {

/// Seconds by phase, of all its iterations in all steps of the prompt, and in
/// all others.
struct PhaseTimes {
  explicit PhaseTimes(size_t phases) : prefill(phases), decode(phases) {}

  std::vector<double> prefill, decode;
};

/// How much later a phase's last task ended than all tasks before it in the
/// program's order: a step's phases add up to the step. `segments` tells each
/// phase's segment, numbered in the program's order. Of tasks that were dropped
/// nothing is known.
PhaseTimes phase_times(const TraceRecorder &recorder,
                       const std::vector<uint32_t> &segments,
                       uint64_t prompt_tokens);

} // namespace baton

#endif // BATON_RUNTIME_TRACE_PHASE_TIMES_H
