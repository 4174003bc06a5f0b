//===- sampling_oracle.h - what steps draw, in plain code -----------------===//

#ifndef BATON_TEST_RUNTIME_BATCH_SAMPLING_ORACLE_H
#define BATON_TEST_RUNTIME_BATCH_SAMPLING_ORACLE_H

#include "runtime/batch/batch_request.h"
#include "runtime/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace baton::test {

/// Logits behind bias and penalties.
inline std::vector<float> changed_logits(std::span<const float> logits,
                                         const SamplingOptions &options,
                                         std::span<const int32_t> tokens,
                                         uint64_t prompt) {
  std::vector<float> result(logits.begin(), logits.end());
  for (const SamplingOptions::Bias &bias : options.logit_bias)
    result[static_cast<size_t>(bias.token)] += bias.bias;
  for (size_t i = 0; i < result.size(); ++i) {
    auto token = static_cast<int32_t>(i);
    if (std::count(tokens.begin(), tokens.end(), token) == 0)
      continue;
    auto times = std::count(tokens.begin() + static_cast<ptrdiff_t>(prompt),
                            tokens.end(), token);
    double logit = result[i];
    logit = logit > 0 ? logit / options.repetition_penalty
                      : logit * options.repetition_penalty;
    logit -= static_cast<double>(times) * options.frequency_penalty;
    if (times)
      logit -= options.presence_penalty;
    result[i] = static_cast<float>(logit);
  }
  return result;
}

/// Of a token, then of the most likely ones, of those that have a probability.
inline std::vector<TokenLogprob> logprobs_of(std::span<const float> logits,
                                             int32_t token, uint32_t likely) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(logit - largest);
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(-logits[static_cast<size_t>(a)], a) <
           std::pair(-logits[static_cast<size_t>(b)], b);
  });
  std::erase_if(order,
                [&](int32_t each) { return std::isinf(logits[size_t(each)]); });
  order.resize(std::min<size_t>(likely, order.size()));
  order.insert(order.begin(), token);
  std::vector<TokenLogprob> result;
  for (int32_t each : order)
    result.push_back({each, static_cast<float>(logits[size_t(each)] - largest -
                                               std::log(sum))});
  return result;
}

inline bool allows(const uint32_t *mask, size_t token) {
  return mask[token / 32] >> (token % 32) & 1;
}

inline void write_logprobs(BatonDraw &draw, std::span<const float> logits,
                           int32_t token, uint32_t likely) {
  auto all = logprobs_of(logits, token, likely);
  draw.drawn = {token, all.front().logprob};
  for (size_t i = 1; i < all.size(); ++i)
    draw.likely[i - 1] = {all[i].token, all[i].logprob};
}

/// Of tokens that are listed; of other logits nothing is looked at where these
/// are not wanted.
inline BatonDraw compare(std::span<const float> logits,
                         const BatonSampling &wanted, const BatonChange *line) {
  BatonDraw draw = {};
  draw.drawn = {BATON_NOT_FINITE, 0};
  std::fill_n(draw.likely, BATON_MOST_LIKELY, BatonLogprob{BATON_NOT_DRAWN, 0});
  std::vector<size_t> all, listed;
  for (uint32_t i = 0; i < wanted.changes; ++i)
    listed.push_back(size_t(line[i].token));
  const bool only = wanted.wanted == BATON_WANTED_LISTED_ONLY;
  for (size_t token = 0; token < logits.size(); ++token)
    if (!only || std::ranges::count(listed, token))
      all.push_back(token);
  if (!std::ranges::all_of(
          all, [&](size_t token) { return std::isfinite(logits[token]); }))
    return draw;
  // Of equal ones the lowest.
  const size_t best = *std::ranges::max_element(
      all, {}, [&](size_t token) { return logits[token]; });
  if (only)
    draw.drawn = {int32_t(best), logits[best]};
  else
    write_logprobs(draw, logits, int32_t(best), wanted.likely);
  for (size_t i = 0; i < listed.size(); ++i)
    draw.listed[i] =
        only ? logits[listed[i]]
             : logprobs_of(logits, int32_t(listed[i]), 0)[0].logprob;
  return draw;
}

/// What a step draws from a row of logits, by the row's line of changes and its
/// mask.
inline BatonDraw draw_from(std::span<const float> logits,
                           const BatonSampling &wanted, const BatonChange *line,
                           const uint32_t *mask) {
  BatonDraw draw = {};
  draw.drawn = {BATON_NOT_DRAWN, 0};
  std::fill_n(draw.likely, BATON_MOST_LIKELY, draw.drawn);
  if (wanted.wanted == BATON_WANTED_NOTHING)
    return draw;
  if (wanted.wanted >= BATON_WANTED_LISTED)
    return compare(logits, wanted, line);
  std::vector<float> changed(logits.begin(), logits.end());
  if (wanted.wanted == BATON_WANTED_SCORE) {
    draw.drawn.token = BATON_NOT_FINITE;
    if (std::ranges::all_of(changed, [](float x) { return std::isfinite(x); }))
      write_logprobs(draw, changed, int32_t(wanted.given), wanted.likely);
    return draw;
  }
  for (const BatonChange &change : std::span(line, wanted.changes)) {
    SamplingOptions options;
    options.logit_bias = {{change.token, change.bias}};
    options.repetition_penalty = wanted.repetition_penalty;
    options.presence_penalty = wanted.presence_penalty;
    options.frequency_penalty = wanted.frequency_penalty;
    std::vector<int32_t> tokens((change.counts + 1) / 2, change.token);
    changed = changed_logits(changed, options, tokens, change.counts & 1);
  }
  SamplingOptions options;
  options.temperature = wanted.temperature;
  options.top_k = wanted.top_k;
  options.top_p = wanted.top_p;
  options.min_p = wanted.min_p;
  options.seed = wanted.seed;
  std::span<const uint32_t> words;
  if (wanted.masked)
    words = {mask, (logits.size() + 31) / 32};
  try {
    draw.drawn.token = Sampler(options).sample(changed, wanted.position, words);
  } catch (const Error &) {
    draw.drawn.token = BATON_NOT_FINITE;
    return draw;
  }
  for (size_t token = 0; wanted.masked && token < changed.size(); ++token)
    if (!allows(mask, token))
      changed[token] = -std::numeric_limits<float>::infinity();
  if (wanted.wanted == BATON_WANTED_LOGPROBS)
    write_logprobs(draw, changed, draw.drawn.token, wanted.likely);
  return draw;
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_BATCH_SAMPLING_ORACLE_H
