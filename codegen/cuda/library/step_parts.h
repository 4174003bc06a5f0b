//===- step_parts.h - a step as several launches --------------------------===//
//
// A step with products by cuBLASLt, or with exchanges of ranks, is several
// launches of its kernel, each of some of its phases. Event words and bases are
// those of the step all along, so that waits see what earlier launches have
// counted.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STEP_PARTS_H
#define BATON_CODEGEN_CUDA_LIBRARY_STEP_PARTS_H

#include "codegen/cuda/library/device.h"
#include "runtime/device_program.h"

namespace baton::cuda {

/// The iterations of a segment that a part of a step reaches into, and which of
/// their phases. `place` is that of the segment's first phase, of `phases` in
/// `repeat` iterations.
struct PartOfSegment {
  BatonPart part;
  int64_t place, phases, repeat;

  __device__ __forceinline__ int64_t begin() const {
    const int64_t before = int64_t(part.first) - place;
    return before <= 0 ? 0 : before / phases;
  }
  __device__ __forceinline__ int64_t end() const {
    const int64_t reached = int64_t(part.last) - place;
    const int64_t iterations =
        reached <= 0 ? 0 : (reached + phases - 1) / phases;
    return iterations < repeat ? iterations : repeat;
  }
  __device__ __forceinline__ bool has(int64_t iteration, int64_t phase) const {
    const int64_t at = place + iteration * phases + phase;
    return at >= part.first && at < part.last;
  }
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_STEP_PARTS_H
