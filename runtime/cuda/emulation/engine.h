//===- engine.h - a grid of blocks on the host ----------------------------===//
//
// Runs a kernel as a GPU does that has room for all of its blocks: a block is a
// thread of the operating system, a CUDA thread is a fiber of it, and a fiber
// goes on until it waits. emulation.h spells CUDA's names in these terms.
//
// One archive, itself without instrumentation, serves plain programs and those
// under a sanitizer: it looks for the sanitizers' interfaces when it is linked.
// ThreadSanitizer sees every CUDA thread as a thread of its own, ordered with
// others only by what CUDA promises: the launch and its end, __syncthreads,
// __syncwarp, and acquire and release. Shuffles and votes order no memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CUDA_EMULATION_ENGINE_H
#define BATON_RUNTIME_CUDA_EMULATION_ENGINE_H

#include "runtime/cuda/emulation/thread.h"

#include <stddef.h>
#include <stdint.h>

namespace baton::emulation {

struct Launch {
  unsigned blocks = 1;
  /// Of a block, at most 1024.
  unsigned threads = 1;
  /// Dynamic shared memory of a block.
  size_t shared_bytes = 0;
  /// 0: the threads of a block take turns in order. Otherwise in an order drawn
  /// from this seed, and they give way in more places.
  uint64_t seed = 0;
};

/// Calls kernel(argument) in every CUDA thread of the grid, all blocks at once,
/// and returns when all have returned. Misuse of a barrier ends the process
/// with one line on stderr.
void launch(const Launch &launch, void (*kernel)(void *), void *argument);

/// A grid that runs while others do, as kernels that are launched early
/// (programmatic dependent launch).
class Grid {
public:
  /// Starts the blocks. `before` is the grid that wait_for_kernel_before()
  /// waits for; both outlive this one's end.
  Grid(const Launch &launch, void (*kernel)(void *), void *argument,
       Grid *before);
  /// After join().
  ~Grid();
  Grid(const Grid &) = delete;
  Grid &operator=(const Grid &) = delete;

  /// Returns when every block has called start_kernel_behind() or has ended.
  void wait_until_next_may_start() const;
  /// Returns when all have ended.
  void join();

private:
  friend class Block;
  struct State;
  State *state;
};

// What emulation.h is made of -------------------------------------------------

/// Returns when all threads concerned have arrived: the number of values that
/// are not 0 in a block, the bits of such lanes in a warp, and of a shuffle the
/// source's value.
uint64_t meet(const Meeting &meeting);

/// Lets the block's other threads run, or other blocks when these wait too.
void yield();
/// Does so now and then, when the schedule is drawn from a seed.
void interleave();

/// A number below `count`, drawn from the seed; 0 without one.
unsigned draw(unsigned count);

/// To be called before `word` is read. Whoever asks for a word again before
/// the next barrier is waiting for it, and lets others run.
void poll(const uint32_t *word);

/// The grid that comes next may start, once all blocks have said so or ended.
/// This orders no memory.
void start_kernel_behind();
/// Returns when the grid before, if there is one, has ended, and acquires what
/// it did.
void wait_for_kernel_before();

/// Fills the initial values of thread-local variables, which every thread's
/// copy begins with, so that they are not zeros.
void poison_initial_values(unsigned char *begin, unsigned char *end);

} // namespace baton::emulation

#endif // BATON_RUNTIME_CUDA_EMULATION_ENGINE_H
