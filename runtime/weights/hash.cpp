//===- hash.cpp - a fast 64-bit hash of byte strings ---------------------===//

#include "runtime/weights/hash.h"

#include <cstdio>
#include <cstring>

namespace baton {

uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed) {
  constexpr size_t lanes = 8;
  constexpr uint64_t multiplier = 0x9e3779b97f4a7c15u;
  uint64_t state[lanes];
  for (size_t lane = 0; lane < lanes; ++lane)
    state[lane] = mix(seed + (lane + 1) * multiplier);

  const char *next = static_cast<const char *>(data);
  size_t left = bytes;
  auto absorb = [&](const char *block) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      uint64_t word;
      std::memcpy(&word, block + lane * sizeof(word), sizeof(word));
      uint64_t product = (state[lane] ^ word) * multiplier;
      // A product's high bits depend on all of the word, its low bits on few;
      // folding spreads the former, so that a flip of the topmost bit does not
      // stay a single bit that one in the next block could cancel.
      state[lane] = product ^ (product >> 32);
    }
  };
  for (; left >= sizeof(state); left -= sizeof(state), next += sizeof(state))
    absorb(next);
  if (left) {
    char last[sizeof(state)] = {};
    std::memcpy(last, next, left);
    absorb(last);
  }

  // The length tells a short block from the same block padded with zeros.
  uint64_t result = mix(seed ^ bytes);
  for (uint64_t word : state)
    result = mix(result + word);
  return result;
}

std::string hash_text(uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(hash));
  return digits;
}

} // namespace baton
