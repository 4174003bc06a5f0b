//===- BatchInputs.h - what a step of several sequences is provided with --===//

#ifndef BATON_PASSES_TILING_BATCHINPUTS_H
#define BATON_PASSES_TILING_BATCHINPUTS_H

#include "passes/tiling/Tiler.h"

namespace baton::tasks {

/// Buffers of a program that batch-form has made, for what the runtime
/// writes between two steps, and what is declared of them.
class BatchInputs {
public:
  BatchInputs(Tiler &tiler, model::ProgramOp model);

  /// States that the runtime writes them where the step is handed over.
  void provide(PhaseBuilder &phase) const;

  /// Whether a step may leave some of the value out: logits that nobody but
  /// sampling reads, in panels of tokens.
  bool mayLeaveOut(mlir::Value value) const { return value && value == logits; }
  /// A running count of the panels of logits that the step wants.
  const View &wantedPanels() const { return wanted; }

  /// Where hidden states go, if the program returns some.
  const View &hiddenStates() const { return hidden; }

  /// Says of the program how many sequences it takes, and how long ones.
  static void describe(model::ProgramOp model, event::ProgramOp program);

private:
  llvm::SmallVector<View, 8> inputs;
  mlir::Value logits;
  View wanted, hidden;
};

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_BATCHINPUTS_H
