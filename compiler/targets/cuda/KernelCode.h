//===- KernelCode.h - kernels compiled, for a device or its emulation -----===//

#ifndef BATON_COMPILER_TARGETS_CUDA_KERNELCODE_H
#define BATON_COMPILER_TARGETS_CUDA_KERNELCODE_H

#include "codegen/cuda/SourceEmitter.h"
#include "compiler/Target.h"

#include "llvm/IR/Module.h"

#include <nlohmann/json.hpp>

namespace baton::compiler {

/// How the source of a device is compiled for its emulation on the host.
std::vector<std::string> emulationFlags(int architecture, int optimization,
                                        const std::string &cpu);

/// Adds an object of each kernel, for the emulation of a device on the host,
/// and to `data` the table of them.
llvm::Error addEmulatedKernels(llvm::ArrayRef<cuda::Source> sources,
                               const CompileOptions &options,
                               const cpu::Target &target,
                               const Installation &installation, Code &code,
                               llvm::Module &data);

/// Adds to `data` a cubin of each kernel, for an architecture, and to
/// `kernels`, which describe them, what they use of it.
llvm::Error addCubins(llvm::ArrayRef<cuda::Source> sources,
                      const std::string &architecture,
                      const CompileOptions &options,
                      const Installation &installation, nlohmann::json &kernels,
                      Code &code, llvm::Module &data);

/// What the host does in a step of several ranks, as C++ that the driver which
/// links compiles.
llvm::Error addHostPrograms(llvm::ArrayRef<cuda::Source> sources,
                            const CompileOptions &options,
                            const Installation &installation, Code &code,
                            llvm::Module &data);

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_CUDA_KERNELCODE_H
