//===- sampling.h - from logits to the next token -------------------------===//
//
// What runtime/decode/sampler.h does on the host, by one block. The same seed
// and position give the same number; sums are of fixed parts in a fixed order,
// which is not the host's.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SAMPLING_H
#define BATON_CODEGEN_CUDA_LIBRARY_SAMPLING_H

#include "codegen/cuda/library/candidates.h"
#include "runtime/device_program.h"

namespace baton::cuda {

constexpr int most_warps = 32;

/// SplitMix64's finaliser, as in runtime/weights/hash.h.
BATON_DEVICE uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// A number in [0, 1), as in runtime/decode/sampler.cpp.
BATON_DEVICE double uniform(uint64_t seed, uint64_t position) {
  const uint64_t bits = mix(mix(seed) + (position + 1) * 0x9e3779b97f4a7c15u);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The larger of all threads' values, given to all of them. `shared` has room
/// for one of each warp, and was used last behind a barrier.
BATON_DEVICE int64_t largest_of_block(int64_t value, int64_t *shared) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const int64_t other = __shfl_xor_sync(0xffffffffu, value, apart);
    value = other > value ? other : value;
  }
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = value;
  __syncthreads();
  for (uint32_t warp = 0; warp < blockDim.x / 32; ++warp)
    value = shared[warp] > value ? shared[warp] : value;
  __syncthreads();
  return value;
}

/// The token of the largest logit, of equal ones the one with the lowest id; -1
/// if a logit is infinite or not a number. Given to all threads.
BATON_DEVICE int32_t likeliest(const float *logits, int64_t vocabulary,
                               int64_t *shared) {
  int64_t best = -0x7fffffffffffffff;
  bool finite = true;
  // As many loads under way as hide that one block reads all logits.
  constexpr int at_once = 16;
#pragma unroll 1
  for (int64_t first = threadIdx.x; first < vocabulary;
       first += at_once * blockDim.x) {
    float loaded[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      // Behind the end the first one again.
      const int64_t token = first + i * int64_t(blockDim.x);
      loaded[i] = logits[token < vocabulary ? token : first];
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int64_t token = first + i * int64_t(blockDim.x);
      // Adding zero turns -0 into +0, which are equal as logits.
      const int32_t bits = __float_as_int(loaded[i] + 0.0f);
      finite &= (bits & 0x7f800000) != 0x7f800000;
      // Integers that order like the floats, above the token's complement.
      const int64_t key = bits ^ ((bits >> 31) & 0x7fffffff);
      const int64_t candidate =
          key * 0x100000000 +
          (0x7fffffff - (token < vocabulary ? token : first));
      best = candidate > best ? candidate : best;
    }
  }
  best = largest_of_block(best, shared);
  if (__syncthreads_or(!finite))
    return -1;
  return static_cast<int32_t>(0x7fffffff - (best & 0x7fffffff));
}

} // namespace baton::cuda

/// The token at `position` of the sequence, given to all threads; -1 if a logit
/// is infinite or not a number. A temperature of 0 takes the likeliest. Called
/// by all threads of a block, behind a barrier; ends with one.
BATON_DEVICE int32_t baton_sample(const float *logits, int64_t vocabulary,
                                  const BatonGeneration &wanted,
                                  uint64_t position) {
  using namespace baton::cuda;
  const double temperature = wanted.temperature;
  __shared__ int64_t integers[most_warps];
  __shared__ SharedSum histogram[digit_values];
  __shared__ double sums[most_warps];
  __shared__ int32_t chosen;
  const int32_t best = likeliest(logits, vocabulary, integers);
  if (best < 0 || temperature == 0)
    return best;
  const double random = uniform(wanted.seed, position);
  const bool counted =
      wanted.top_k != 0 && wanted.top_k < static_cast<uint64_t>(vocabulary);
  if (counted || wanted.top_p < 1) {
    Candidates candidates(logits, vocabulary, logits[best], temperature,
                          histogram);
    if (counted)
      candidates.keep_count(wanted.top_k);
    if (wanted.top_p < 1)
      candidates.keep_part(wanted.top_p);
    return candidates.choose(random);
  }

  // Every thread has neighbouring tokens. Where its part of the whole weight
  // begins is the sum of the parts before, exactly where that of its neighbour
  // ends.
  const double largest = logits[best];
  const int64_t begin = vocabulary * threadIdx.x / blockDim.x;
  const int64_t end = vocabulary * (threadIdx.x + 1) / blockDim.x;
  auto weight = [&](int64_t token) {
    return ::exp((static_cast<double>(logits[token]) - largest) / temperature);
  };
  double own = 0;
  for (int64_t token = begin; token < end; ++token)
    own += weight(token);
  const int lane = threadIdx.x % 32;
  const uint32_t warp = threadIdx.x / 32;
  double until = own;
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    const double before = __shfl_up_sync(0xffffffffu, until, apart);
    until = lane >= apart ? before + until : until;
  }
  if (lane == 31)
    sums[warp] = until;
  const double before_lane = __shfl_up_sync(0xffffffffu, until, 1);
  __syncthreads();
  double before_warp = 0, total = 0;
  for (uint32_t i = 0; i < blockDim.x / 32; ++i) {
    before_warp = i == warp ? total : before_warp;
    total += sums[i];
  }
  const double number = random * total;
  const double from = before_warp + (lane ? before_lane : 0.0);
  // Rounding may leave a rest behind the last thread of any weight, which it
  // then falls to.
  const int64_t owner = largest_of_block(
      own > 0 && from <= number ? static_cast<int64_t>(threadIdx.x) : -1,
      integers);
  if (owner == static_cast<int64_t>(threadIdx.x)) {
    double rest = number - from;
    int64_t last = begin;
    for (int64_t token = begin; token < end; ++token) {
      const double share = weight(token);
      if (share == 0)
        continue;
      last = token;
      if (rest < share)
        break;
      rest -= share;
    }
    chosen = static_cast<int32_t>(last);
  }
  __syncthreads();
  const int32_t token = chosen;
  __syncthreads();
  return token;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SAMPLING_H
