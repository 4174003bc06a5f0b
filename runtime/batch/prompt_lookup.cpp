//===- prompt_lookup.cpp - what may come next, as it did before -----------===//

#include "runtime/batch/prompt_lookup.h"

#include "runtime/weights/hash.h"

#include <algorithm>
#include <bit>

namespace baton {

namespace {

/// Places that are compared, at most.
constexpr int most_places = 32;

} // namespace

PromptLookup::PromptLookup(uint64_t most_tokens)
    : latest(std::bit_ceil(most_tokens + 1)), earlier(most_tokens + 1) {}

/// That of the two tokens before a place.
uint32_t &PromptLookup::bucket(std::span<const int32_t> text, uint64_t end) {
  const auto pair = uint64_t(static_cast<uint32_t>(text[end - 2])) << 32 |
                    static_cast<uint32_t>(text[end - 1]);
  return latest[mix(pair) & (latest.size() - 1)];
}

PromptLookup::Match PromptLookup::find(std::span<const int32_t> text) {
  if (latest.empty() || text.size() < least_length)
    return {};
  // Places that a token follows.
  for (uint64_t end = std::max<uint64_t>(entered + 1, least_length);
       end < text.size(); ++end) {
    uint32_t &place = bucket(text, end);
    earlier[end] = place;
    place = static_cast<uint32_t>(end);
    entered = end;
  }
  uint64_t best = 0;
  uint32_t length = 0;
  uint32_t place = bucket(text, text.size());
  for (int i = 0; place && i < most_places && length < most_length;
       place = earlier[place], ++i) {
    uint32_t same = 0;
    const uint64_t most = std::min<uint64_t>(place, most_length);
    while (same < most &&
           text[place - 1 - same] == text[text.size() - 1 - same])
      ++same;
    if (same > length && same >= least_length) {
      length = same;
      best = place;
    }
  }
  if (length == 0)
    return {};
  return {text.subspan(best), length};
}

} // namespace baton
