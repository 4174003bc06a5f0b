//===- StepSequence.h - which programs ranks run in a step ----------------===//

#ifndef BATON_PASSES_PROOF_STEPSEQUENCE_H
#define BATON_PASSES_PROOF_STEPSEQUENCE_H

#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace baton::tasks {

/// One run of a program, as one of those of a step.
struct ProgramRun {
  explicit ProgramRun(event::ProgramOp program) : program(program) {}

  event::ProgramOp program;
  unsigned chunk = 0;
  std::optional<unsigned> microbatch;
  /// The place of what is kept for the microbatch.
  unsigned slot = 0;
  /// The step's symbol, where it is the same in every step.
  std::optional<int64_t> outputs;
  /// Whether the runtime has set the flag that conditional reads ask.
  bool accumulates = false;
};

/// What ranks at one place of the pipeline's axis run in a step, or all of them
/// where there is no pipeline.
struct StepSequence {
  unsigned place = 0;
  llvm::SmallVector<ProgramRun> runs;
};

/// Sequences of one step. Of one group all places run at the same time.
using StepSequences = llvm::SmallVector<StepSequence>;

/// All steps that a module's programs are for: that of a pipeline's stages, or
/// those of each program by itself. A program that adds to what earlier
/// microbatches left has two: of one microbatch, and of two. Fails with an
/// error when the module does not say which programs a rank runs.
mlir::FailureOr<llvm::SmallVector<StepSequences>>
sequencesOf(mlir::ModuleOp module);

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_STEPSEQUENCE_H
