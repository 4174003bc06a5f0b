//===- SourceFile.h - MLIR that somebody wrote ----------------------------===//

#ifndef BATON_COMPILER_SOURCEFILE_H
#define BATON_COMPILER_SOURCEFILE_H

#include "compiler/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace baton::compiler {

/// Reads a file to parse. Fails for devices, which may never end, and for text
/// that nests so deeply that the parser, which recurses, would run out of
/// stack.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readSourceFile(const std::string &path);

/// The module of a file, verified, without attributes that nobody reads. What
/// is wrong was said to `diagnostics`.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseSourceFile(const std::string &path, mlir::MLIRContext &context,
                Diagnostics &diagnostics);

/// Fails, and says so of the op, where an op of this project's dialects has an
/// attribute that it does not know and that has no dialect in front of its
/// name. MLIR keeps such ones; a misspelt `window` would be a model without.
/// Decisions and bodies that are in no plan have none that passes keep, either.
mlir::LogicalResult refuseUnknownAttributes(mlir::Operation *root);

} // namespace baton::compiler

#endif // BATON_COMPILER_SOURCEFILE_H
