//===- SourceOptions.h - how a plan becomes CUDA C++ ----------------------===//

#ifndef BATON_CODEGEN_CUDA_SOURCEOPTIONS_H
#define BATON_CODEGEN_CUDA_SOURCEOPTIONS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <string>

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
  /// Whether the ring has room for the chunks of weights of these formats
  /// (codegen/cuda/library/stream_blocks_shape.h).
  bool holdsChunks(uint32_t formats) const;
  /// Tiles of products on tensor cores, in steps of many rows and in training;
  /// ten times the compute capability of these.
  int64_t matrixRows = 0, matrixColumns = 0, architecture = 80;
  /// Whether bodies may have bits that are not those of the portable ones.
  bool ownBits = false;
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

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_SOURCEOPTIONS_H
