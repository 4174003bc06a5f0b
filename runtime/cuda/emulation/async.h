//===- async.h - asynchronous copies and barriers in shared memory --------===//
//
// Copies happen late and, with a seed, in any order: at the latest when
// somebody waits for them, rarely before. ThreadSanitizer takes them for the
// work of two more threads of the block, a reader and a writer, ordered with
// the others by commits, waits and barriers only.
//
// The reader of bulk copies knows what the issuing thread did before its last
// proxy fence. So a source that ordinary stores have written is a race unless
// the thread that issues the copy, having acquired them, executed one. That a
// fence elsewhere on the way would do is not modelled, nor are ordinary stores
// to the destination, nor fence.mbarrier_init.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_EMULATION_ASYNC_H
#define BATON_RUNTIME_CUDA_EMULATION_ASYNC_H

#include "runtime/cuda/emulation/numbers.h"

#include <stdint.h>

namespace baton::emulation {

// cp.async: of 16 bytes, in groups of a thread.
void copy_later(void *shared, const void *global);
void commit_copies();
/// Returns when at most `groups` of the thread's groups are under way.
void wait_for_copies(unsigned groups);

// mbarrier: the word holds `identity`, which names the barrier's state.
uint64_t make_barrier(const uint64_t *word, uint32_t arrivals);
/// Also expects `bytes` of bulk copies in the current phase.
void arrive(const uint64_t *word, uint64_t identity, uint32_t bytes);
/// Whether the phase of this parity has ended. If not, others have run.
bool phase_has_ended(const uint64_t *word, uint64_t identity, uint32_t parity);

void bulk_copy(void *shared, const void *global, uint32_t bytes,
               const uint64_t *word, uint64_t identity);
void proxy_fence();

/// Brings addresses together from a warp; then gives that of one lane.
void share_address(const void *address);
const void *address_of_lane(unsigned lane);
/// mma.sync m16n8k16 by a warp. Products and their sum are of 64 bits.
void multiply(float *sum, const uint32_t *a, const uint32_t *b,
              Numbers numbers);
/// mma.sync m16n8k32 of bytes with a sign or, `halves` being 1 and not 2,
/// m16n8k16.
void multiply_bytes(int32_t *sum, const uint32_t *a, const uint32_t *b,
                    unsigned halves);

} // namespace baton::emulation

#endif // BATON_RUNTIME_CUDA_EMULATION_ASYNC_H
