//===- synchronization.cpp - waiting, notifying and prefetching -----------===//
//
// Event words count monotonically and are compared by signed difference, so
// that they may wrap. Atomic built-ins on plain words, which ThreadSanitizer
// understands.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/vector.h"

namespace {

BATON_INLINE bool reached(const uint32_t *word, uint32_t target) {
  return static_cast<int32_t>(__atomic_load_n(word, __ATOMIC_ACQUIRE) -
                              target) >= 0;
}

} // namespace

extern "C" __attribute__((noinline)) void baton_wait_slow(const uint32_t *word,
                                                          uint32_t target) {
  // About as long as a short task. After that the producer may not even be
  // running: cores of a shared machine vanish for seconds at a time.
  constexpr int polls_before_yield = 1024;
  for (int poll = 0; poll < polls_before_yield; ++poll) {
    if (reached(word, target))
      return;
    __builtin_ia32_pause();
  }
  while (!reached(word, target))
    baton_yield();
}

BATON_TASK void baton_wait(const uint32_t *word, uint32_t target) {
  if (__builtin_expect(!reached(word, target), false))
    baton_wait_slow(word, target);
}

BATON_TASK void baton_notify(uint32_t *word) {
  __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
}

BATON_TASK void baton_border(uint32_t *border, uint32_t workers,
                             uint32_t target) {
  __atomic_fetch_add(border, 1, __ATOMIC_ACQ_REL);
  // A lone worker's own arrival is the last one.
  if (workers > 1)
    baton_wait(border, target);
}

BATON_TASK void baton_prefetch(const void *address, int64_t bytes) {
  baton::cpu::prefetch(address, bytes);
}
