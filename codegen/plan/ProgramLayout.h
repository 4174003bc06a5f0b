//===- ProgramLayout.h - where a plan's parts lie at run time -------------===//
//
// Numbers what the runtime addresses by index: parameters, storages, event
// words and phases. What is emitted for any target and the metadata both take
// them from here.
//
// An executable may have several programs of one model, of which each step
// takes one: they number as one, share parameters that the loader makes alike,
// whatever their names, and have storages of the same name in common, the
// states as well as memory that is free between steps.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_PLAN_PROGRAMLAYOUT_H
#define BATON_CODEGEN_PLAN_PROGRAMLAYOUT_H

#include "dialects/Event/Event.h"

#include "llvm/ADT/MapVector.h"

#include <vector>

namespace baton::plan {

/// Maps keep the order of the ops.
struct ProgramLayout {
  explicit ProgramLayout(event::ProgramOp program);
  static std::vector<ProgramLayout>
  together(llvm::ArrayRef<event::ProgramOp> programs);

  event::ProgramOp program;

  struct Parameter {
    event::ParameterOp op;
    /// Index of the first layer in BatonContext::parameters.
    int64_t first;
  };
  struct Storage {
    event::StorageOp op;
    /// Index in BatonContext::storages.
    int64_t index;
  };
  struct EventTensor {
    event::TensorOp op;
    /// Index of the first word in BatonWorker::bases.
    int64_t firstWord;
    /// Words at full capacity, row-major.
    int64_t words;
    /// The segment of the phase that notifies it; null if none does.
    event::SegmentOp notifier;
  };

  llvm::MapVector<mlir::StringAttr, Parameter> parameters;
  llvm::MapVector<mlir::StringAttr, Storage> storages;
  llvm::MapVector<mlir::StringAttr, event::BufferOp> buffers;
  llvm::MapVector<mlir::StringAttr, EventTensor> events;
  /// Of phases whose tasks workers take: the index of their counter in the
  /// first iteration, among event words. Each iteration has one of its own.
  llvm::DenseMap<mlir::Operation *, int64_t> tickets;
  /// Exchanges and messages of ranks, in order of rank, numbered over all
  /// programs.
  llvm::DenseMap<mlir::Operation *, int64_t> collectives, messages;
  /// Event words and counters of tickets of all programs.
  int64_t words = 0;
  /// Number of the first phase, in order of rank, among those of all programs.
  int64_t firstPhase = 0;

private:
  struct Numbers {
    /// By what the loader makes of the checkpoint, in the order of a program.
    llvm::DenseMap<mlir::Attribute, llvm::SmallVector<int64_t, 1>> parameters;
    llvm::DenseMap<mlir::StringAttr, int64_t> storages;
    int64_t nextParameter = 0, nextWord = 0, nextPhase = 0, nextCollective = 0,
            nextMessage = 0;
  };
  ProgramLayout(event::ProgramOp program, Numbers &numbers);
};

/// Whether a program is the first of those by which a pipeline's stages run. A
/// rank chooses among them by its table, not by a step's rows.
bool hasStages(event::ProgramOp program);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_PROGRAMLAYOUT_H
