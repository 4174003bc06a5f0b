//===- candidates.h - sampling among the most probable tokens -------------===//
//
// Top-k and top-p as in runtime/decode/sampler.h, by one block, without
// sorting. Tokens have places, in the order in which the host sorts them; what
// is looked for is always the place where a running sum over the tokens, the
// most probable first, reaches a target:
//
//   top-k    of ones, k: the tokens from there on upwards stay;
//   top-p    of their weights, p of the sum of all;
//   choice   of those that are left, a random part of their sum.
//
// Places are found eight bits at a time by histograms. Sums are of whole
// numbers: in any order the same, those of the CPU's body. The host's are
// floating, and a number within 2^-40 of the border between two tokens may fall
// to the other one.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_CANDIDATES_H
#define BATON_CODEGEN_CUDA_LIBRARY_CANDIDATES_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

/// e^x for x that is not positive, as in codegen/cpu/library/sample.cpp.
BATON_DEVICE double exp_below(double x) {
  x = x < -60.0 ? -60.0 : x;
  const double shift = 0x1.8p52;
  const double shifted = ::fma(x, 0x1.71547652b82fep+0, shift);
  const double n = shifted - shift;
  double r = ::fma(n, -0x1.62e42fefa39efp-1, x);
  r = ::fma(n, -0x1.abc9e3b39803fp-56, r);
  double p = 1.0 / 6227020800.0;
  p = ::fma(p, r, 1.0 / 479001600.0);
  p = ::fma(p, r, 1.0 / 39916800.0);
  p = ::fma(p, r, 1.0 / 3628800.0);
  p = ::fma(p, r, 1.0 / 362880.0);
  p = ::fma(p, r, 1.0 / 40320.0);
  p = ::fma(p, r, 1.0 / 5040.0);
  p = ::fma(p, r, 1.0 / 720.0);
  p = ::fma(p, r, 1.0 / 120.0);
  p = ::fma(p, r, 1.0 / 24.0);
  p = ::fma(p, r, 1.0 / 6.0);
  p = ::fma(p, r, 0.5);
  p = ::fma(p, r, 1.0);
  p = ::fma(p, r, 1.0);
  const int64_t exponent =
      __double_as_longlong(shifted) - __double_as_longlong(shift);
  return p * __longlong_as_double((exponent + 1023) << 52);
}

/// What tokens weigh in the choice of one: whole numbers.
struct TokenWeights {
  double largest, temperature, scale;

  __device__ __forceinline__ TokenWeights(int64_t vocabulary, float largest,
                                          double temperature)
      : largest(largest), temperature(temperature) {
    int bits = 0;
    while (vocabulary >> bits)
      ++bits;
    // The sum of all has less than 63 bits, and each at most 51.
    scale = static_cast<double>(int64_t(1) << (bits < 12 ? 50 : 62 - bits));
  }
  __device__ __forceinline__ uint64_t of(float logit) const {
    const double away = static_cast<double>(logit) - largest;
    const double weight = exp_below(away / temperature) * scale;
    const double shift = 0x1.8p52;
    return static_cast<uint64_t>(__double_as_longlong(weight + shift) -
                                 __double_as_longlong(shift));
  }
};

/// A sum in shared memory that threads add to. Atomics of 64 bits are loops
/// there, those of 32 are not.
struct SharedSum {
  uint32_t low, high;

  __device__ __forceinline__ void add(uint64_t value) {
    const uint32_t part = static_cast<uint32_t>(value);
    const uint32_t before = part ? atomicAdd(&low, part) : 0;
    const uint32_t upper =
        static_cast<uint32_t>(value >> 32) + (before + part < before);
    if (upper)
      atomicAdd(&high, upper);
  }
  __device__ __forceinline__ uint64_t value() const {
    return static_cast<uint64_t>(high) << 32 | low;
  }
};

constexpr int digit_values = 256;

/// The tokens of one distribution. All members are called by all threads of the
/// block, and give all of them the same.
class Candidates {
public:
  /// Logits that are finite, or infinitely negative of tokens that are none; at
  /// most 2^24 tokens; a temperature above 0. `histogram` has digit_values.
  __device__ __forceinline__ Candidates(const float *logits, int64_t vocabulary,
                                        const TokenWeights &weights,
                                        SharedSum *histogram)
      : logits(logits), vocabulary(vocabulary), weights(weights),
        histogram(histogram) {}

