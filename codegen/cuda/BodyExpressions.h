//===- BodyExpressions.h - ops of task bodies as expressions of C++ -------===//

#ifndef BATON_CODEGEN_CUDA_BODYEXPRESSIONS_H
#define BATON_CODEGEN_CUDA_BODYEXPRESSIONS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace baton::cuda {

bool isVector(mlir::Type type);

/// What a thread has of a value: of a vector, one element.
mlir::Type ownType(mlir::Type type);

/// The C++ type of what a thread has of a value, empty when there is none. F16
/// and BF16 are bits.
std::string typeName(mlir::Type type);

/// What values are called in C++.
using Names = llvm::function_ref<std::string(mlir::Value)>;

/// What an op of arith, math or index computes, of one result whose type has a
/// name; nothing where C++ has no exact counterpart.
std::optional<std::string> expressionOf(mlir::Operation &op, Names names);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_BODYEXPRESSIONS_H
