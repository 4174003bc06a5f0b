//===- sampling.h - from logits to the next token -------------------------===//
//
// What runtime/decode/sampler.h does on the host, by one block, with the
// weights of codegen/cpu/library/sample.cpp: exact sums of whole numbers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SAMPLING_H
#define BATON_CODEGEN_CUDA_LIBRARY_SAMPLING_H

#include "codegen/cuda/library/candidates.h"
#include "runtime/device_program.h"
#include "runtime/step_sampling.h"

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

/// Orders tokens as sampling does: by logits, of equal ones the lowest id is
/// the largest.
BATON_DEVICE int64_t order_of(float logit, int64_t token) {
  // Adding zero turns -0 into +0, which are equal as logits.
  const int32_t bits = __float_as_int(logit + 0.0f);
  // Integers that order like the floats, above the token's complement.
  const int64_t key = bits ^ ((bits >> 31) & 0x7fffffff);
  return key * 0x100000000 + (0x7fffffff - token);
}

/// The token of the largest logit, of equal ones the one with the lowest id, of
/// those whose order is below `bound`; -1 if a logit is infinite or not a
/// number, unless they are known to be fine. Given to all threads.
BATON_DEVICE int32_t likeliest(const float *logits, int64_t vocabulary,
                               int64_t *shared,
                               int64_t bound = 0x7fffffffffffffff,
                               bool checks = true) {
  int64_t best = -0x7fffffffffffffff;
  bool fine = true;
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
      fine &= (__float_as_int(loaded[i]) & 0x7f800000) != 0x7f800000;
      const int64_t order =
          order_of(loaded[i], token < vocabulary ? token : first);
      best = order > best && order < bound ? order : best;
    }
  }
  best = largest_of_block(best, shared);
  if (__syncthreads_or(checks && !fine))
    return -1;
  return static_cast<int32_t>(0x7fffffff - (best & 0x7fffffff));
}

/// What a block that samples shares.
struct SamplingMemory {
  SharedSum histogram[digit_values];
  int64_t integers[most_warps];
  uint64_t sums[most_warps];
};

/// The sum of all threads' values, given to all of them; `before` becomes that
/// of the threads before.
BATON_DEVICE uint64_t sum_of_block(uint64_t own, uint64_t &before,
                                   uint64_t *shared) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint64_t until = own;
#pragma unroll
  for (uint32_t apart = 1; apart < 32; apart *= 2) {
    const uint64_t other = __shfl_up_sync(0xffffffffu, until, apart);
    until += lane >= apart ? other : 0;
  }
  if (lane == 31)
    shared[warp] = until;
  __syncthreads();
  uint64_t total = 0, before_warp = 0;
  for (uint32_t i = 0; i < blockDim.x / 32; ++i) {
    before_warp = i == warp ? total : before_warp;
    total += shared[i];
  }
  __syncthreads();
  before = before_warp + until - own;
  return total;
}

struct SamplingChoice {
  double temperature, top_p, min_p;
  uint64_t top_k, seed;
};

/// A token of the logits, of which `best` is the likeliest; given to all
/// threads. A temperature of 0 takes that. Called by all threads of a block,
/// behind a barrier; ends with one.
BATON_DEVICE int32_t draw(const float *logits, int64_t vocabulary, int32_t best,
                          const SamplingChoice &wanted, uint64_t position,
                          SamplingMemory *memory) {
  if (wanted.temperature == 0 || wanted.top_k == 1)
    return best;
  const TokenWeights weights(vocabulary, logits[best], wanted.temperature);
  const double number = uniform(wanted.seed, position);
  const bool counted =
      wanted.top_k != 0 && wanted.top_k < static_cast<uint64_t>(vocabulary);
  if (counted || wanted.top_p < 1 || wanted.min_p > 0) {
    Candidates candidates(logits, vocabulary, weights, memory->histogram);
    if (counted)
      candidates.keep_count(wanted.top_k);
    if (wanted.top_p < 1)
      candidates.keep_part(wanted.top_p);
    if (wanted.min_p > 0)
      candidates.keep_near(wanted.min_p);
    return candidates.choose(number);
  }

  // Every thread has neighbouring tokens. One of them all has the place where
  // the running sum of weights exceeds a part of the whole.
  const int64_t begin = vocabulary * threadIdx.x / blockDim.x;
  const int64_t end = vocabulary * (threadIdx.x + 1) / blockDim.x;
  uint64_t own = 0, from = 0;
  for (int64_t token = begin; token < end; ++token)
    own += weights.of(logits[token]);
  const uint64_t total = sum_of_block(own, from, memory->sums);
  const auto part = static_cast<uint64_t>(number * static_cast<double>(total));
  const uint64_t target = part < total ? part : total - 1;
  int64_t chosen = -1;
  if (from <= target && target - from < own) {
    uint64_t rest = target - from;
    chosen = begin;
    for (uint64_t weight; (weight = weights.of(logits[chosen])) <= rest;
         ++chosen)
      rest -= weight;
  }
  return static_cast<int32_t>(largest_of_block(chosen, memory->integers));
}

} // namespace baton::cuda

/// The token at `position` of the sequence, given to all threads; -1 if a logit
/// is infinite or not a number. Called by all threads of a block, behind a
/// barrier; ends with one.
BATON_DEVICE int32_t baton_sample(const float *logits, int64_t vocabulary,
                                  const BatonGeneration &wanted,
                                  uint64_t position) {
  __shared__ baton::cuda::SamplingMemory memory;
  const int32_t best =
      baton::cuda::likeliest(logits, vocabulary, memory.integers);
  return best < 0 ? best
                  : baton::cuda::draw(logits, vocabulary, best,
                                      {wanted.temperature, wanted.top_p, 0,
                                       wanted.top_k, wanted.seed},
                                      position, &memory);
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SAMPLING_H
