//===- BodyLowering.h - task bodies that users wrote, as loops ------------===//
//
// What becomes of a body's structured ops before it is printed: loops, memory
// accesses and plain arithmetic. Those over dimensions where each element is
// provably one point's alone are marked, because a block's threads may share
// them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_BODYLOWERING_H
#define BATON_CODEGEN_CUDA_BODYLOWERING_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class PassManager;
}

namespace baton::cuda {

/// On an scf.parallel whose points are proved not to depend on one another.
inline constexpr llvm::StringLiteral kParallelLoop = "baton.parallel";

/// To be run on what plan::makeBodyFunctions makes.
void addBodyLowering(mlir::PassManager &manager);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_BODYLOWERING_H
