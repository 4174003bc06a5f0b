//===- permutation.h - shuffled indices without a list of them -----------===//

#ifndef BATON_RUNTIME_TRAIN_PERMUTATION_H
#define BATON_RUNTIME_TRAIN_PERMUTATION_H

#include <array>
#include <cstdint>

namespace baton {

/// A permutation of 0 ... count - 1 that a key chooses; any element is computed
/// by itself, in constant time and memory. A Feistel network (Luby and Rackoff,
/// "How to construct pseudorandom permutations from pseudorandom functions",
/// 1988) of eight rounds on the next power of four, whose results beyond the
/// count are sent through it again (Black and Rogaway, "Ciphers with arbitrary
/// finite domains", 2002): less than four times on average.
class Permutation {
public:
  /// `count` is at least 1 and at most 2^62.
  Permutation(uint64_t count, uint64_t key);

  /// The element at a place below the count.
  uint64_t operator()(uint64_t index) const;

private:
  static constexpr unsigned rounds = 8;

  uint64_t count;
  unsigned half_bits;
  std::array<uint64_t, rounds> keys;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_PERMUTATION_H
