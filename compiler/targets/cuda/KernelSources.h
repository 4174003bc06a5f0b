//===- KernelSources.h - the kernels of an executable, as CUDA C++ --------===//

#ifndef BATON_COMPILER_TARGETS_CUDA_KERNELSOURCES_H
#define BATON_COMPILER_TARGETS_CUDA_KERNELSOURCES_H

#include "codegen/cpu/Emit.h"
#include "codegen/cuda/SourceEmitter.h"
#include "codegen/plan/ProgramLayout.h"
#include "compiler/Installation.h"
#include "compiler/Options.h"
#include "compiler/TargetDescription.h"

#include "llvm/IR/Module.h"

namespace baton::compiler {

/// A module of the program's data, without code.
std::unique_ptr<llvm::Module> makeData(const cpu::Target &target,
                                       llvm::LLVMContext &context);

/// Whether a graph's kernels begin while the one before still runs.
bool startsKernelsEarly(const CompileOptions &options,
                        const TargetDescription &description);

/// The kernels of an executable, each of which takes the steps of as many rows
/// as no smaller one does. Fails for what the task library has no body for.
llvm::Expected<std::vector<cuda::Source>>
emitKernelSources(llvm::ArrayRef<plan::ProgramLayout> layouts,
                  const CompileOptions &options,
                  llvm::ArrayRef<TargetDescription> descriptions,
                  const cpu::Target &target, const Installation &installation);

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_CUDA_KERNELSOURCES_H
