//===- undisturbed.h - how long steps take when nobody disturbs them -----===//
//
// On a shared machine a core may be away for longer than a whole token takes,
// so that no step is free of it. Of a step's many layers, which all do the same
// work, some are: from their times follows what an undisturbed step would take.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRACE_UNDISTURBED_H
#define BATON_RUNTIME_TRACE_UNDISTURBED_H

#include "runtime/trace/recorder.h"

#include <cstdint>
#include <vector>

namespace baton {

struct UndisturbedTimes {
  /// Seconds, the steps of the prompt together and one other step.
  double prefill = 0;
  double decode = 0;
  /// A decode step's positions, of the shortest: the fastest layers are its.
  double decode_positions = 0;
};

/// Takes every iteration of every segment to last as long as those at the
/// fastest tenth: of the same step for the prompt's, which differ in size, of
/// all other steps for these. An iteration lasts from the end of the last task
/// before it, or when its own first task could run if that was earlier, to the
/// end of its own last task. `segments` tells each phase's
/// segment, numbered in the program's order. Zeros if tasks were dropped.
UndisturbedTimes undisturbed_times(const TraceRecorder &recorder,
                                   const std::vector<uint32_t> &segments,
                                   uint64_t prompt_tokens);

} // namespace baton

#endif // BATON_RUNTIME_TRACE_UNDISTURBED_H
