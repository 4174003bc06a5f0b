//===- SourceEmitter.h - from a proved plan to CUDA C++ -------------------===//
//
// A plan becomes one kernel, `baton_kernel`, whose blocks are the workers: the
// phases in order, each a function with a loop over the worker's tiles, the
// layers' loop around them rolled. What the tasks do is called by name from the
// task library (codegen/cuda/library), with constants as immediates.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_SOURCEEMITTER_H
#define BATON_CODEGEN_CUDA_SOURCEEMITTER_H

#include "codegen/plan/PlanChecks.h"
#include "dialects/Event/Event.h"

#include <string>

namespace baton::cuda {

struct Source {
  std::string text;
  /// Threads of a block.
  int64_t threads;
  /// Dynamic shared memory of a block; 0 when the plan needs no scratch, or
  /// more than fits, which then lies in global memory.
  int64_t sharedBytes;
};

/// `sharedLimit`: bytes of shared memory that a block may have for scratch.
/// `signatures` are those of the CPU's task library, which this target's
/// mirrors. Fails as codegen/plan/PlanChecks.h says, and for plans with bodies
/// of the user's.
llvm::Expected<Source> emitSource(event::ProgramOp program, int64_t threads,
                                  int64_t sharedLimit,
                                  plan::Signatures signatures);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_SOURCEEMITTER_H
