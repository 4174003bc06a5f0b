//===- KernelForms.h - what phases become kernels as ----------------------===//
//
// The same phases are one persistent kernel, whose loop runs them in order of
// rank, or a kernel each, which a CUDA graph launches in that order.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_KERNELFORMS_H
#define BATON_CODEGEN_CUDA_KERNELFORMS_H

#include "codegen/cuda/PhaseEmitter.h"
#include "codegen/cuda/Source.h"
#include "codegen/plan/ProgramLayout.h"

#include <memory>

namespace baton::cuda {

/// A program on its way into a source.
struct KernelParts {
  const plan::ProgramLayout &layout;
  const SourceOptions &options;
  /// The program's phases, in order of rank.
  std::vector<std::unique_ptr<PhaseEmitter>> phases;
  llvm::raw_ostream &os;

  event::ProgramOp program() const { return layout.program; }
  /// Bytes of the ring through which weights flow.
  int64_t ringBytes() const {
    return options.ringStages * options.threads * 16;
  }
  int64_t scratchBytes() const;
};

/// Shared memory of a block: first the ring or what bodies take, which no step
/// needs both of, then scratch, if it fits and no body wants it elsewhere.
struct BlockMemory {
  BlockMemory(const KernelParts &parts, llvm::ArrayRef<PhaseEmitter *> phases);
  /// C++ that says where a block's scratch begins.
  std::string scratch(const KernelParts &parts) const;

  int64_t tunedBytes = 0, sharedBytes = 0;
  bool hasRing = false, scratchIsShared = true;
};

// Of bodies that are a kernel's own.

/// The struct of what phases hand over.
void emitCalls(llvm::StringRef name, const KernelBodies &kernelBodies,
               llvm::raw_ostream &os);
/// The body that `place` names, of `calls`.
void emitKernelsBody(llvm::StringRef indent, const KernelBodies &kernelBodies,
                     llvm::raw_ostream &os);

/// Phases of a segment, with all iterations.
int64_t placesOf(event::SegmentOp segment);

// Print kernels, and fill in what the source says of them.

void emitPersistentKernel(KernelParts &parts, Source &source);
void emitGraphKernels(KernelParts &parts, Source &source);
/// Beside either, a kernel for each product that cuBLASLt computes.
void emitProductKernels(KernelParts &parts, Source &source);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_KERNELFORMS_H
