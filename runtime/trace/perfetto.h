//===- perfetto.h - a trace as JSON that trace viewers read --------------===//
//
// The Trace Event Format (https://docs.google.com/document/d/
// 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which ui.perfetto.dev and the
// Perfetto trace processor load: a row for each worker, a slice for each task,
// and inside it one for the time it waited.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRACE_PERFETTO_H
#define BATON_RUNTIME_TRACE_PERFETTO_H

#include "runtime/trace/recorder.h"

#include <functional>
#include <string>
#include <vector>

namespace baton {

/// What a trace says of a phase, by its rank.
struct TracedPhase {
  std::string name;
  std::string segment;
  /// On which layer each iteration works; empty unless its segment repeats.
  std::vector<uint32_t> layers;
};

/// Whose tasks are shown together.
struct TracedProgram {
  std::string name;
  /// Its number as a process; 1 unless there are several.
  uint32_t process = 1;
};

using TraceSink = std::function<void(const std::string &)>;

/// Gives the JSON text to the sink piece by piece. `others`: what
/// write_perfetto_events() makes of other programs.
void write_perfetto(const TraceRecorder &recorder,
                    const std::vector<TracedPhase> &phases,
                    const TracedProgram &program,
                    const std::vector<std::string> &others,
                    const TraceSink &sink);

/// The part of that text which is about one program.
void write_perfetto_events(const TraceRecorder &recorder,
                           const std::vector<TracedPhase> &phases,
                           const TracedProgram &program, const TraceSink &sink);

} // namespace baton

#endif // BATON_RUNTIME_TRACE_PERFETTO_H
