//===- DeviceDescription.h - what a program says of its kernels -----------===//

#ifndef BATON_COMPILER_TARGETS_CUDA_DEVICEDESCRIPTION_H
#define BATON_COMPILER_TARGETS_CUDA_DEVICEDESCRIPTION_H

#include "codegen/cuda/SourceEmitter.h"
#include "codegen/plan/ProgramLayout.h"
#include "compiler/Options.h"

#include <nlohmann/json.hpp>

namespace baton::compiler {

/// What the runtime has to know of a program's kernels.
nlohmann::json describe(const cuda::Source &source, event::ProgramOp program);

/// And of products by cuBLASLt: whether a program needs it, and the bytes that
/// the largest of them read and write; null where no kernel has any.
nlohmann::json describeProducts(llvm::ArrayRef<cuda::Source> sources,
                                llvm::ArrayRef<plan::ProgramLayout> layouts,
                                const CompileOptions &options);

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_CUDA_DEVICEDESCRIPTION_H
