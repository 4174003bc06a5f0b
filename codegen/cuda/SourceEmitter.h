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

#include "codegen/cuda/CublasLtProducts.h"
#include "codegen/plan/PlanChecks.h"
#include "dialects/Event/Event.h"

#include "llvm/ADT/DenseMap.h"

#include <string>
#include <vector>

namespace baton::cuda {

struct SourceOptions {
  std::string kernel;
  /// Threads of a block.
  int64_t threads = 0;
  /// Bytes of shared memory that a block may have.
  int64_t sharedLimit = 0;
  /// Stages of the ring through which weights flow ahead of steps of one row,
  /// each of 16 bytes a thread (codegen/cuda/library/stream.h). 0: no ring, and
  /// a row's bits do not depend on how many rows share its step.
  int64_t ringStages = 0;
  /// Tiles of linears of BF16 weights on tensor cores, in steps of many rows,
  /// and of products of training in 16 bits; ten times the compute capability
  /// of these; 0 rows: none are used.
  int64_t matrixRows = 0, matrixColumns = 0, architecture = 80;
  /// Fewest rows of a step. Before a step of other numbers than the program has
  /// the kernel ends, for the host to start another one.
  int64_t firstRows = 1;
  /// Kernels of a graph instead of a persistent one; programmatic ones start
  /// while the kernel before still runs, and say when they read what it wrote
  /// (compute capability 9.0 and later).
  bool asGraph = false, isProgrammatic = false;
  /// Ranks exchange tensors on a stream beside the kernel, which does not end
  /// for that, and leaves so many multiprocessors to NCCL.
  bool overlapsExchanges = false;
  int64_t ncclMultiprocessors = 0;
  /// Phases whose product cuBLASLt computes (CublasLtProducts.h), in steps of
  /// at least so many rows, at least 2.
  llvm::DenseMap<mlir::Operation *, int64_t> cublasLtRows;
};

/// A phase that is a kernel of its own.
struct PhaseKernel {
  std::string kernel;
  /// Dynamic shared memory of a block.
  int64_t sharedBytes;
  /// The most that a step has.
  int64_t tiles;
};

/// Kernels that run in order, `repeat` times.
struct KernelSegment {
  int64_t repeat;
  std::vector<PhaseKernel> kernels;
};

/// A product that cuBLASLt computes, and the kernel that lays its sides out.
struct ProductKernel {
  std::string kernel;
  /// Index among the program's phases.
  size_t phase;
  int64_t leastRows;
  CublasLtProduct product;
};

struct Source {
  std::string kernel;
  std::string text;
  int64_t threads = 0;
  /// As in the options.
  int64_t architecture = 80;
  /// Dynamic shared memory of a block, at most.
  int64_t sharedBytes = 0;
  /// Scratch of a block, and whether it is part of that; otherwise it does not
  /// fit and lies in global memory.
  int64_t scratchBytes = 0;
  bool scratchIsShared = true;
  /// The kernels of a graph; none of a persistent kernel, which is `kernel`.
  std::vector<KernelSegment> segments;
  std::vector<ProductKernel> products;
  /// Where cuBLASLt computes some products, or ranks exchange tensors, a
  /// persistent kernel takes a part of a step as its second argument.
  bool takesPart = false;
  /// C++ for the host, of a program of several ranks (HostProgram.h); defines
  /// `hostProgramName`.
  std::string hostProgram;
  std::string hostProgramName() const { return kernel + "_host"; }
};

/// `signatures` are those of the CPU's task library, which this target's
/// mirrors, and of the bodies beside the program. Fails as
/// codegen/plan/PlanChecks.h and BodyPrinter.h say.
llvm::Expected<Source> emitSource(const plan::ProgramLayout &layout,
                                  const SourceOptions &options,
                                  plan::Signatures signatures);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_SOURCEEMITTER_H
