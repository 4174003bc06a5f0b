//===- ProgramLayout.h - where a plan's parts lie at run time -------------===//
//
// Numbers what the runtime addresses by index: parameters, storages and event
// words. What is emitted for any target and the metadata both take them from
// here.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_PLAN_PROGRAMLAYOUT_H
#define BATON_CODEGEN_PLAN_PROGRAMLAYOUT_H

#include "dialects/Event/Event.h"

#include "llvm/ADT/MapVector.h"

namespace baton::plan {

/// Maps keep the order of the ops.
struct ProgramLayout {
  explicit ProgramLayout(event::ProgramOp program);

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
  /// Event words of all tensors.
  int64_t words = 0;
};

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_PROGRAMLAYOUT_H
