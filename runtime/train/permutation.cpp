//===- permutation.cpp - shuffled indices without a list of them ---------===//

#include "runtime/train/permutation.h"

#include "runtime/weights/hash.h"

#include <bit>
#include <utility>

namespace baton {

Permutation::Permutation(uint64_t count, uint64_t key)
    : count(count), half_bits((std::bit_width(count - 1) + 1) / 2) {
  for (unsigned round = 0; round < rounds; ++round)
    keys[round] = mix(mix(key) + (round + 1) * 0x9e3779b97f4a7c15u);
}

uint64_t Permutation::operator()(uint64_t index) const {
  uint64_t mask = (uint64_t(1) << half_bits) - 1;
  do {
    uint64_t left = index >> half_bits, right = index & mask;
    for (uint64_t key : keys)
      // The upper bits depend on more of the input.
      left = std::exchange(right, left ^ (mix(right + key) >> 32 & mask));
    index = left << half_bits | right;
  } while (index >= count);
  return index;
}

} // namespace baton
