//===- sampler.cpp - from logits to the next token -----------------------===//

#include "runtime/decode/sampler.h"

#include "runtime/error.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace baton {

namespace {

/// The largest logit. All other workers wait meanwhile, so the loop is written
/// on integers, which the compiler turns into vector instructions: comparing
/// floats that may be NaN keeps it from doing so.
float largest_logit(std::span<const float> logits, uint64_t position) {
  constexpr int32_t exponent = 0x7f800000;
  int32_t largest = std::numeric_limits<int32_t>::min();
  int32_t not_finite = 0;
  for (float logit : logits) {
    // Adding zero turns -0 into +0, which are equal as logits.
    int32_t bits = std::bit_cast<int32_t>(logit + 0.0f);
    not_finite |= (bits & exponent) == exponent;
    // Flipping the magnitude of negative numbers makes integers order like the
    // floats whose bits they are.
    int32_t key = bits ^ ((bits >> 31) & 0x7fffffff);
    largest = std::max(largest, key);
  }
  if (not_finite)
    throw Error("logits at position " + std::to_string(position) +
                " are not finite");
  return std::bit_cast<float>(largest ^ ((largest >> 31) & 0x7fffffff));
}

} // namespace

double uniform(uint64_t seed, uint64_t position) {
  constexpr uint64_t increment = 0x9e3779b97f4a7c15;
  uint64_t bits = mix(mix(seed) + (position + 1) * increment);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

bool Sampler::less_likely(const Candidate &left, const Candidate &right) {
  return left.logit != right.logit ? left.logit < right.logit
                                   : left.token > right.token;
}

double Sampler::weight(float logit, float largest) const {
  return std::exp((double(logit) - double(largest)) / options.temperature);
}

/// The logits, infinitely negative where the mask does not allow a token.
std::span<const float> Sampler::masked(std::span<const float> logits,
                                       std::span<const uint32_t> mask) {
  masked_logits.resize(logits.size());
  for (size_t token = 0; token < logits.size(); ++token)
    masked_logits[token] = mask[token / 32] >> token % 32 & 1
                               ? logits[token]
                               : -std::numeric_limits<float>::infinity();
  return masked_logits;
}

int32_t Sampler::sample(std::span<const float> logits, uint64_t position,
                        std::span<const uint32_t> mask) {
  float largest = largest_logit(logits, position);
  if (!mask.empty()) {
    logits = masked(logits, mask);
    largest = *std::max_element(logits.begin(), logits.end());
    if (std::isinf(largest))
      throw Error("no token is allowed at position " +
                  std::to_string(position));
  }
  if (options.temperature == 0 || options.top_k == 1)
    return static_cast<int32_t>(
        std::find(logits.begin(), logits.end(), largest) - logits.begin());
  double number = uniform(options.seed, position);
  bool restricted = (options.top_k != 0 && options.top_k < logits.size()) ||
                    options.top_p < 1 || options.min_p > 0;
  return restricted ? sample_candidates(logits, largest, number)
                    : sample_all(logits, largest, number);
}

/// The logits behind bias and penalties, which may be those given.
std::span<const float> Sampler::changed(std::span<const float> logits,
                                        std::span<const int32_t> tokens,
                                        uint64_t prompt) {
  if (!options.changes_logits())
    return logits;
  std::vector<float> &result = changed_logits;
  result.assign(logits.begin(), logits.end());
  for (const SamplingOptions::Bias &bias : options.logit_bias)
    result[static_cast<size_t>(bias.token)] += bias.bias;
  // Twice as often as it was generated, and 1 more for all that are there.
  counts.resize(std::max(counts.size(), logits.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    uint32_t &count = counts[static_cast<size_t>(tokens[i])];
    count = (count | 1) + (i < prompt ? 0 : 2);
  }
  // One that is there several times is changed once.
  for (int32_t token : tokens) {
    uint32_t &count = counts[static_cast<size_t>(token)];
    if (count == 0)
      continue;
    double logit = result[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / options.repetition_penalty
                      : logit * options.repetition_penalty;
    uint32_t times = count >> 1;
    logit -= times * options.frequency_penalty;
    if (times)
      logit -= options.presence_penalty;
    result[static_cast<size_t>(token)] = static_cast<float>(logit);
    count = 0;
  }
  return result;
}

int32_t Sampler::sample(std::span<const float> logits,
                        std::span<const int32_t> tokens, uint64_t prompt) {
  return sample(changed(logits, tokens, prompt), tokens.size());
}

int32_t Sampler::sample_all(std::span<const float> logits, float largest,
                            double number) const {
  double total = 0;
  for (float logit : logits)
    total += weight(logit, largest);
  double rest = number * total;
  size_t last = 0;
  for (size_t token = 0; token < logits.size(); ++token) {
    double share = weight(logits[token], largest);
    if (share == 0)
      continue;
    if (rest < share)
      return static_cast<int32_t>(token);
    rest -= share;
    // Rounding may leave a rest behind the last token of any weight.
    last = token;
  }
  return static_cast<int32_t>(last);
}

int32_t Sampler::sample_candidates(std::span<const float> logits, float largest,
                                   double number) {
  candidates.resize(logits.size());
  for (size_t token = 0; token < logits.size(); ++token)
    candidates[token] = {logits[token], static_cast<int32_t>(token)};
  auto more_likely = [](const Candidate &left, const Candidate &right) {
    return less_likely(right, left);
  };
  if (options.top_k != 0 && options.top_k < candidates.size()) {
    auto end = candidates.begin() + static_cast<ptrdiff_t>(options.top_k);
    std::nth_element(candidates.begin(), end, candidates.end(), more_likely);
    candidates.erase(end, candidates.end());
  }

  double total = 0;
  for (const Candidate &candidate : candidates)
    total += weight(candidate.logit, largest);

  // The most probable ones move to the back, one by one: usually few are
  // wanted, and sorting the whole vocabulary would keep the workers waiting.
  std::make_heap(candidates.begin(), candidates.end(), less_likely);
  double kept = 0;
  auto heap_end = candidates.end();
  while (heap_end != candidates.begin()) {
    std::pop_heap(candidates.begin(), heap_end, less_likely);
    --heap_end;
    double share = weight(heap_end->logit, largest);
    // That of the most probable one is 1.
    if (share < options.min_p) {
      ++heap_end;
      break;
    }
    kept += share;
    if (kept >= options.top_p * total)
      break;
  }

  double rest = number * kept;
  auto candidate = candidates.end();
  while (candidate != heap_end) {
    --candidate;
    double share = weight(candidate->logit, largest);
    if (rest < share)
      return candidate->token;
    rest -= share;
  }
  // Rounding left a rest: the most probable token stands for it.
  return candidates.back().token;
}

} // namespace baton
