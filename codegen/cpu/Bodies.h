//===- Bodies.h - task bodies that users wrote, as LLVM IR ----------------===//

#ifndef BATON_CODEGEN_CPU_BODIES_H
#define BATON_CODEGEN_CPU_BODIES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace baton::cpu {

/// A module with a function baton_task_<name> for each event.body of
/// `source`; null when there is none. An argument that is a memref becomes
/// what its descriptor holds: the pointer twice, the offset, sizes, strides.
/// With `checked`, an index outside a memref ends the program with a message.
///
/// Fails, naming the body or the op, for what has no lowering.
llvm::Expected<std::unique_ptr<llvm::Module>>
lowerBodies(mlir::ModuleOp source, bool checked, llvm::LLVMContext &context);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_BODIES_H
