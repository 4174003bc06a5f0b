//===- Source.h - CUDA C++, and what launches it has to know --------------===//

#ifndef BATON_CODEGEN_CUDA_SOURCE_H
#define BATON_CODEGEN_CUDA_SOURCE_H

#include "codegen/cuda/CublasLtProducts.h"

#include <string>
#include <vector>

namespace baton::cuda {

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

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_SOURCE_H
