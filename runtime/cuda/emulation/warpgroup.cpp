//===- warpgroup.cpp - asynchronous multiplications of matrices -----------===//

#include "runtime/cuda/emulation/warpgroup.h"

#include "runtime/cuda/emulation/engine.h"
#include "runtime/cuda/emulation/fiber.h"

#include <algorithm>
#include <limits>

namespace baton::emulation {

namespace {

constexpr unsigned warp_size = 32, max_threads = 1024;
/// Of a warp, not yet complete.
constexpr unsigned max_multiplications = 64;
/// Of a lane, at the same time.
constexpr unsigned max_accumulators = 8;
constexpr unsigned depths = 16, max_columns = 256;

/// Sums that multiplications of a lane add to.
struct Accumulator {
  /// Null if there are none.
  float *target;
  std::vector<float> values;
  /// Of the latest multiplication.
  uint32_t group;
};

struct Lane {
  uint32_t issued, committed;
  bool fenced;
  Accumulator accumulators[max_accumulators];
};

struct Multiplication {
  /// Of the left side only if it is in shared memory; a is null then.
  uint64_t left, descriptor;
  unsigned columns;
  Numbers numbers;
  uint32_t group;
  const uint32_t *a[warp_size];
  float *values[warp_size];
};

struct Warp {
  /// Multiplications are numbered as they are issued and complete in order.
  uint32_t begun, completed;
  Multiplication multiplications[max_multiplications];
  Lane lanes[warp_size];
};

struct BlockState {
  Warp warps[max_threads / warp_size];
  /// What was done before proxy fences; what has been read.
  Clock fenced, done;
};

/// As in async.cpp.
BlockState &state() {
  static thread_local BlockState instance;
  return instance;
}
Warp &warp_state() { return state().warps[running().thread.x / warp_size]; }
unsigned own_lane() { return running().thread.x % warp_size; }

[[noreturn]] void misuse(const std::string &what) {
  fail("block " + std::to_string(running().block.x) + ", thread " +
       std::to_string(running().thread.x) + ": " + what);
}

/// Rows of the left side that are this warp's: 16 of the warpgroup's 64.
unsigned first_row() { return running().thread.x / warp_size % 4 * 16; }

/// Two for a row of 16 depths.
void read_rows_as(const Fiber &fiber, uint64_t descriptor, unsigned first,
                  unsigned count) {
  for (unsigned row = first; row < first + count; ++row)
    for (unsigned chunk = 0; chunk < 2; ++chunk)
      read_as(fiber,
              running().shared + address_in_matrix(descriptor, row, chunk), 16);
}
void read_matrices_as(const Fiber &fiber, const Multiplication &which) {
  read_rows_as(fiber, which.descriptor, 0, which.columns);
  if (!which.a[0])
    read_rows_as(fiber, which.left, first_row(), 16);
}

double element(const Multiplication &which, uint64_t descriptor, unsigned row,
               unsigned depth) {
  return value_of(which.numbers, reinterpret_cast<const uint16_t *>(
                                     running().shared +
                                     address_in_matrix(descriptor, row,
                                                       depth / 8))[depth % 8]);
}

/// Of the warp's 16 rows.
double left_element(const Multiplication &which, unsigned row, unsigned depth) {
  if (!which.a[0])
    return element(which, which.left, first_row() + row, depth);
  const uint32_t *a = which.a[row % 8 * 4 + depth % 8 / 2];
  return value_of(which.numbers,
                  a[depth / 8 * 2 + row / 8] >> depth % 2 * 16 & 0xffff);
}

void complete(const Multiplication &which) {
  read_matrices_as(*running().tensor, which);
  double a[16][depths], b[depths][max_columns];
  for (unsigned depth = 0; depth < depths; ++depth) {
    for (unsigned row = 0; row < 16; ++row)
      a[row][depth] = left_element(which, row, depth);
    for (unsigned column = 0; column < which.columns; ++column)
      b[depth][column] = element(which, which.descriptor, column, depth);
  }
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned i = 0; i < which.columns / 2; ++i) {
      // Four lanes have a row, two neighbouring columns each of every eight.
      const unsigned row = lane / 4 + i / 2 % 2 * 8;
      const unsigned column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double sum = which.values[lane][i];
      for (unsigned depth = 0; depth < depths; ++depth)
        sum += a[row][depth] * b[depth][column];
      which.values[lane][i] = static_cast<float>(sum);
    }
}

/// Completes the groups before `group`, all lanes of which have been issued.
void complete_groups(Warp &warp, const Lane &own, uint32_t group) {
  while (warp.completed < own.issued) {
    const Multiplication &which =
        warp.multiplications[warp.completed % max_multiplications];
    if (which.group >= group)
      break;
    complete(which);
    ++warp.completed;
    state().done.release(*running().tensor);
  }
}

/// Takes over the sums at `target`, which nobody may look at from now on.
Accumulator &accumulator(Lane &own, float *target, unsigned count) {
  Accumulator *free = nullptr;
  for (Accumulator &candidate : own.accumulators)
    if (candidate.target == target)
      return candidate;
    else if (!candidate.target)
      free = &candidate;
  if (!free)
    misuse("sums of more than " + std::to_string(max_accumulators) +
           " multiplications");
  free->target = target;
  free->values.assign(target, target + count);
  std::fill_n(target, count, std::numeric_limits<float>::quiet_NaN());
  return *free;
}

} // namespace

