//===- random.h - weights of a plausible size without a checkpoint -------===//

#ifndef BATON_RUNTIME_WEIGHTS_RANDOM_H
#define BATON_RUNTIME_WEIGHTS_RANDOM_H

#include "runtime/weights/data_type.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace baton {

/// A seed for each lane: lane i makes elements i, i + 16, i + 32, ...
using RandomSeeds = std::array<uint64_t, 16>;

/// Those that follow from one.
RandomSeeds seeds_of(uint64_t seed);

/// Fills `count` elements of F32, BF16 or F16 with uniform values of the given
/// mean and standard deviation. The same seeds give the same values. Meant for
/// timing: xorshift generators (Marsaglia, "Xorshift RNGs", 2003) in 16 lanes,
/// of which the upper 16 bits are used.
void fill_random(DataType type, std::byte *destination, uint64_t count,
                 float mean, float deviation, const RandomSeeds &seeds);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_RANDOM_H
