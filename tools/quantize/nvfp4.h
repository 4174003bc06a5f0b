//===- nvfp4.h - weights become blocks of NVFP4 ---------------------------===//
//
// NVFP4 (NVIDIA, "Introducing NVFP4", 2025): sixteen weights share a scale in
// E4M3, all of a tensor share one in F32; a weight is the product of both with
// a number of E2M1, which is 0, 0.5, 1, 1.5, 2, 3, 4 or 6, or minus one of
// these.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_NVFP4_H
#define BATON_TOOLS_QUANTIZE_NVFP4_H

#include "tools/quantize/encoder.h"

#include <cstdint>

namespace baton {

/// The E2M1 code of the nearest number, the even one of two; its sign is above
/// the other bits.
uint8_t e2m1_code(float value);
float e2m1_number(uint8_t code);

struct Nvfp4Block {
  static constexpr unsigned size = 16;

  /// In E4M3, not negative.
  uint8_t scale = 0;
  /// In E2M1; of two numbers in a byte the first has the lower half.
  uint8_t numbers[size / 2] = {};
};

/// The scale of a tensor whose largest magnitude is `largest`: with it, the
/// largest scale of a block is E4M3's largest number.
float nvfp4_tensor_scale(float largest);

/// By the largest, a block's scale is the E4M3 number nearest to a sixth of its
/// largest magnitude. A search tries codes from two below that one to six above
/// and takes the one with the least squared error, in which each weight's
/// counts as much as its importance.
Nvfp4Block encode_nvfp4(ScaleChoice scales, const float *weights,
                        const float *importance, float tensor_scale);

void decode_nvfp4(const Nvfp4Block &block, float tensor_scale, float *weights);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_NVFP4_H