uint32_t shared_address(const void *shared) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(shared) -
                           reinterpret_cast<uintptr_t>(running().shared);
  if (offset >= 1 << 18)
    misuse("an address that is not in dynamic shared memory");
  return static_cast<uint32_t>(offset);
}

uint32_t address_in_matrix(uint64_t descriptor, unsigned row, unsigned chunk) {
  const uint32_t start = (descriptor & 0x3fff) << 4;
  const uint32_t stride = (descriptor >> 32 & 0x3fff) << 4;
  if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0 ||
      start % 1024 >= 128 || stride % 1024 != 0)
    misuse("a matrix that is not in an aligned 128-byte swizzle");
  const uint32_t address =
      start + row / 8 * stride + row % 8 * 128 + chunk * 16;
  return address ^ (address >> 7 & 7) << 4;
}

void fence_multiplications() { warp_state().lanes[own_lane()].fenced = true; }

/// `a` is null if the left side is what `left` describes.
static void begin(float *sum, unsigned columns, const uint32_t *a,
                  uint64_t left, uint64_t descriptor, Numbers numbers) {
  Warp &warp = warp_state();
  Lane &own = warp.lanes[own_lane()];
  if (!own.fenced)
    misuse("wgmma.mma_async without wgmma.fence since the last wait");
  if (own.issued - warp.completed >= max_multiplications)
    misuse("more than " + std::to_string(max_multiplications) +
           " multiplications under way");
  Multiplication &which =
      warp.multiplications[own.issued % max_multiplications];
  if (warp.begun == own.issued) {
    which.left = left;
    which.descriptor = descriptor;
    which.columns = columns;
    which.numbers = numbers;
    which.group = own.committed;
    ++warp.begun;
  }
  if (which.left != left || which.descriptor != descriptor ||
      which.columns != columns || which.numbers != numbers ||
      which.group != own.committed)
    misuse("a multiplication that differs from that of its warp's other lanes");
  Accumulator &sums = accumulator(own, sum, columns / 2);
  sums.group = own.committed;
  ++own.issued;
  which.a[own_lane()] = a;
  which.values[own_lane()] = sums.values.data();
  // The lanes of a warp are one as to what is ordered before it.
  if (own_lane() == 0) {
    read_matrices_as(running(), which);
    state().fenced.acquire(*running().tensor);
  }
  meet({Operation::wgmma, 0xffffffffu});
}

void multiply_later(float *sum, unsigned columns, const uint32_t *a,
                    uint64_t descriptor) {
  begin(sum, columns, a, 0, descriptor, Numbers::bf16);
}
void multiply_later(float *sum, unsigned columns, uint64_t left,
                    uint64_t descriptor, Numbers numbers) {
  begin(sum, columns, nullptr, left, descriptor, numbers);
}

void commit_multiplications() {
  Warp &warp = warp_state();
  Lane &own = warp.lanes[own_lane()];
  ++own.committed;
  if (draw(4) == 1)
    complete_groups(warp, own, draw(own.committed + 1));
}

void wait_for_multiplications(unsigned groups) {
  Warp &warp = warp_state();
  Lane &own = warp.lanes[own_lane()];
  const uint32_t group = own.committed - std::min(own.committed, groups);
  complete_groups(warp, own, group);
  state().done.acquire(running());
  own.fenced = false;
  for (Accumulator &sums : own.accumulators)
    if (sums.target && sums.group < group) {
      std::copy(sums.values.begin(), sums.values.end(), sums.target);
      sums.target = nullptr;
    }
}

void proxy_fence_for_multiplications() { state().fenced.release(running()); }

} // namespace baton::emulation
