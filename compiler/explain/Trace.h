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

/// Reads what a program of this plan wrote with --trace. Errors name the file
/// and what is wrong with it: no trace, or one of another program.
llvm::Expected<std::vector<TracedStep>> readTrace(const std::string &path,
                                                  event::ProgramOp program);

/// The traced step that tells most of such a one: of those with as many rows
/// and outputs, the ones nearest in past, and of these the median in length.
/// Null when there is none with as many rows.
const TracedStep *findStep(llvm::ArrayRef<TracedStep> steps, const Step &step);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_TRACE_H
