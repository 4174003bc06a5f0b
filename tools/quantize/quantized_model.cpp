//===- quantized_model.cpp - what quantizing takes, and what it makes -----===//

#include "tools/quantize/quantized_model.h"

#include <algorithm>

namespace baton {

const std::vector<QuantizeFormat> &quantize_formats() {
  static const std::vector<QuantizeFormat> formats = {
      {"q2_k", DataType::Q2_K},
      {"q3_k", DataType::Q3_K},
      {"q4_0", DataType::Q4_0},
      {"q4_1", DataType::Q4_1},
      {"q4_k", DataType::Q4_K},
      {"q5_0", DataType::Q5_0},
      {"q5_1", DataType::Q5_1},
      {"q5_k", DataType::Q5_K},
      {"q6_k", DataType::Q6_K},
      {"q8_0", DataType::Q8_0},
      {"f16", DataType::F16},
      {"bf16", DataType::BF16},
      {"f32", DataType::F32},
      {"int4-g32", DataType::Int4_G32},
      {"int4-g64", DataType::Int4_G64},
      {"int4-g128", DataType::Int4_G128},
      {"int8", DataType::Int8_G64},
      {"fp8", DataType::FP8_G64},
      {"nvfp4", DataType::NVFP4},
      {"mxfp4", DataType::MXFP4},
      {"nf4", DataType::NF4}};
  return formats;
}

const char *format_name(DataType type) {
  return std::find_if(
             quantize_formats().begin(), quantize_formats().end(),
             [&](const QuantizeFormat &format) { return format.type == type; })
      ->name;
}

double QuantizedModel::bits_per_weight() const {
  uint64_t elements = 0, all = 0;
  for (const QuantizedTensor &tensor : tensors) {
    elements += tensor.elements;
    all += tensor.bytes;
  }
  return elements ? 8 * double(all) / double(elements) : 0;
}

} // namespace baton
