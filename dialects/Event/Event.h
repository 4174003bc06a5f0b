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

namespace baton::event {

/// Symbols of every map in the dialect, in this order.
enum StepSymbol : unsigned { kRows = 0, kPast = 1, kOutputs = 2 };
constexpr unsigned kStepSymbols = 3;

} // namespace baton::event

#include "dialects/Event/EventDialect.h.inc"
#include "dialects/Event/EventEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Event/EventAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Event/EventOps.h.inc"

namespace baton::event {

/// Values of a map's results for concrete coordinates and symbols.
llvm::SmallVector<int64_t> evaluate(mlir::AffineMap map,
                                    llvm::ArrayRef<int64_t> coordinates,
                                    llvm::ArrayRef<int64_t> symbols);

/// The phases of a program in order of rank.
llvm::SmallVector<PhaseOp> phasesOf(ProgramOp program);

} // namespace baton::event

#endif // BATON_DIALECTS_EVENT_EVENT_H
