//===- Event.h - the event dialect ----------------------------------------===//

#ifndef BATON_DIALECTS_EVENT_EVENT_H
#define BATON_DIALECTS_EVENT_EVENT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace baton::event {

/// Symbols of every map in the dialect, in this order.
enum StepSymbol : unsigned { kRows = 0, kPast = 1, kOutputs = 2 };
constexpr unsigned kStepSymbols = 3;

} // namespace baton::event

#include "dialects/Event/EventDialect.h.inc"
#include "dialects/Event/EventEnums.h.inc"

#include "dialects/Event/EventAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Event/EventAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Event/EventOps.h.inc"

namespace baton::event {

/// Values of a map's results for concrete coordinates and symbols.
llvm::SmallVector<int64_t> evaluate(mlir::AffineMap map,
                                    llvm::ArrayRef<int64_t> coordinates,
                                    llvm::ArrayRef<int64_t> symbols);

/// A task's entries as tables would have them whose values are as even as their
/// properties allow, for who estimates what it does.
llvm::SmallVector<int64_t> typicalEntries(PhaseOp phase,
                                          llvm::ArrayRef<int64_t> coordinates,
                                          llvm::ArrayRef<int64_t> symbols);

/// How a storage outlives a program that stands among those of a pipeline's
/// stages, as the persistent buffers in it are described.
struct StorageScope {
  /// What it lives as long as: the run of the program; the rank; or one of the
  /// stages that the rank has.
  enum Kind { transient, rank, stage };

  Kind kind = transient;
  /// Of what there is one each: "flight", "microbatch", "chunk", or nothing.
  llvm::StringRef slot;
};
llvm::MapVector<mlir::StringAttr, StorageScope> scopesOf(ProgramOp program);

/// What a memref in a task body is a part of.
mlir::Value rootOf(mlir::Value memref);

/// The phases of a program in order of rank.
llvm::SmallVector<PhaseOp> phasesOf(ProgramOp program);

} // namespace baton::event

#endif // BATON_DIALECTS_EVENT_EVENT_H
