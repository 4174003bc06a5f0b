//===- thread.h - a CUDA thread, and where it meets others ----------------===//

#ifndef BATON_RUNTIME_CUDA_EMULATION_THREAD_H
#define BATON_RUNTIME_CUDA_EMULATION_THREAD_H

#include <stdint.h>

namespace baton::emulation {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// What a CUDA thread knows of itself.
struct Thread {
  Index thread, block, threads, blocks;
  unsigned char *shared = nullptr;
};

/// The one that runs; __thread because a dynamically initialised variable would
/// cost a call per threadIdx.
extern __thread Thread *current;

/// Where threads meet: those of a block, then those of a warp, of these
/// shuffles last.
enum class Operation : uint8_t {
  syncthreads,
  syncthreads_count,
  syncthreads_and,
  syncthreads_or,
  syncwarp,
  ballot,
  any,
  all,
  ldmatrix,
  mma,
  wgmma,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor
};

struct Meeting {
  Operation operation;
  /// The lanes that meet; 0 for a block.
  uint32_t mask = 0;
  uint64_t value = 0;
  /// The lane of the warp whose value a shuffle takes.
  unsigned source = 0;
};

} // namespace baton::emulation

#endif // BATON_RUNTIME_CUDA_EMULATION_THREAD_H
