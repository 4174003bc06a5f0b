//===- paged_numbers.h - logits that depend on all tokens before ---------===//

#ifndef BATON_TEST_RUNTIME_BATCH_PAGED_NUMBERS_H
#define BATON_TEST_RUNTIME_BATCH_PAGED_NUMBERS_H

#include "runtime/weights/hash.h"
#include "sampling_oracle.h"

#include <algorithm>
#include <cmath>
#include <optional>
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

/// Behind the same tokens.
inline void fill_hidden(uint64_t hash, bool poisoned, std::span<float> hidden) {
  for (size_t i = 0; i < hidden.size(); ++i)
    hidden[i] = poisoned
                    ? std::nanf("")
                    : static_cast<float>(mix(~hash + i) >> 40) * 0x1p-23f - 1;
}

/// The prompt's embedding, computed by itself.
inline std::vector<float> embed_alone(const BatchRequest &request,
                                      const BatchCapacities &shape) {
  const size_t width = shape.hidden_width;
  std::vector<float> hidden(width), rows;
  std::vector<double> sum(width);
  uint64_t hash = 0;
  for (uint64_t i = 0; i < request.prompt.size(); ++i) {
    hash = hash_token(hash, request.prompt[i], i);
    fill_hidden(hash, false, hidden);
    rows.insert(rows.end(), hidden.begin(), hidden.end());
    for (size_t k = 0; k < width; ++k)
      sum[k] += double(hidden[k]);
  }
  if (request.pooling == Pooling::None)
    return rows;
  if (request.pooling == Pooling::Mean)
    for (size_t k = 0; k < width; ++k)
      hidden[k] = static_cast<float>(sum[k] / double(request.prompt.size()));
  return hidden;
}

/// What is wrong with the first of the prompt's tokens that cannot be scored.
inline std::optional<std::string> find_unscored(const BatchRequest &request) {
  const auto &prompt = request.prompt;
  const auto bad = std::find(prompt.begin(), prompt.end(), poison);
  const auto behind = static_cast<uint64_t>(bad - prompt.begin()) + 1;
  const uint64_t from = request.score_from.value_or(prompt.size());
  if (std::max(from, behind) >= prompt.size())
    return std::nullopt;
  return "logits at position " + std::to_string(std::max(from, behind)) +
         " are not finite";
}

/// Log-probabilities of the prompt, computed by itself.
inline std::vector<TokenLogprob> score_alone(const BatchRequest &request,
                                             const BatchCapacities &shape) {
  std::vector<TokenLogprob> scores;
  std::vector<float> logits(shape.vocabulary);
  uint64_t hash = 0;
  for (uint64_t i = 0; i + 1 < request.prompt.size(); ++i) {
    if (request.prompt[i] == poison)
      break;
    hash = hash_token(hash, request.prompt[i], i);
    if (i + 1 < request.score_from.value_or(request.prompt.size()))
      continue;
    fill_logits(hash, false, logits);
    for (const TokenLogprob &each :
         logprobs_of(logits, request.prompt[i + 1], request.score_likely))
      scores.push_back(each);
  }
  return scores;
}

/// Tokens compared behind the prompt, computed by themselves: the numbers of
/// the choices, and which token is the most likely one.
inline std::pair<std::vector<float>, int32_t>
compare_alone(const BatchRequest &request, const BatchCapacities &shape) {
  std::vector<float> logits(shape.vocabulary);
  uint64_t hash = 0;
  for (uint64_t i = 0; i < request.prompt.size(); ++i)
    hash = hash_token(hash, request.prompt[i], i);
  fill_logits(hash, false, logits);
  std::vector<float> numbers;
  std::vector<int32_t> among = request.choices;
  if (!request.only_choices) {
    among.resize(logits.size());
    std::iota(among.begin(), among.end(), 0);
  }
  auto logit = [&](int32_t token) { return logits[size_t(token)]; };
  for (int32_t token : request.choices)
    numbers.push_back(request.only_choices
                          ? logit(token)
                          : logprobs_of(logits, token, 0)[0].logprob);
  std::ranges::sort(among);
  return {numbers, *std::ranges::max_element(among, {}, logit)};
}

/// Draws a token, and adds to the choice the log-probabilities that are wanted.
inline int32_t draw_alone(const BatchRequest &request, Sampler &sampler,
                          const SamplingOptions &sampling,
                          std::span<const float> logits,
                          std::span<const int32_t> tokens,
                          TokenMatcher *matcher, BatchChoice &choice) {
  const uint64_t prompt = request.prompt.size();
  std::vector<float> changed = changed_logits(logits, sampling, tokens, prompt);
  std::vector<uint32_t> mask(matcher ? (logits.size() + 31) / 32 : 0);
  if (matcher)
    matcher->allowed(mask);
  const int32_t token = matcher ? sampler.sample(changed, tokens.size(), mask)
                                : sampler.sample(logits, tokens, prompt);
  for (size_t each = 0; matcher && each < changed.size(); ++each)
    if (!allows(mask.data(), each))
      changed[each] = -std::numeric_limits<float>::infinity();
  if (request.logprobs) {
    auto list = logprobs_of(changed, token, *request.logprobs);
    list.resize(*request.logprobs + 1, {BATON_NOT_DRAWN, 0});
    for (const TokenLogprob &each : list)
      choice.logprobs.push_back(each);
  }
  return token;
}

/// The continuation, computed by itself.
inline BatchChoice continue_alone(const BatchRequest &request, uint32_t index,
                                  const BatchCapacities &shape) {
  SamplingOptions sampling = request.sampling;
  sampling.seed += index;
  Sampler sampler(sampling);
  std::unique_ptr<TokenMatcher> matcher;
  if (request.constraint)
    matcher = request.constraint->start();
  BatchChoice choice;
  std::vector<int32_t> tokens = request.prompt;
  std::vector<float> logits(shape.vocabulary);
  std::string text;
  uint64_t hash = 0, hashed = 0;
  bool poisoned = false;
  if (auto unscored = find_unscored(request); unscored && index == 0) {
    choice.finish = BatchFinish::Error;
    choice.error = *unscored;
    return choice;
  }
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
    const int32_t token = draw_alone(request, sampler, sampling, logits, tokens,
                                     matcher.get(), choice);
    tokens.push_back(token);
    choice.tokens.push_back(token);
    text += static_cast<char>(token);
    bool stops =
        std::find(request.stop_tokens.begin(), request.stop_tokens.end(),
                  token) != request.stop_tokens.end();
    for (const std::string &stop : request.stop_strings)
      stops |= text.ends_with(stop);
    stops |= matcher && (!matcher->accept(token) || matcher->is_finished());
    if (stops) {
      choice.finish = BatchFinish::Stop;
      break;
    }
  }
  return choice;
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_BATCH_PAGED_NUMBERS_H
