//===- sampler.h - from logits to the next token -------------------------===//
//
// Random numbers are counter-based: the number for the token at a position is a
// pure function of (seed, position),
//   u = mix(mix(seed) + (position + 1) * 0x9e3779b97f4a7c15) / 2^64,
// the output function of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014) in a stream that starts at mix(seed),
// of which the upper 53 bits are used. So the same seed gives the same tokens
// for every number of workers and every cut of the prompt.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DECODE_SAMPLER_H
#define BATON_RUNTIME_DECODE_SAMPLER_H

#include <cstdint>
#include <span>
#include <vector>

namespace baton {

struct SamplingOptions {
  /// 0 takes the token of the largest logit, of equal ones the one with the
  /// lowest id. Otherwise logits are divided by it before the softmax.
  double temperature = 0;
  /// Only the tokens of the k largest logits are candidates; 0: all are.
  uint64_t top_k = 0;
  /// Of the candidates only the most probable ones are kept, the fewest whose
  /// probabilities sum to at least p (Holtzman et al., "The curious case of
  /// neural text degeneration", 2020). 0 < p <= 1.
  double top_p = 1;
  uint64_t seed = 0;
};

/// A number in [0, 1) that depends on nothing but its arguments.
double uniform(uint64_t seed, uint64_t position);

class Sampler {
public:
  explicit Sampler(const SamplingOptions &options) : options(options) {}

  /// Chooses the token at `position` of the sequence. Throws Error when a logit
  /// is infinite or not a number.
  int32_t sample(std::span<const float> logits, uint64_t position);

private:
  struct Candidate {
    float logit;
    int32_t token;
  };
  static bool less_likely(const Candidate &left, const Candidate &right);
  int32_t sample_all(std::span<const float> logits, float largest,
                     double number) const;
  int32_t sample_candidates(std::span<const float> logits, float largest,
                            double number);
  double weight(float logit, float largest) const;

  SamplingOptions options;
  /// Kept between calls to save the allocation.
  std::vector<Candidate> candidates;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_SAMPLER_H
