//===- Trace.h - the steps of a program's Perfetto trace ------------------===//

#ifndef BATON_COMPILER_EXPLAIN_TRACE_H
#define BATON_COMPILER_EXPLAIN_TRACE_H

#include "compiler/explain/Timeline.h"

#include "llvm/Support/Error.h"

namespace baton::explain {

struct TracedStep {
  Step step;
  Timeline timeline;
};

/// Reads what an executable of these programs wrote with --trace: the steps of
/// the first of them. Errors name the file and what is wrong with it: no trace,
/// or one of another program.
llvm::Expected<std::vector<TracedStep>>
readTrace(const std::string &path, llvm::ArrayRef<event::ProgramOp> programs);

/// Traced steps that are like another one.
struct LikeSteps {
  /// Null when there are none. The shortest: on shared machines, cores may be
  /// away for most of any other.
  const TracedStep *shortest = nullptr;
  size_t count = 0;
  /// Their positions.
  int64_t leastPast = 0, mostPast = 0;
};

/// Those with as many rows and outputs, and of these the nearest in past.
LikeSteps findLike(llvm::ArrayRef<TracedStep> steps, const Step &step);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_TRACE_H
