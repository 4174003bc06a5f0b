//===- linear_layout.h - a linear's quantised weights in a folder ---------===//
//
// In checkpoints of Hugging Face a quantised weight is several tensors, which
// runtime/weights/quantisation.h reads. This is what quantize writes:
//
//   format    written as              codes       scales
//   int4_gN   pack-quantized          4 bits      for N inputs
//   int8_g64  int-quantized           8 bits      for each output
//   fp8_g64   float-quantized         E4M3        for each output
//   nvfp4     nvfp4-pack-quantized    E2M1        E4M3 for 16, F32 for all
//   mxfp4     mxfp4-pack-quantized    E2M1        E8M0 for 32 inputs
//   nf4       bitsandbytes, 4 bits    16 numbers  F32 for 64 inputs
//
// All but the last are layouts of compressed-tensors.
//
// Scales without a type here have that of the weights.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_LINEAR_LAYOUT_H
#define BATON_TOOLS_QUANTIZE_LINEAR_LAYOUT_H

#include "runtime/weights/data_type.h"
#include "tools/quantize/encoder.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace baton {

/// A tensor of a quantised weight.
struct LayoutPart {
  /// Replaces the "weight" of the linear's weight's name.
  std::string name;
  DataType type;
  std::vector<uint64_t> shape;
  /// Of one that has no rows of the weight's.
  std::string bytes;

  uint64_t size() const;
};

class LinearLayout {
public:
  /// Of `outputs` rows of `inputs`, a multiple of group_of(format). `stored` is
  /// the type of the weights before.
  LinearLayout(DataType format, DataType stored, uint64_t outputs,
               uint64_t inputs);

  /// Inputs that rows have to have a multiple of, to be quantised and read.
  static uint64_t group_of(DataType format);
  /// config.json's quantization_config. `ignored` are linears that are not
  /// quantised.
  static nlohmann::ordered_json config(DataType format,
                                       const std::vector<std::string> &ignored);

  /// NVFP4 has a scale for all, which follows from the largest magnitude.
  bool needs_largest() const { return format == DataType::NVFP4; }
  void set_largest(float magnitude);

  /// Codes, then scales, then what has bytes.
  const std::vector<LayoutPart> &parts() const { return all; }
  uint64_t code_row_bytes() const { return all[0].size() / outputs; }
  uint64_t scale_row_bytes() const { return all[1].size() / outputs; }

  /// Encodes a row of finite weights. By the largest, scales are those of the
  /// formats' own quantisers; a search, which tries others around that one, is
  /// never worse, by squared errors that count as much as `importance` of each
  /// input. `numbers` gets what the row is read as.
  void encode_row(ScaleChoice choice, const float *weights,
                  const float *importance, std::byte *codes, std::byte *scales,
                  float *numbers) const;

private:
  DataType format, scale_type;
  uint64_t outputs, inputs;
  /// NVFP4's.
  float divisor = 1;
  std::vector<LayoutPart> all;
};

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_LINEAR_LAYOUT_H
