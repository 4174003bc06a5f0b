//===- fiber.cpp - switching stacks, with the sanitizers' knowledge -------===//

#include "runtime/cuda/emulation/fiber.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <sanitizer/common_interface_defs.h>
#include <sanitizer/tsan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

// Null where the program has no such sanitizer.
#pragma weak __sanitizer_start_switch_fiber
#pragma weak __sanitizer_finish_switch_fiber
#pragma weak __tsan_acquire
#pragma weak __tsan_release
#pragma weak __tsan_create_fiber
#pragma weak __tsan_get_current_fiber
#pragma weak __tsan_set_fiber_name
#pragma weak __tsan_switch_to_fiber
// Interfaces of instrumented code.
extern "C" __attribute__((weak)) void
__tsan_atomic32_store(volatile int *word, int value, int memory_order);
extern "C" __attribute__((weak)) void __tsan_read_range(const void *address,
                                                        size_t bytes);

// Leaves the registers that a function must preserve on the stack, the stack's
// address in *from, and goes on where the stack `to` was left.
extern "C" void baton_emulation_switch(void **from, void *to);

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.hidden baton_emulation_switch
.globl baton_emulation_switch
.type baton_emulation_switch, @function
baton_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
.size baton_emulation_switch, . - baton_emulation_switch
)");
constexpr int saved_registers = 6;
#else
#error "switching fibers is written for x86-64 only"
#endif

namespace baton::emulation {

namespace {

/// Room for a sanitizer's report; what is not touched costs nothing.
constexpr size_t stack_bytes = 256 << 10;
/// A guard below a stack splits the mapping: the first so many have one.
constexpr size_t max_guards = 8192;

struct Pool {
  std::mutex mutex;
  std::vector<Fiber *> idle;
  size_t made = 0;
};

/// Never destroyed, as its fibers never are. It is there from the start: this
/// file is not instrumented, so that ThreadSanitizer would not see that one
/// thread makes it before another, which may be another device's, has it.
union Forever {
  constexpr Forever() : pool() {}
  ~Forever() {}
  Pool pool;
};
constinit Forever forever;

Pool &pool() { return forever.pool; }

/// The caller holds the pool's mutex. One mapping for all stacks, because a
/// process may have 65530, and ThreadSanitizer needs some for each fiber.
void make_fibers(Pool &pool, size_t count) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *memory =
      mmap(nullptr, count * stack_bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    fail("no memory for the stacks of " + std::to_string(count) + " threads");
  for (size_t i = 0; i < count; ++i) {
    char *stack = static_cast<char *>(memory) + i * stack_bytes;
    if (pool.made++ < max_guards)
      mprotect(stack, page, PROT_NONE);
    Fiber *fiber = new Fiber;
    fiber->stack = stack + page;
    fiber->stack_size = stack_bytes - page;
    if (__tsan_create_fiber)
      fiber->tsan_fiber = __tsan_create_fiber(0);
    pool.idle.push_back(fiber);
  }
}

/// For ThreadSanitizer, what is done in its scope is done by `fiber`.
class SpeakingFor {
public:
  explicit SpeakingFor(const Fiber &fiber) {
    if (!__tsan_switch_to_fiber)
      return;
    self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.tsan_fiber, __tsan_switch_to_fiber_no_sync);
  }
  ~SpeakingFor() {
    if (self)
      __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
  }

private:
  void *self = nullptr;
};

} // namespace

std::vector<Fiber *> take_fibers(size_t count) {
  Pool &from = pool();
  std::lock_guard lock(from.mutex);
  if (from.idle.size() < count)
    make_fibers(from, count - from.idle.size());
  std::vector<Fiber *> taken(from.idle.end() - count, from.idle.end());
  from.idle.resize(from.idle.size() - count);
  return taken;
}

void give_back(const std::vector<Fiber *> &fibers) {
  Pool &to = pool();
  std::lock_guard lock(to.mutex);
  to.idle.insert(to.idle.end(), fibers.begin(), fibers.end());
}

void adopt_thread(Fiber &fiber) {
  if (__tsan_get_current_fiber)
    fiber.tsan_fiber = __tsan_get_current_fiber();
}

void prepare(Fiber &fiber, void (*entry)(), const std::string &name) {
  if (__tsan_set_fiber_name)
    __tsan_set_fiber_name(fiber.tsan_fiber, name.c_str());
  // As if entry() had been called from nowhere and left at its beginning.
  void **top = reinterpret_cast<void **>(
      reinterpret_cast<uintptr_t>(fiber.stack) + fiber.stack_size);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < saved_registers; ++i)
    *--top = nullptr;
  fiber.stack_pointer = top;
}

void has_begun(Fiber &from) {
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(nullptr, &from.stack, &from.stack_size);
}

void switch_fiber(Fiber &from, Fiber &to, bool done) {
  if (__tsan_switch_to_fiber)
    __tsan_switch_to_fiber(to.tsan_fiber, __tsan_switch_to_fiber_no_sync);
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(done ? nullptr : &from.asan_fake_stack,
                                   to.stack, to.stack_size);
  baton_emulation_switch(&from.stack_pointer, to.stack_pointer);
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(from.asan_fake_stack, &to.stack,
                                    &to.stack_size);
}

void Clock::release(const Fiber &fiber, bool forget) {
  if (!__tsan_release)
    return;
  SpeakingFor scope(fiber);
  // A release adds to what is there; a store takes its place.
  if (forget)
    __tsan_atomic32_store(&word, 0, __ATOMIC_RELEASE);
  else
    __tsan_release(&word);
}

void Clock::acquire(const Fiber &fiber) {
  if (!__tsan_acquire)
    return;
  SpeakingFor scope(fiber);
  __tsan_acquire(&word);
}

void read_as(const Fiber &fiber, const void *from, size_t bytes) {
  if (!__tsan_read_range)
    return;
  SpeakingFor scope(fiber);
  __tsan_read_range(from, bytes);
}

void copy_as(const Fiber &fiber, void *to, const void *from, size_t bytes) {
  SpeakingFor scope(fiber);
  // Sanitizers see to memcpy, however the caller was compiled.
  memcpy(to, from, bytes);
}

void fail(const std::string &message) {
  // Never unlocked: one line is enough.
  static std::mutex mutex;
  mutex.lock();
  fprintf(stderr, "emulation: %s\n", message.c_str());
  // Not an exit, for which ThreadSanitizer has questions about other threads.
  abort();
}

} // namespace baton::emulation
