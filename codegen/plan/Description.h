//===- Description.h - a program's data as globals ------------------------===//

#ifndef BATON_CODEGEN_PLAN_DESCRIPTION_H
#define BATON_CODEGEN_PLAN_DESCRIPTION_H

#include "llvm/IR/Module.h"

namespace baton::plan {

/// Defines baton_metadata and baton_metadata_size (runtime/program.h),
/// baton_execution_factory (runtime/execute/execution.h) as the function
/// `factory` of the runtime, baton_batch_commands
/// (runtime/main/batch_commands.h), null unless the program holds many
/// sequences, and baton_training_commands (runtime/main/training_commands.h),
/// null unless it trains.
void emitDescription(llvm::Module &module, llvm::StringRef metadata,
                     llvm::StringRef factory, bool holdsManySequences,
                     bool trains);

/// Defines baton_cubins, the kernels for a GPU, one ELF file each
/// (runtime/cuda/gpu_device.cpp).
void emitCubins(llvm::Module &module, llvm::ArrayRef<llvm::StringRef> cubins);

/// Defines baton_programs, the module's functions of these names
/// (runtime/execute/stage_execution.cpp).
void emitProgramTable(llvm::Module &module,
                      llvm::ArrayRef<std::string> programs);

/// Defines baton_kernels, functions of these names in other objects
/// (runtime/cuda/emulated_device.cpp).
void emitKernelTable(llvm::Module &module, llvm::ArrayRef<std::string> kernels);

/// Defines baton_host_programs, functions of these names in other objects, null
/// where one is empty (runtime/cuda/device_execution.cpp).
void emitHostPrograms(llvm::Module &module, llvm::ArrayRef<std::string> names);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_DESCRIPTION_H
