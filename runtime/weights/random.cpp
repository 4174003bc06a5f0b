//===- random.cpp - weights of a plausible size without a checkpoint -----===//

#include "runtime/weights/random.h"

#include "runtime/weights/convert.h"
#include "runtime/weights/hash.h"

#include <algorithm>

namespace baton {

RandomSeeds seeds_of(uint64_t seed) {
  RandomSeeds seeds;
  for (uint64_t lane = 0; lane < seeds.size(); ++lane)
    seeds[lane] = seed * seeds.size() + lane + 1;
  return seeds;
}

void fill_random(DataType type, std::byte *destination, uint64_t count,
                 float mean, float deviation, const RandomSeeds &seeds) {
  // Sixteen generators side by side fill vector registers; a piece of so many
  // lines stays in the first-level cache until it is converted.
  constexpr uint64_t lanes = std::tuple_size_v<RandomSeeds>, lines = 64;
  uint32_t state[lanes];
  for (uint64_t lane = 0; lane < lanes; ++lane)
    // Zero is the one state that a xorshift generator never leaves.
    state[lane] = static_cast<uint32_t>(mix(seeds[lane])) | 1;

  // A uniform value in [-1, 1) has the standard deviation 1 / sqrt(3).
  float scale = deviation * 1.7320508f / 32768.0f;
  Conversion convert = conversion(DataType::F32, type);
  float values[lanes * lines];
  for (uint64_t start = 0; start < count; start += lanes * lines) {
    for (uint64_t line = 0; line < lines; ++line)
      for (uint64_t lane = 0; lane < lanes; ++lane) {
        uint32_t bits = state[lane];
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        state[lane] = bits;
        values[line * lanes + lane] =
            mean + static_cast<float>(static_cast<int32_t>(bits) >> 16) * scale;
      }
    convert(values, destination + start * bytes_of(type),
            std::min(lanes * lines, count - start));
  }
}

} // namespace baton
