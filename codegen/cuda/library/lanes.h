//===- lanes.h - sixteen threads that share a row -------------------------===//
//
// Sums over a row keep sixteen partial sums, on the CPU the lanes of a vector.
// Here they are sixteen neighbouring threads, half a warp.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_LANES_H
#define BATON_CODEGEN_CUDA_LIBRARY_LANES_H

#include "codegen/cuda/library/elements.h"

namespace baton::cuda {

constexpr int lanes = 16;

// Both are called by whole warps, and give all lanes the result.

/// The one summation tree of the library: lanes 8 apart, 4 apart, 2, 1.
BATON_DEVICE float sum_of_lanes(float value) {
#pragma unroll
  for (int apart = lanes / 2; apart > 0; apart /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, apart);
  return value;
}

/// Whether a NaN is passed on depends on where it is. As on the CPU that is
/// harmless: every user also carries the NaN itself into a sum.
BATON_DEVICE float maximum_of_lanes(float value) {
#pragma unroll
  for (int apart = lanes / 2; apart > 0; apart /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, apart);
    value = value > other ? value : other;
  }
  return value;
}

/// out[row][column] = value(row, column, gather(row, lane)) for [rows, width],
/// where gather, called by whole warps, returns the same to the sixteen lanes
/// of a row. Elements may be written that `gather` and `value` of the same
/// element read.
///
/// Where there are fewer rows than there are sixteens of threads, several of
/// these gather the same, which costs less than handing it on, and share the
/// row's elements.
template <typename Gather, typename Value>
BATON_DEVICE void for_each_row(float *out, int64_t out_stride, int64_t rows,
                               int64_t width, Gather gather, Value value) {
  const uint32_t teams = baton_threads() / lanes;
  const uint32_t thread = baton_thread();
  const uint32_t team = thread / lanes;
  const uint32_t lane = thread % lanes;
  for (int64_t first = 0; first < rows; first += teams) {
    const uint32_t count =
        rows - first < teams ? static_cast<uint32_t>(rows - first) : teams;
    const uint32_t shares = teams / count;
    const uint32_t share = team / count;
    const int64_t row = first + team % count;
    const auto gathered = gather(row, lane);
    // In place, nobody may write before all have gathered.
    if (count < teams)
      __syncthreads();
    const int64_t column = share * lanes + lane;
    fill(
        Walk{share < shares && column < width ? 0 : 1, column, 0,
             shares * lanes, width},
        1,
        [&](int64_t, int64_t column) {
          return out + row * out_stride + column;
        },
        [&](int64_t, int64_t column) { return value(row, column, gathered); });
  }
}

/// body(job, lane, is_own) for `count` jobs, each of sixteen threads. Called by
/// whole warps: behind the end the last job comes once more, which is not the
/// sixteen's own.
template <typename Body>
BATON_DEVICE void for_each_team(int64_t count, Body body) {
  const uint32_t teams = baton_threads() / lanes;
  const uint32_t team = baton_thread() / lanes;
  const uint32_t lane = baton_thread() % lanes;
  for (int64_t first = 0; first < count; first += teams) {
    const int64_t job = first + team;
    body(job < count ? job : count - 1, lane, job < count);
  }
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_LANES_H
