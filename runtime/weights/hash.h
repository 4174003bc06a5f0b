//===- hash.h - a fast 64-bit hash of byte strings -----------------------===//
//
// Detects accidental damage and names cache files; it is no defence against an
// adversary. Eight multiply-and-fold lanes hide the multiplier's latency, so
// that hashing data which is still in the cache costs less than reading it from
// memory did.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_HASH_H
#define BATON_RUNTIME_WEIGHTS_HASH_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace baton {

/// A bijective mix of one word (the finaliser of SplitMix64: Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", 2014).
inline uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed);

/// As 16 hexadecimal digits.
std::string hash_text(uint64_t hash);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_HASH_H
