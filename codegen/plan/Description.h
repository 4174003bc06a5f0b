//===- Description.h - a program's data as globals ------------------------===//

#ifndef BATON_CODEGEN_PLAN_DESCRIPTION_H
#define BATON_CODEGEN_PLAN_DESCRIPTION_H

#include "llvm/IR/Module.h"

namespace baton::plan {

/// Defines baton_metadata and baton_metadata_size (runtime/program.h), and
/// baton_execution_factory (runtime/decode/execution.h) as the function
/// `factory` of the runtime.
void emitDescription(llvm::Module &module, llvm::StringRef metadata,
                     llvm::StringRef factory);

/// Defines baton_cubin, a kernel for a GPU (runtime/cuda/gpu_device.cpp).
void emitCubin(llvm::Module &module, llvm::StringRef cubin);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_DESCRIPTION_H
