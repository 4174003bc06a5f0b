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
// Logits go through these in order, each of which is left out where its option
// changes nothing:
//   bias, repetition penalty, frequency and presence penalty, mask,
//   temperature, top-k, top-p, min-p.
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
  /// Of the candidates only those are kept that are at least so many times as
  /// probable as the most probable one. 0 <= p <= 1; 0 keeps all.
  double min_p = 0;
  /// Logits of tokens that the prompt or the text behind it has are divided by
  /// it when they are positive, else multiplied (Keskar et al., "CTRL", 2019).
  /// Above 0; 1 changes nothing.
  double repetition_penalty = 1;
  /// Subtracted from the logits of tokens that the text behind the prompt has,
  /// and as often as it has them.
  double presence_penalty = 0;
  double frequency_penalty = 0;
  struct Bias {
    int32_t token;
    float bias;
  };
  /// Added to logits; tokens are in the vocabulary, each once.
  std::vector<Bias> logit_bias = {};

  /// Whether logits are changed before the temperature.
  bool changes_logits() const {
    return repetition_penalty != 1 || presence_penalty != 0 ||
           frequency_penalty != 0 || !logit_bias.empty();
  }
  /// Whether temperature, top-k and top-p say all, which is what devices know.
  bool is_basic() const { return !changes_logits() && min_p == 0; }
};

/// A number in [0, 1) that depends on nothing but its arguments.
double uniform(uint64_t seed, uint64_t position);

class Sampler {
public:
  explicit Sampler(const SamplingOptions &options) : options(options) {}

  /// Chooses the token at `position` of the sequence; of options that have no
  /// penalties. Where there is a mask, of the tokens that it allows: bit
  /// t mod 32 of word t / 32 is that of token t. Throws Error when a logit,
  /// masked or not, is infinite or not a number, or when no token is allowed.
  int32_t sample(std::span<const float> logits, uint64_t position,
                 std::span<const uint32_t> mask = {});

  /// Chooses the token behind `tokens`, of which the first `prompt` were given.
  /// The same where there are no penalties.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> tokens,
                 uint64_t prompt);

private:
  struct Candidate {
    float logit;
    int32_t token;
  };
  static bool less_likely(const Candidate &left, const Candidate &right);
  std::span<const float> changed(std::span<const float> logits,
                                 std::span<const int32_t> tokens,
                                 uint64_t prompt);
  std::span<const float> masked(std::span<const float> logits,
                                std::span<const uint32_t> mask);
  int32_t sample_all(std::span<const float> logits, float largest,
                     double number) const;
  int32_t sample_candidates(std::span<const float> logits, float largest,
                            double number);
  double weight(float logit, float largest) const;

  SamplingOptions options;
  // These grow with the vocabulary, once.
  std::vector<Candidate> candidates;
  std::vector<float> changed_logits, masked_logits;
  /// By tokens; zeros between two calls.
  std::vector<uint32_t> counts;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_SAMPLER_H
