//===- run_trace.h - the trace that --trace asks for ----------------------===//

#ifndef BATON_RUNTIME_MAIN_RUN_TRACE_H
#define BATON_RUNTIME_MAIN_RUN_TRACE_H

#include "runtime/execute/execution.h"
#include "runtime/execute/metadata.h"
#include "runtime/files/temporary.h"
#include "runtime/main/run_options.h"
#include "runtime/trace/recorder.h"

#include <optional>

namespace baton {

/// Records an execution's runs while it exists, if the options say so. Of
/// several ranks each records its own, and rank 0 writes all.
class RunTrace {
public:
  /// Throws Error when the file cannot be written there.
  RunTrace(const Metadata &metadata, const RunOptions &options,
           Execution &execution, Communicator *communicator = nullptr);
  RunTrace(const RunTrace &) = delete;
  ~RunTrace();

  /// Puts the file into its place: all of it, or nothing and an Error. Called
  /// on all ranks.
  void publish();

private:
  const Metadata &metadata;
  const RunOptions &options;
  Execution &execution;
  Communicator *communicator;
  std::optional<TraceRecorder> recorder;
  std::optional<TemporaryFile> file;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_RUN_TRACE_H
