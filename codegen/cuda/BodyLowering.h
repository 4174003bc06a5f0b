//===- BodyLowering.h - task bodies that users wrote, as loops ------------===//
//
// What becomes of a body's structured ops before it is printed: loops, memory
// accesses and plain arithmetic. Those over dimensions where each element is
// provably one point's alone are scf.parallel, which a block's threads share.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_BODYLOWERING_H
#define BATON_CODEGEN_CUDA_BODYLOWERING_H

namespace mlir {
class PassManager;
}

namespace baton::cuda {

/// To be run on what plan::makeBodyFunctions makes.
void addBodyLowering(mlir::PassManager &manager);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_BODYLOWERING_H
