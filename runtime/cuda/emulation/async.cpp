//===- async.cpp - asynchronous copies and barriers in shared memory ------===//

#include "runtime/cuda/emulation/async.h"

#include "runtime/cuda/emulation/engine.h"
#include "runtime/cuda/emulation/fiber.h"
#include "runtime/cuda/emulation/warpgroup.h"

#include <algorithm>
#include <iterator>
#include <list>

namespace baton::emulation {

namespace {

constexpr unsigned warp_size = 32, max_threads = 1024;
constexpr unsigned max_barriers = 256, max_bulk_copies = 256;
/// Beyond these a thread's copies come without being waited for.
constexpr unsigned max_groups = 64;
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

/// Under way if it has a barrier.
struct BulkCopy {
  Barrier *barrier;
  Copy copy;
  uint32_t bytes;
  Clock issued;
};

struct ThreadState {
  std::vector<Copy> open;
  /// Groups under way, the oldest first; a list, so that clocks stay in place.
  std::list<CopyGroup> groups;
  Clock proxy_fence;
};

struct LaneState {
  const void *address;
  uint32_t a[4], b[2];
};

struct BlockState {
  ThreadState threads[max_threads];
  Barrier barriers[max_barriers];
  unsigned barrier_count;
  BulkCopy bulk_copies[max_bulk_copies];
  Clock done;
  /// Of one operation of a warp and the next: who comes to the one after has
  /// left the first.
  LaneState lanes[2][max_threads];
  bool odd[max_threads];
};

/// A block is a thread of the system. Not allocated by the fiber that comes
/// first, which ThreadSanitizer would hold against the others.
BlockState &state() {
  static thread_local BlockState instance;
  return instance;
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

// Groups ----------------------------------------------------------------------

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

// Barriers --------------------------------------------------------------------

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

void complete(BulkCopy &bulk) {
  Fiber &self = running();
  Barrier &barrier = *bulk.barrier;
  bulk.issued.acquire(*self.writer);
  read_as(*self.reader, bulk.copy.global, bulk.bytes);
  copy_as(*self.writer, bulk.copy.shared, bulk.copy.global, bulk.bytes);
  release_phase(barrier, *self.reader);
  release_phase(barrier, *self.writer);
  barrier.pending_bytes -= bulk.bytes;
  bulk.barrier = nullptr;
  end_phase_if_complete(barrier);
}

/// One of those that `barrier` waits for, if there is any.
bool complete_a_bulk_copy(const Barrier &barrier) {
  const unsigned offset = draw(max_bulk_copies);
  for (unsigned i = 0; i < max_bulk_copies; ++i) {
    BulkCopy &bulk = state().bulk_copies[(i + offset) % max_bulk_copies];
    if (bulk.barrier != &barrier)
      continue;
    complete(bulk);
    return true;
  }
  return false;
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
  complete_groups(thread, draw(4) == 1 ? draw(max_groups) : max_groups);
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
  progress();
  interleave();
}

bool phase_has_ended(const uint64_t *word, uint64_t identity, uint32_t parity) {
  Barrier &barrier = barrier_of(word, identity);
  if (barrier.phase % 2 == parity) {
    if (!complete_a_bulk_copy(barrier))
      yield();
    return false;
  }
  barrier.clocks[parity].acquire(running());
  return true;
}

void bulk_copy(void *shared, const void *global, uint32_t bytes,
               const uint64_t *word, uint64_t identity) {
  check_alignment({shared, global}, bytes);
  Barrier &barrier = barrier_of(word, identity);
  auto &all = state().bulk_copies;
  BulkCopy *bulk = std::find_if(std::begin(all), std::end(all), [](auto &one) {
    return one.barrier == nullptr;
  });
  if (bulk == std::end(all))
    misuse("more than " + std::to_string(max_bulk_copies) +
           " bulk copies under way");
  *bulk = {&barrier, {shared, global}, bytes, {}};
  bulk->issued.release(running(), /*forget=*/true);
  thread_state().proxy_fence.acquire(*running().reader);
  if (draw(4) == 1)
    complete_a_bulk_copy(barrier);
  interleave();
}

void proxy_fence() {
  thread_state().proxy_fence.release(running(), /*forget=*/true);
  proxy_fence_for_multiplications();
}

// Matrices --------------------------------------------------------------------

namespace {

/// What the caller brings to the warp's next operation.
LaneState &next_lane_state() {
  BlockState &block = state();
  const unsigned thread = running().thread.x;
  block.odd[thread] = !block.odd[thread];
  return block.lanes[block.odd[thread]][thread];
}

/// What lane `lane` has brought to the latest.
const LaneState &lane_state(unsigned lane) {
  const BlockState &block = state();
  const unsigned thread = running().thread.x;
  return block.lanes[block.odd[thread]][thread / warp_size * warp_size + lane];
}

} // namespace

void share_address(const void *address) {
  if (reinterpret_cast<uintptr_t>(address) % 16)
    misuse("a row of a matrix that is not aligned to 16");
  next_lane_state().address = address;
  meet({Operation::ldmatrix, 0xffffffffu});
}

const void *address_of_lane(unsigned lane) { return lane_state(lane).address; }

void multiply(float *sum, const uint32_t *a, const uint32_t *b,
              Numbers numbers) {
  auto value = [&](const uint32_t *registers, unsigned index, unsigned half) {
    return value_of(numbers, registers[index] >> 16 * half & 0xffff);
  };
  LaneState &own = next_lane_state();
  std::copy_n(a, 4, own.a);
  std::copy_n(b, 2, own.b);
  meet({Operation::mma, 0xffffffffu});
  // Four lanes share a row of A, a row of the sum and a column of B, and have
  // two neighbouring elements each, in eights of rows and of depth.
  const unsigned lane = running().thread.x % warp_size;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4, lower = i / 2;
    const unsigned column = lane % 4 * 2 + i % 2;
    double result = sum[i];
    for (unsigned depth = 0; depth < 16; ++depth) {
      const unsigned pair = depth % 8 / 2, half = depth % 2, deeper = depth / 8;
      result += value(lane_state(row * 4 + pair).a, lower + 2 * deeper, half) *
                value(lane_state(column * 4 + pair).b, deeper, half);
    }
    sum[i] = static_cast<float>(result);
  }
}

void multiply_bytes(int32_t *sum, const uint32_t *a, const uint32_t *b,
                    unsigned halves) {
  LaneState &own = next_lane_state();
  std::copy_n(a, 2 * halves, own.a);
  std::copy_n(b, halves, own.b);
  meet({Operation::mma, 0xffffffffu});
  auto byte = [](uint32_t word, unsigned i) {
    return int32_t{static_cast<int8_t>(word >> 8 * i)};
  };
  // As above, with four neighbours in a register, and sixteen of the depth in
  // those of a half.
  const unsigned lane = running().thread.x % warp_size;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4, lower = i / 2;
    const unsigned column = lane % 4 * 2 + i % 2;
    for (unsigned depth = 0; depth < 16 * halves; ++depth) {
      const unsigned four = depth % 16 / 4, half = depth / 16;
      sum[i] +=
          byte(lane_state(row * 4 + four).a[lower + 2 * half], depth % 4) *
          byte(lane_state(column * 4 + four).b[half], depth % 4);
    }
  }
}

} // namespace baton::emulation
