//===- HostProgram.h - what the host does in a step of several ranks ------===//
//
// Ranks on GPUs exchange tensors between launches of their kernels: each
// exchange of the plan is a border, at which all that comes before has ended.
// What the host puts on the stream for a step, launches and calls of NCCL, is
// C++ of its own, with loops as the plan has them, that is compiled into the
// executable (runtime/cuda/host_program.h). The exchange's own task in the
// kernel comes behind the border and only notifies those that wait for it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_HOSTPROGRAM_H
#define BATON_CODEGEN_CUDA_HOSTPROGRAM_H

#include "codegen/cuda/SourceOptions.h"
#include "codegen/plan/ProgramLayout.h"

#include "llvm/Support/Error.h"

#include <string>

namespace baton::cuda {

/// Fails for a kind of exchange that NCCL is not used for.
llvm::Expected<std::string> emitHostProgram(const plan::ProgramLayout &layout,
                                            const SourceOptions &options);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_HOSTPROGRAM_H