  /// Only the `count` most probable tokens stay candidates, of at least as
  /// many.
  __device__ __forceinline__ void keep_count(uint64_t count) {
    lowest = place_where([](float) { return uint64_t(1); },
                         [count](uint64_t) { return count; });
  }
  /// Only the fewest stay whose weights sum to at least this part, above 0, of
  /// the sum.
  __device__ __forceinline__ void keep_part(double part) {
    lowest = place_where([this](float logit) { return weights.of(logit); },
                         [part](uint64_t sum) {
                           const double wanted =
                               ::ceil(part * static_cast<double>(sum));
                           const uint64_t target =
                               static_cast<uint64_t>(wanted);
                           return target < 1 ? 1 : target > sum ? sum : target;
                         });
  }
  /// Only those stay that weigh at least this part of what the most probable
  /// one does.
  __device__ __forceinline__ void keep_near(double part) {
    const double least = part * weights.scale;
    if (threadIdx.x == 0)
      histogram[0] = {0, 0};
    __syncthreads();
    uint64_t own = 0;
    for (int64_t token = threadIdx.x; token < vocabulary; token += blockDim.x) {
      const float logit = logits[token];
      own += place_of(logit, token) >= lowest &&
             static_cast<double>(weights.of(logit)) >= least;
    }
    histogram[0].add(own);
    __syncthreads();
    const uint64_t count = histogram[0].value();
    __syncthreads();
    keep_count(count);
  }
  /// One of them, by a number in [0, 1).
  __device__ __forceinline__ int32_t choose(double number) {
    const uint64_t place =
        place_where([this](float logit) { return weights.of(logit); },
                    [number](uint64_t sum) {
                      const uint64_t before = static_cast<uint64_t>(
                          number * static_cast<double>(sum));
                      return before < sum ? before + 1 : sum;
                    });
    return static_cast<int32_t>(token_mask - (place & token_mask));
  }

private:
  static constexpr uint64_t token_mask = 0xffffff;

  /// Larger for more probable tokens: larger logits, of equal ones lower ids.
  /// The first digit follows from the weight, 8 for each factor of e: bits of
  /// floats alone would put all tokens into few bins.
  __device__ __forceinline__ uint64_t place_of(float logit,
                                               int64_t token) const {
    const double away = (weights.largest - logit) / weights.temperature * 8.0;
    const uint64_t nearness =
        away < 255.0 ? 255 - static_cast<uint64_t>(away) : 0;
    // Adding zero turns -0 into +0, which are equal as logits.
    const uint32_t bits = __float_as_uint(logit + 0.0f);
    const uint32_t order = bits >> 31 ? ~bits : bits | 0x80000000u;
    return nearness << 56 | static_cast<uint64_t>(order) << 24 |
           (token_mask - static_cast<uint64_t>(token));
  }

  /// The place of the candidate with which the sum of what `measure` says of
  /// logits, the most probable candidates first, reaches target_of(sum of all),
  /// which is at least 1 and at most that sum.
  template <typename Measure, typename Target>
  __device__ __forceinline__ uint64_t place_where(Measure measure,
                                                  Target target_of) const {
    constexpr uint32_t all = 0xffffffffu;
    const uint32_t lane = threadIdx.x % 32;
    // Digits found so far, and how much of the target is left below what lies
    // above them.
    uint64_t prefix = 0, left = 0;
#pragma unroll 1
    for (int shift = 56; shift >= 0; shift -= 8) {
      for (uint32_t i = threadIdx.x; i < digit_values; i += blockDim.x)
        histogram[i] = {0, 0};
      __syncthreads();
#pragma unroll 1
      for (int64_t token = threadIdx.x; token < vocabulary;
           token += blockDim.x) {
        const float logit = logits[token];
        const uint64_t place = place_of(logit, token);
        const bool matches = shift == 56 || place >> (shift + 8) == prefix;
        if (matches && place >= lowest)
          histogram[place >> shift & 0xff].add(measure(logit));
      }
      __syncthreads();

      // A lane has eight bins, the largest digits first; every warp does the
      // same.
      constexpr uint32_t bins = digit_values / 32;
      const uint32_t first = digit_values - 1 - lane * bins;
      uint64_t own = 0;
      for (uint32_t i = 0; i < bins; ++i)
        own += histogram[first - i].value();
      uint64_t until = own;
#pragma unroll
      for (uint32_t apart = 1; apart < 32; apart *= 2) {
        const uint64_t before = __shfl_up_sync(all, until, apart);
        until += lane >= apart ? before : 0;
      }
      if (shift == 56)
        left = target_of(__shfl_sync(all, until, 31));
      // The first lane behind which enough is reached looks which bin it is.
      uint64_t before = until - own;
      uint32_t digit = first;
      for (; digit > first - bins + 1; --digit) {
        const uint64_t value = histogram[digit].value();
        if (before + value >= left)
          break;
        before += value;
      }
      const int owner = __ffs(__ballot_sync(all, until >= left)) - 1;
      prefix = prefix << 8 | __shfl_sync(all, digit, owner);
      left -= __shfl_sync(all, before, owner);
      __syncthreads();
    }
    return prefix;
  }

  const float *logits;
  int64_t vocabulary;
  TokenWeights weights;
  SharedSum *histogram;
  /// Candidates have this place or a larger one.
  uint64_t lowest = 0;
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_CANDIDATES_H
