//===- fiber.h - a CUDA thread's stack and what sanitizers know of it -----===//

#ifndef BATON_RUNTIME_CUDA_EMULATION_FIBER_H
#define BATON_RUNTIME_CUDA_EMULATION_FIBER_H

#include "runtime/cuda/emulation/thread.h"

#include <cstddef>
#include <string>
#include <vector>

namespace baton::emulation {

class Block;

struct Fiber : Thread {
  void *stack_pointer = nullptr;
  /// Lowest address of the stack, and its size.
  const void *stack = nullptr;
  size_t stack_size = 0;
  /// What the sanitizers keep per fiber.
  void *tsan_fiber = nullptr;
  void *asan_fake_stack = nullptr;

  // What its block keeps.
  Block *owner = nullptr;
  bool live = false, waiting = false;
  Meeting meeting = {};
  /// Of the meeting.
  uint64_t result = 0;
  std::vector<const uint32_t *> polled;
  /// In whose names the block's asynchronous copies read and write, and its
  /// asynchronous multiplications read.
  Fiber *reader = nullptr, *writer = nullptr, *tensor = nullptr;
};

/// The one that runs.
inline Fiber &running() { return static_cast<Fiber &>(*current); }
/// To be called when it has done more than ask whether it may go on.
void progress();

/// Fibers with stacks, kept from one launch to the next.
std::vector<Fiber *> take_fibers(size_t count);
void give_back(const std::vector<Fiber *> &fibers);

/// Makes `fiber` stand for the calling thread and its stack.
void adopt_thread(Fiber &fiber);
/// Lets `fiber` call entry(), which must not return, when it is next switched
/// to, which is never if that is null. `name` is for reports.
void prepare(Fiber &fiber, void (*entry)(), const std::string &name);
/// To be called by entry() first; `from` is what switched to it.
void has_begun(Fiber &from);
/// Runs on the stack of `to` until that switches back. `done` says that `from`
/// will not be switched to again where it is.
void switch_fiber(Fiber &from, Fiber &to, bool done = false);

/// What ThreadSanitizer is told of an order that is not in the memory accesses.
/// Any fiber of the caller's block may be named that does not run, or the one
/// that does.
class Clock {
public:
  /// What `fiber` has done happens before what comes behind an acquire. With
  /// `forget`, nothing else that was released so far does.
  void release(const Fiber &fiber, bool forget = false);
  void acquire(const Fiber &fiber);

private:
  /// Only its address counts.
  int word = 0;
};
/// Reads, and copies, as if `fiber` did.
void read_as(const Fiber &fiber, const void *from, size_t bytes);
void copy_as(const Fiber &fiber, void *to, const void *from, size_t bytes);

/// Ends the process.
[[noreturn]] void fail(const std::string &message);

} // namespace baton::emulation

#endif // BATON_RUNTIME_CUDA_EMULATION_FIBER_H
