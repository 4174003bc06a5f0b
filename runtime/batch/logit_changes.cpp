//===- logit_changes.cpp - what bias and penalties change -----------------===//

#include "runtime/batch/logit_changes.h"

#include "runtime/weights/hash.h"

#include <bit>

namespace baton {

LogitChanges::LogitChanges(std::span<const int32_t> listed) {
  changes.reserve(listed.size());
  for (int32_t token : listed)
    changes.push_back({token, 0, 0});
}

LogitChanges::LogitChanges(const SamplingOptions &options,
                           std::span<const int32_t> prompt,
                           uint64_t most_tokens)
    : counts(options.repetition_penalty != 1 || options.presence_penalty != 0 ||
             options.frequency_penalty != 0) {
  const uint64_t most = options.logit_bias.size() + (counts ? most_tokens : 0);
  if (most == 0)
    return;
  changes.reserve(most);
  places.resize(std::bit_ceil(2 * most));
  for (const SamplingOptions::Bias &bias : options.logit_bias)
    at(bias.token).bias = bias.bias;
  if (counts)
    for (int32_t token : prompt)
      at(token).counts = 1;
}

std::span<const BatonChange> LogitChanges::generated(int32_t token) {
  if (!counts)
    return {};
  BatonChange &change = at(token);
  change.counts = (change.counts | 1) + 2;
  return {&change, 1};
}

BatonChange &LogitChanges::at(int32_t token) {
  const size_t mask = places.size() - 1;
  size_t place = mix(static_cast<uint64_t>(token)) & mask;
  for (; places[place]; place = (place + 1) & mask)
    if (changes[places[place] - 1].token == token)
      return changes[places[place] - 1];
  changes.push_back({token, 0, 0});
  places[place] = static_cast<uint32_t>(changes.size());
  return changes.back();
}

} // namespace baton
