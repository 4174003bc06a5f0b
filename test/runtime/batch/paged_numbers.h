//===- paged_numbers.h - logits that depend on all tokens before ---------===//

#ifndef BATON_TEST_RUNTIME_BATCH_PAGED_NUMBERS_H
#define BATON_TEST_RUNTIME_BATCH_PAGED_NUMBERS_H

#include "runtime/weights/hash.h"
#include "sampling_oracle.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace baton::test {

/// After this token, which is never generated, logits are no numbers.
inline constexpr int32_t poison = 250;

inline uint64_t hash_token(uint64_t hash, int32_t token, uint64_t position) {
  return mix(hash ^ (position << 32 | static_cast<uint32_t>(token)));
}

inline void fill_logits(uint64_t hash, bool poisoned, std::span<float> logits) {
  for (size_t token = 0; token < logits.size(); ++token)
    logits[token] =
        poisoned ? std::nanf("")
                 : static_cast<float>(mix(hash + token) >> 40) * 0x1p-22f;
  if (!poisoned)
    logits[poison] = -1000;
}

/// The continuation, computed by itself.
inline BatchChoice continue_alone(const BatchRequest &request, uint32_t index,
                                  const BatchCapacities &shape) {
  SamplingOptions sampling = request.sampling;
  sampling.seed += index;
  Sampler sampler(sampling);
  BatchChoice choice;
  std::vector<int32_t> tokens = request.prompt;
  std::vector<float> logits(shape.vocabulary);
  std::string text;
  uint64_t hash = 0, hashed = 0;
  bool poisoned = false;
  while (choice.tokens.size() < most_new_tokens(request, shape)) {
    for (; hashed < tokens.size(); ++hashed) {
      hash = hash_token(hash, tokens[hashed], hashed);
      poisoned |= tokens[hashed] == poison;
    }
    if (poisoned) {
      choice.finish = BatchFinish::Error;
      choice.error =
          "logits at position " + std::to_string(hashed) + " are not finite";
      return choice;
    }
    fill_logits(hash, false, logits);
    int32_t token = sampler.sample(logits, tokens, request.prompt.size());
    if (request.logprobs)
      for (const TokenLogprob &each : logprobs_of(
               changed_logits(logits, sampling, tokens, request.prompt.size()),
               token, *request.logprobs))
        choice.logprobs.push_back(each);
    tokens.push_back(token);
    choice.tokens.push_back(token);
    text += static_cast<char>(token);
    bool stops =
        std::find(request.stop_tokens.begin(), request.stop_tokens.end(),
                  token) != request.stop_tokens.end();
    for (const std::string &stop : request.stop_strings)
      stops |= text.ends_with(stop);
    if (stops) {
      choice.finish = BatchFinish::Stop;
      break;
    }
  }
  return choice;
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_BATCH_PAGED_NUMBERS_H
