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
// Places are found eight bits at a time by histograms, in shared memory. Sums
// are of whole numbers: in any order the same. So weights have a fixed point,
// which leaves 43 bits behind it for 256 K tokens; the host's are floating, and
// a number within 2^-43 of the border between two tokens may fall to the other
// one.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_CANDIDATES_H
#define BATON_CODEGEN_CUDA_LIBRARY_CANDIDATES_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

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
  /// Finite logits, of which `largest` is the largest; at most 2^24 tokens; a
  /// temperature above 0. `histogram` is shared memory, of digit_values.
  __device__ __forceinline__ Candidates(const float *logits, int64_t vocabulary,
                                        float largest, double temperature,
                                        SharedSum *histogram)
      : logits(logits), vocabulary(vocabulary), largest(largest),
        temperature(temperature), histogram(histogram) {
    int bits = 0;
    while (vocabulary >> bits)
      ++bits;
    // The sum of all has less than 63 bits.
    scale = static_cast<double>(uint64_t(1) << (62 - bits));
  }

  /// Only the `count` most probable tokens stay candidates, of at least as
  /// many.
  __device__ __forceinline__ void keep_count(uint64_t count) {
    lowest = place_where([](float) { return uint64_t(1); },
                         [count](uint64_t) { return count; });
  }
  /// Only the fewest stay whose weights sum to at least this part, above 0, of
  /// the sum.
  __device__ __forceinline__ void keep_part(double part) {
    lowest = place_where([this](float logit) { return weight(logit); },
                         [part](uint64_t sum) {
                           const double wanted =
                               ::ceil(part * static_cast<double>(sum));
                           const uint64_t target =
                               static_cast<uint64_t>(wanted);
                           return target < 1 ? 1 : target > sum ? sum : target;
                         });
  }
  /// One of them, by a number in [0, 1).
  __device__ __forceinline__ int32_t choose(double number) {
    const uint64_t place =
        place_where([this](float logit) { return weight(logit); },
                    [number](uint64_t sum) {
                      const uint64_t before = static_cast<uint64_t>(
                          number * static_cast<double>(sum));
                      return before < sum ? before + 1 : sum;
                    });
    return static_cast<int32_t>(token_mask - (place & token_mask));
  }

private:
  static constexpr uint64_t token_mask = 0xffffff;

  __device__ __forceinline__ uint64_t weight(float logit) const {
    const double away = static_cast<double>(logit) - largest;
    return static_cast<uint64_t>(::exp(away / temperature) * scale + 0.5);
  }

  /// Larger for more probable tokens: larger logits, of equal ones lower ids.
  /// The first digit follows from the weight, 8 for each factor of e: bits of
  /// floats alone would put all tokens into few bins.
  __device__ __forceinline__ uint64_t place_of(float logit,
                                               int64_t token) const {
    const double away =
        (static_cast<double>(largest) - logit) / temperature * 8.0;
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
  float largest;
  double temperature;
  double scale;
  SharedSum *histogram;
  /// Candidates have this place or a larger one.
  uint64_t lowest = 0;
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_CANDIDATES_H
