//===- warpgroup.h - asynchronous multiplications of matrices -------------===//
//
// wgmma.mma_async of BF16 or F16, a warp's share of it. A multiplication
// happens late: at the latest when a lane waits for its group, rarely before.
// Only then the fragments are read, where they were when it was issued, and the
// matrix in shared memory. Sums are NaNs from issue to wait, and written by the
// wait.
//
// ThreadSanitizer takes the reading of shared memory for the work of one more
// thread of the block, which knows what threads did before proxy fences, and is
// known to those that wait. Besides, the issuing lane must be ordered behind
// who has written. That these two orders are one is not checked, so that a
// fence which another thread has executed too late may serve. What bulk copies
// have written, which needs no proxy fence, is not handed over.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_EMULATION_WARPGROUP_H
#define BATON_RUNTIME_CUDA_EMULATION_WARPGROUP_H

#include "runtime/cuda/emulation/numbers.h"

#include <stdint.h>

namespace baton::emulation {

/// In the window of the block's shared memory; of dynamic shared memory only.
uint32_t shared_address(const void *shared);

/// wgmma.fence: misuse is to multiply without one since the last wait.
void fence_multiplications();
/// sum += a b for [16, columns], [16, 16] in fragments and [16, columns] as
/// `descriptor` says, by a warp, all of whose lanes call it.
void multiply_later(float *sum, unsigned columns, const uint32_t *a,
                    uint64_t descriptor);
/// The same of [64, 16] in shared memory, as `left` says, of which a warp has
/// sixteen rows.
void multiply_later(float *sum, unsigned columns, uint64_t left,
                    uint64_t descriptor, Numbers numbers);
void commit_multiplications();
/// Returns when at most `groups` of the warp's groups are under way.
void wait_for_multiplications(unsigned groups);

/// A proxy fence of shared memory, which others are too.
void proxy_fence_for_multiplications();

/// Where eight depths of a row of a K-major matrix are, in the window of shared
/// memory: chunk 0 begins where the descriptor does. Known are matrices in the
/// 128-byte swizzle whose pattern is aligned; others are misuse.
uint32_t address_in_matrix(uint64_t descriptor, unsigned row, unsigned chunk);

} // namespace baton::emulation

#endif // BATON_RUNTIME_CUDA_EMULATION_WARPGROUP_H
