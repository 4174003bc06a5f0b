//===- async.cpp - asynchronous copies and barriers in shared memory ------===//

#include "codegen/cuda/emulation/async.h"

#include "codegen/cuda/emulation/fiber.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

namespace baton::emulation {

namespace {

constexpr unsigned warp_size = 32, max_threads = 1024;
constexpr unsigned max_barriers = 256, max_bulk_copies = 256;
/// In the upper half of a barrier's identity; shared memory begins as NaN.
constexpr uint64_t barrier_tag = 0x62617272;

struct Copy {
  void *shared;
  const void *global;
};

struct CopyGroup {
  std::vector<Copy> copies;
  Clock committed;
};

struct Barrier {
  const uint64_t *word;
  uint32_t arrivals, pending_arrivals;
  int64_t pending_bytes;
  uint32_t phase;
  /// Of even and of odd phases; whether the current one has releases.
  Clock clocks[2];
  bool begun;
};

struct BulkCopy {
  Copy copy;
  uint32_t bytes;
  Barrier *barrier;
  Clock issued;
};

struct ThreadState {
  std::vector<Copy> open;
  /// Groups under way, the oldest first; a deque, so that clocks stay in place.
  std::deque<CopyGroup> groups;
  Clock proxy_fence;
};

struct LaneState {
  const void *address;
  uint32_t a[4], b[2];
};

/// What the block's copies and barriers need. ThreadSanitizer does not see it:
/// nothing in it is allocated by one fiber and freed by another.
struct BlockState {
  ThreadState threads[max_threads];
  Barrier barriers[max_barriers];
  unsigned barrier_count;
  BulkCopy bulk_copies[max_bulk_copies];
  unsigned bulk_copy_count;
  Clock done;
  /// Of one meeting and the next: who comes to the one after next has left the
  /// first.
  LaneState lanes[2][max_threads];
  bool odd[max_threads];
};

/// Blocks are threads of the system.
BlockState &state() {
  thread_local std::unique_ptr<BlockState> instance;
  if (!instance)
    instance.reset(new BlockState());
  return *instance;
}

ThreadState &thread_state() { return state().threads[running().thread.x]; }

[[noreturn]] void misuse(const std::string &what) {
  fail("block " + std::to_string(running().block.x) + ", thread " +
       std::to_string(running().thread.x) + ": " + what);
}

void check_alignment(const Copy &copy, uint32_t bytes) {
  if ((reinterpret_cast<uintptr_t>(copy.shared) |
       reinterpret_cast<uintptr_t>(copy.global) | bytes) %
      16)
    misuse("a copy of " + std::to_string(bytes) +
           " bytes that is not aligned to 16");
}

// Groups ------------------------------------------------------------------------

/// Completes the oldest groups until `left` remain.
void complete_groups(ThreadState &thread, size_t left) {
  Fiber &self = running();
  std::vector<Copy> copies;
  while (thread.groups.size() > left) {
    CopyGroup &group = thread.groups.front();
    group.committed.acquire(*self.writer);
    copies.insert(copies.end(), group.copies.begin(), group.copies.end());
    thread.groups.pop_front();
  }
  for (size_t i = copies.size(); i > 0; --i) {
    std::swap(copies[i - 1], copies[draw(static_cast<unsigned>(i))]);
    copy_as(*self.writer, copies[i - 1].shared, copies[i - 1].global, 16);
  }
}

// Barriers ----------------------------------------------------------------------

Barrier &barrier_of(const uint64_t *word, uint64_t identity) {
  uint64_t index = identity & 0xffffffff;
  if (identity >> 32 != barrier_tag || index >= state().barrier_count ||
      state().barriers[index].word != word)
    misuse("a barrier that is not initialized");
  return state().barriers[index];
}

void release_phase(Barrier &barrier, const Fiber &fiber) {
  barrier.clocks[barrier.phase % 2].release(fiber, !barrier.begun);
  barrier.begun = true;
}

void end_phase_if_complete(Barrier &barrier) {
  if (barrier.pending_arrivals != 0 || barrier.pending_bytes != 0)
    return;
  ++barrier.phase;
  barrier.pending_arrivals = barrier.arrivals;
  barrier.begun = false;
}

void complete_bulk_copy(unsigned index) {
  BlockState &block = state();
  Fiber &self = running();
  BulkCopy &bulk = block.bulk_copies[index];
  bulk.issued.acquire(*self.writer);
  read_as(*self.reader, bulk.copy.global, bulk.bytes);
  copy_as(*self.writer, bulk.copy.shared, bulk.copy.global, bulk.bytes);
  release_phase(*bulk.barrier, *self.reader);
  release_phase(*bulk.barrier, *self.writer);
  bulk.barrier->pending_bytes -= bulk.bytes;
  end_phase_if_complete(*bulk.barrier);
}

} // namespace

void copy_later(void *shared, const void *global) {
  check_alignment({shared, global}, 16);
  thread_state().open.push_back({shared, global});
}

void commit_copies() {
  ThreadState &thread = thread_state();
  CopyGroup &group = thread.groups.emplace_back();
  group.copies.swap(thread.open);
  group.committed.release(running(), /*forget=*/true);
  if (draw(4) == 1)
    complete_groups(thread, draw(static_cast<unsigned>(thread.groups.size())));
}

void wait_for_copies(unsigned groups) {
  complete_groups(thread_state(), groups);
  state().done.release(*running().writer, /*forget=*/true);
  state().done.acquire(running());
}

uint64_t make_barrier(const uint64_t *word, uint32_t arrivals) {
  BlockState &block = state();
  unsigned index = 0;
  while (index < block.barrier_count && block.barriers[index].word != word)
    ++index;
  if (index == max_barriers)
    misuse("more than " + std::to_string(max_barriers) + " barriers");
  block.barrier_count = std::max(block.barrier_count, index + 1);
  block.barriers[index] = {word, arrivals, arrivals, 0, 0, {}, false};
  return barrier_tag << 32 | index;
}

void arrive(const uint64_t *word, uint64_t identity, uint32_t bytes) {
  Barrier &barrier = barrier_of(word, identity);
  if (barrier.pending_arrivals == 0)
    misuse("a barrier has more arrivals than it was initialized for");
  release_phase(barrier, running());
  barrier.pending_bytes += bytes;
  --barrier.pending_arrivals;
  end_phase_if_complete(barrier);
  interleave();
}

bool phase_has_ended(const uint64_t *word, uint64_t identity, uint32_t parity) {
  Barrier &barrier = barrier_of(word, identity);
  if (barrier.phase % 2 == parity) {
    BlockState &block = state();
    const unsigned count = block.bulk_copy_count, offset = draw(count + 1);
    for (unsigned i = 0; i < count; ++i)
      if (block.bulk_copies[(i + offset) % count].barrier == &barrier) {
        complete_bulk_copy((i + offset) % count);
        break;
      }
    yield();
  }
  if (barrier.phase % 2 == parity)
    return false;
  barrier.clocks[parity].acquire(running());
  return true;
}

void bulk_copy(void *shared, const void *global, uint32_t bytes,
               const uint64_t *word, uint64_t identity) {
  check_alignment({shared, global}, bytes);
  BlockState &block = state();
  if (block.bulk_copy_count == max_bulk_copies)
    misuse("more than " + std::to_string(max_bulk_copies) +
           " bulk copies under way");
  BulkCopy &bulk = block.bulk_copies[block.bulk_copy_count++];
  bulk.copy = {shared, global};
  bulk.bytes = bytes;
  bulk.barrier = &barrier_of(word, identity);
  bulk.issued.release(running(), /*forget=*/true);
  thread_state().proxy_fence.acquire(*running().reader);
  interleave();
}

void proxy_fence() {
  thread_state().proxy_fence.release(running(), /*forget=*/true);
}

} // namespace baton::emulation
