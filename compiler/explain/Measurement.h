//===- Measurement.h - runs a model's program to see how long it takes ----===//

#ifndef BATON_COMPILER_EXPLAIN_MEASUREMENT_H
#define BATON_COMPILER_EXPLAIN_MEASUREMENT_H

#include "compiler/Installation.h"
#include "compiler/Options.h"
#include "compiler/explain/Explanation.h"

namespace baton::explain {

struct Measurement {
  std::vector<TracedStep> steps;
  /// What `bench` measured of this machine.
  MachineFigures machine;
};

/// Compiles the model to a temporary executable, runs its `bench` with random
/// weights so that the steps occur, and reads the traces. Errors name what
/// failed.
llvm::Expected<Measurement> measure(const compiler::CompileOptions &options,
                                    const compiler::Installation &installation,
                                    llvm::ArrayRef<event::ProgramOp> programs,
                                    llvm::ArrayRef<NamedStep> steps,
                                    std::optional<unsigned> workers);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_MEASUREMENT_H
