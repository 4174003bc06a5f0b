//===- CopyKernels.h - kernels that copy ahead ----------------------------===//
//
// Each block writes a row of numbers, and sums up the row of the next block,
// which it brings to shared memory a piece ahead: once by groups of cp.async,
// once by bulk copies and barriers. A CopyFault leaves something out.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_RUNTIME_CUDA_EMULATION_COPYKERNELS_H
#define BATON_TEST_RUNTIME_CUDA_EMULATION_COPYKERNELS_H

#include <vector>

#include "codegen/cuda/library/async.h"

enum class CopyFault {
  none,
  /// Groups: reading what has only been started.
  missing_wait,
  /// Groups: reading what others have waited for.
  missing_barrier,
  /// Bulk: copying what ordinary stores wrote, without a proxy fence.
  missing_proxy_fence,
  /// Bulk: only thread 0 knows that the barrier's phase has ended.
  missing_full,
  /// Bulk: giving a piece back before it has been read.
  early_empty,
};

struct Rows {
  static constexpr int piece = 256, pieces = 12, size = piece * pieces;

  float *rows, *sums;
  uint32_t *written;
};

/// Writes the block's own row and returns the next block's, once it is there.
BATON_DEVICE const float *exchange_rows(const Rows &data) {
  float *own = data.rows + blockIdx.x * Rows::size;
  for (int i = threadIdx.x; i < Rows::size; i += blockDim.x)
    own[i] = static_cast<float>((i * 7 + blockIdx.x) % 31);
  __syncthreads();
  const unsigned next = (blockIdx.x + 1) % gridDim.x;
  if (threadIdx.x == 0) {
    baton_add_release(&data.written[blockIdx.x], 1);
    while (baton_load_acquire(&data.written[next]) == 0)
      baton_pause(20);
  }
  __syncthreads();
  return data.rows + next * Rows::size;
}

/// The threads' sums, which every element has been added to once.
BATON_DEVICE void add_up(const Rows &data, float sum) {
  __shared__ float partial[1024];
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  sum = 0.0f;
  for (unsigned thread = 0; thread < blockDim.x; ++thread)
    sum += partial[thread];
  data.sums[blockIdx.x] = sum;
}

/// Two pieces in shared memory. Threads read what others have copied.
template <CopyFault fault> __global__ void copy_by_groups(Rows data) {
  BATON_DYNAMIC_SHARED(bytes);
  float *shared = reinterpret_cast<float *>(bytes);
  const float *row = exchange_rows(data);
  auto start = [&](int piece) {
    for (int i = threadIdx.x * 4; i < Rows::piece; i += blockDim.x * 4)
      baton_copy_async(shared + piece % 2 * Rows::piece + i,
                       row + piece * Rows::piece + i);
    baton_copies_commit();
  };
  float sum = 0.0f;
  start(0);
  for (int piece = 0; piece < Rows::pieces; ++piece) {
    if (piece + 1 < Rows::pieces)
      start(piece + 1);
    else
      baton_copies_commit();
    if constexpr (fault != CopyFault::missing_wait)
      baton_copies_wait<1>();
    if constexpr (fault != CopyFault::missing_barrier)
      __syncthreads();
    for (int i = threadIdx.x; i < Rows::piece; i += blockDim.x)
      sum += shared[piece % 2 * Rows::piece + (i + 33) % Rows::piece];
    __syncthreads();
  }
  add_up(data, sum);
}

/// Three pieces in shared memory, filled by thread 0, each with a barrier for
/// what is full and one for what has been read.
template <CopyFault fault> __global__ void copy_in_bulk(Rows data) {
  constexpr int stages = 3;
  constexpr uint32_t piece_bytes = Rows::piece * sizeof(float);
  BATON_DYNAMIC_SHARED(bytes);
  float *shared = reinterpret_cast<float *>(bytes);
  __shared__ uint64_t full[stages], empty[stages];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      baton_barrier_init(&full[stage], 1);
      baton_barrier_init(&empty[stage], blockDim.x / 32);
    }
    baton_barrier_init_fence();
  }
  const float *row = exchange_rows(data);
  auto start = [&](int piece) {
    const int stage = piece % stages;
    if (piece >= stages)
      baton_barrier_wait(&empty[stage], (piece / stages - 1) % 2);
    baton_barrier_arrive_expect(&full[stage], piece_bytes);
    baton_bulk_copy(shared + stage * Rows::piece, row + piece * Rows::piece,
                    piece_bytes, &full[stage]);
  };
  if (threadIdx.x == 0) {
    if constexpr (fault != CopyFault::missing_proxy_fence)
      baton_proxy_fence();
    for (int piece = 0; piece < stages; ++piece)
      start(piece);
  }
  float sum = 0.0f;
  for (int piece = 0; piece < Rows::pieces; ++piece) {
    const int stage = piece % stages;
    auto give_back = [&] {
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        baton_barrier_arrive(&empty[stage]);
    };
    if (fault != CopyFault::missing_full || threadIdx.x == 0)
      baton_barrier_wait(&full[stage], piece / stages % 2);
    if constexpr (fault == CopyFault::early_empty)
      give_back();
    for (int i = threadIdx.x; i < Rows::piece; i += blockDim.x)
      sum += shared[stage * Rows::piece + i];
    if constexpr (fault != CopyFault::early_empty)
      give_back();
    if (threadIdx.x == 0 && piece + stages < Rows::pieces)
      start(piece + stages);
  }
  add_up(data, sum);
}

// On the host -----------------------------------------------------------------

/// True if the sums are right.
inline bool copies_rows(const baton::emulation::Launch &launch,
                        void (*kernel)(Rows)) {
  std::vector<float> rows(size_t{launch.blocks} * Rows::size);
  std::vector<float> sums(launch.blocks), expected(launch.blocks);
  std::vector<uint32_t> written(launch.blocks);
  for (unsigned block = 0; block < launch.blocks; ++block)
    for (int i = 0; i < Rows::size; ++i)
      expected[block] +=
          static_cast<float>((i * 7 + (block + 1) % launch.blocks) % 31);
  struct Call {
    void (*kernel)(Rows);
    Rows rows;
  } call = {kernel, {rows.data(), sums.data(), written.data()}};
  baton::emulation::Launch with_shared = launch;
  with_shared.shared_bytes = 3 * Rows::piece * sizeof(float);
  baton::emulation::launch(
      with_shared,
      [](void *argument) {
        const Call &call = *static_cast<const Call *>(argument);
        call.kernel(call.rows);
      },
      &call);
  return sums == expected;
}

#endif // BATON_TEST_RUNTIME_CUDA_EMULATION_COPYKERNELS_H
