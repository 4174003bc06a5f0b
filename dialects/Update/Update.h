//===- Update.h - the update dialect --------------------------------------===//

#ifndef BATON_DIALECTS_UPDATE_UPDATE_H
#define BATON_DIALECTS_UPDATE_UPDATE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace baton::update {

class ReturnOp;
class YieldOp;

/// Numbers without a default: what the trainer says of a step.
constexpr llvm::StringLiteral kStep = "step", kLearningRate = "learning_rate";

/// tensor<?x?xf32>, the type of all whole tensors.
mlir::RankedTensorType wholeType(mlir::MLIRContext *context);
bool isWhole(mlir::Type type);

} // namespace baton::update

#include "dialects/Update/UpdateDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Update/UpdateOps.h.inc"

namespace baton::update {

/// Whether a group fits a parameter of this rank that has these names.
bool fits(GroupOp group, llvm::ArrayRef<std::string> names, int64_t rank);

} // namespace baton::update

#endif // BATON_DIALECTS_UPDATE_UPDATE_H
