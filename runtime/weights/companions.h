//===- companions.h - quantised weights that several tensors make ---------===//
//
// In the checkpoints that Hugging Face's quantisers write, one tensor has a
// weight's codes and others have scales and zeros. Which tensors these are, and
// where in them a weight's code and scale lie, is all that methods differ in
// (runtime/weights/quantisation.h); it is data, here.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_COMPANIONS_H
#define BATON_RUNTIME_WEIGHTS_COMPANIONS_H

#include "runtime/weights/data_type.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace baton {

/// Eight codes of four bits a word, of neighbouring inputs, or of neighbouring
/// outputs. Strides are words, and count words along the packed dimension.
struct PackedCodes {
  const std::byte *data = nullptr;
  bool has_outputs = false;
  uint64_t output_stride = 0, input_stride = 0;
  /// Which of a word's codes, from the lowest bits on, the i-th neighbour is.
  std::array<uint8_t, 8> places = {0, 1, 2, 3, 4, 5, 6, 7};
};

/// One value for several weights.
struct SharedValues {
  const std::byte *data = nullptr;
  DataType type = DataType::F32;
  /// Weights that share one, along each dimension; a row of a part of them has
  /// one, too.
  uint64_t outputs = 1, inputs = 1;
  uint64_t output_stride = 0, input_stride = 0;
  /// Of values that are counted along rows, behind one another: how many
  /// weights share one. Then strides are those of weights.
  uint64_t flat = 1;

  uint64_t index(uint64_t output, uint64_t input) const {
    return (output / outputs * output_stride + input / inputs * input_stride) /
           flat;
  }
};

/// Scales that are themselves codes of 8 bits: bitsandbytes' double
/// quantisation.
struct NestedScales {
  /// 256 numbers in F32, and an F32 for every `each` scales.
  const std::byte *numbers, *scales;
  uint64_t each;
  float offset;
};

struct Companions {
  /// Bits of a code: 4, or 8, which are rows of `inputs` bytes.
  unsigned bits = 4;
  PackedCodes codes;
  uint64_t inputs = 0;
  /// Bits of a byte that are stored inverted.
  uint8_t inverted = 0;

  SharedValues scales;
  /// What scales are multiplied by.
  float scale_factor = 1;
  std::optional<NestedScales> nested;
  /// What NVFP4's scales are divided by.
  float divisor = 1;

  /// Each group of inputs that shares a scale has a zero; where there are none,
  /// it is `zero`, else that is added.
  std::optional<PackedCodes> zeros;
  int zero = 8;

  /// The bytes of scales and zeros in their files.
  std::vector<std::span<const std::byte>> extents;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_COMPANIONS_H
