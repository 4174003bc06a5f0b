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

class FormatOp;
class ReturnOp;
class YieldOp;

/// Numbers without a default: what the trainer says of a step.
constexpr llvm::StringLiteral kStep = "step", kLearningRate = "learning_rate";

/// tensor<?x?xf32>, the type of all whole tensors.
mlir::RankedTensorType wholeType(mlir::MLIRContext *context);
bool isWhole(mlir::Type type);

/// That, or a number for each row, tensor<?x1xf32>, or column, tensor<1x?xf32>.
bool isTensor(mlir::Type type);
/// Weights that a run reads: tensor<Nxf32> or tensor<NxMxf32>.
bool isTable(mlir::Type type);
mlir::RankedTensorType tensorType(mlir::MLIRContext *context, bool hasRows,
                                  bool hasColumns);
/// Whether a tensor has several rows (0), or columns (1), and not one number
/// for all of them.
bool has(mlir::Type tensor, unsigned dimension);
/// What a map over these makes.
mlir::RankedTensorType mapType(mlir::MLIRContext *context,
                               mlir::TypeRange inputs);

} // namespace baton::update

#include "dialects/Update/UpdateDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Update/UpdateOps.h.inc"

namespace baton::update {

/// Whether a group fits a parameter of this rank that has these names.
bool fits(GroupOp group, llvm::ArrayRef<std::string> names, int64_t rank);

/// Whether the states that a map makes are surely 0 where all that it reads is.
bool keepsZeros(MapOp map, RuleOp rule);

} // namespace baton::update

#endif // BATON_DIALECTS_UPDATE_UPDATE_H
