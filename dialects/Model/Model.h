//===- Model.h - the model dialect ----------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_MODEL_H
#define BATON_DIALECTS_MODEL_MODEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace baton::model {

/// Dimensions that are known only when a step starts, as they stand in
/// StepTensorType::getShape().
enum DimensionSymbol : int64_t { kRows = -1, kKv = -2, kOutputs = -3 };

inline bool isSymbol(int64_t dimension) { return dimension < 0; }

/// "rows", "kv", "outputs", or the number.
std::string dimensionName(int64_t dimension);

} // namespace baton::model

#include "dialects/Model/ModelDialect.h.inc"
#include "dialects/Model/ModelEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Model/ModelTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Model/ModelAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Model/ModelOps.h.inc"

#endif // BATON_DIALECTS_MODEL_MODEL_H
