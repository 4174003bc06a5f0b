//===- SourceEmitter.h - from a proved plan to CUDA C++ -------------------===//
//
// A plan becomes one kernel, whose blocks are the workers: the phases in order,
// each a function with a loop over the worker's tiles, the layers' loop around
// them rolled. Or each phase becomes a kernel of its own, with the layer as its
// argument, for a CUDA graph: what the persistent kernel is compared with. What
// the tasks do is called by name from the task library (codegen/cuda/library),
// with constants as immediates.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_SOURCEEMITTER_H
#define BATON_CODEGEN_CUDA_SOURCEEMITTER_H

#include "codegen/cuda/Source.h"
#include "codegen/cuda/SourceOptions.h"
#include "codegen/plan/PlanChecks.h"
#include "dialects/Event/Event.h"

namespace baton::cuda {

/// `signatures` are those of the CPU's task library, which this target's
/// mirrors, and of the bodies beside the program. Fails as
/// codegen/plan/PlanChecks.h and BodyPrinter.h say.
llvm::Expected<Source> emitSource(const plan::ProgramLayout &layout,
                                  const SourceOptions &options,
                                  plan::Signatures signatures);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_SOURCEEMITTER_H
