//===- BlocksProblem.h - quantised weights for tests of bodies ------------===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_BLOCKSPROBLEM_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_BLOCKSPROBLEM_H

#include "runtime/weight_formats.h"
#include "runtime/weights/companions.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/form.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/stored_blocks.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

namespace baton::test {

/// A file's type for each format of panels, and IQ4_NL, which becomes Q8_0.
struct StoredFormat {
  DataType type;
  const char *format;
};
constexpr StoredFormat stored_formats[] = {
    {DataType::Q8_0, "q8_0"},         {DataType::Q4_0, "q4_0"},
    {DataType::Q4_1, "q4_1"},         {DataType::Q5_0, "q5_0"},
    {DataType::Q5_1, "q5_1"},         {DataType::Q2_K, "q2_k"},
    {DataType::Q3_K, "q3_k"},         {DataType::Q4_K, "q4_k"},
    {DataType::Q5_K, "q5_k"},         {DataType::Q6_K, "q6_k"},
    {DataType::IQ4_NL, "q8_0"},       {DataType::Int4_G32, "int4_g32"},
    {DataType::Int4_G64, "int4_g64"}, {DataType::Int4_G128, "int4_g128"},
    {DataType::Int8_G64, "int8_g64"}, {DataType::FP8_G64, "fp8_g64"},
    {DataType::NVFP4, "nvfp4"},       {DataType::MXFP4, "mxfp4"},
    {DataType::NF4, "nf4"},           {DataType::FP4, "fp4"}};

/// What a list has beside formats of blocks.
constexpr DataType plain_types[] = {DataType::F16, DataType::BF16,
                                    DataType::F32};

/// A file's type for each format that a list may have.
inline std::vector<DataType> all_types() {
  std::vector<DataType> types;
  for (const StoredFormat &stored : stored_formats)
    if (stored.type != DataType::IQ4_NL)
      types.push_back(stored.type);
  types.insert(types.end(), std::begin(plain_types), std::end(plain_types));
  return types;
}

/// Whether the format's numbers are whole ones.
inline bool is_integer(const StoredFormat &stored) {
  return blocks::find_format(stored.format)->is_integer;
}

/// All formats, as a list.
inline std::string all_formats() {
  std::string list;
  for (const blocks::Format &format : blocks::formats)
    list += (list.empty() ? "" : "|") + std::string(format.name);
  return list;
}

/// Where a block has F16 scales, as ggml's structures do.
inline std::vector<unsigned> scales_of(DataType type) {
  switch (type) {
  case DataType::Q4_1:
  case DataType::Q5_1:
  case DataType::Q4_K:
  case DataType::Q5_K:
    return {0, 2};
  case DataType::Q2_K:
    return {80, 82};
  case DataType::Q3_K:
    return {108};
  case DataType::Q6_K:
    return {208};
  default:
    return {0};
  }
}

/// Rows of blocks of random bits, whose scales are finite, neither large nor
/// all alike; one in sixteen is zero, and both signs occur.
inline std::vector<std::byte> random_blocks(DataType type, uint64_t rows,
                                            uint64_t inputs, uint64_t seed) {
  const StoredBlock block = stored_block(type);
  std::vector<std::byte> bytes(rows * (inputs / block.elements) * block.bytes);
  for (uint64_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte(mix(seed + i) >> 32);
  for (uint64_t first = 0; first < bytes.size(); first += block.bytes)
    for (unsigned place : scales_of(type)) {
      const uint64_t random = mix(seed + first + place + 1000003);
      uint16_t half = static_cast<uint16_t>((random & 0x83ff) | 0x2400);
      if (random >> 60 == 0)
        half = 0;
      std::memcpy(&bytes[first + place], &half, sizeof half);
    }
  return bytes;
}

/// Numbers of one of the plain types, of every sign and size up to 1/8; one in
/// sixteen is a zero, one in sixteen the least that F16 has.
inline std::vector<std::byte> random_numbers(DataType type, uint64_t count,
                                             uint64_t seed) {
  std::vector<float> numbers(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t random = mix(seed + i);
    const float sign = random & 1 ? -1.0f : 1.0f;
    const float size = static_cast<float>(random >> 40) * 0x1p-27f;
    numbers[i] =
        sign * (random >> 1 & 15 ? size : (random >> 5 & 1 ? 0x1p-24f : 0));
  }
  std::vector<std::byte> bytes(count * bytes_of(type));
  conversion(DataType::F32, type)(numbers.data(), bytes.data(), count);
  return bytes;
}

/// A weight as a file has it, of random bits.
class StoredWeight {
public:
  StoredWeight(DataType type, uint64_t outputs, uint64_t inputs,
               uint64_t seed) {
    tensor.type = type;
    tensor.shape = {outputs, inputs};
    if (has_companions(type))
      tensor.companions = std::make_shared<Companions>(
          make_companions(type, outputs, inputs, seed));
    else if (!is_quantised(type))
      codes = random_numbers(type, outputs * inputs, seed);
    else
      codes = random_blocks(type, outputs, inputs, seed);
    tensor.data = codes.data();
    tensor.bytes = codes.size();
  }

  const Tensor &get() const { return tensor; }

private:
  static std::vector<std::byte> random_bytes(uint64_t count, uint64_t seed) {
    std::vector<std::byte> bytes(count);
    for (uint64_t i = 0; i < count; ++i)
      bytes[i] = std::byte(mix(seed + i) >> 32);
    return bytes;
  }

  /// Each layout that a file may have is one type's.
  Companions make_companions(DataType type, uint64_t outputs, uint64_t inputs,
                             uint64_t seed) {
    Companions result;
    result.inputs = inputs;
    result.bits =
        type == DataType::Int8_G64 || type == DataType::FP8_G64 ? 8 : 4;
    codes = random_bytes(outputs * inputs * result.bits / 8, seed);
    const uint64_t group =
        type == DataType::NVFP4 ? 16 : stored_block(type).elements;
    const uint64_t groups = inputs / group;
    PackedCodes zeros_of_columns{nullptr, true, 1, outputs / 8};
    result.scales.inputs = group;
    result.scales.output_stride = groups;
    result.scales.input_stride = 1;
    switch (type) {
    case DataType::Int4_G32:
      result.codes = {codes.data(), false, 1, outputs};
      result.scales.output_stride = 1;
      result.scales.input_stride = outputs;
      result.zeros = zeros_of_columns;
      result.zero = 1;
      break;
    case DataType::Int4_G64:
      zeros_of_columns.places = {0, 4, 1, 5, 2, 6, 3, 7};
      result.codes = zeros_of_columns;
      result.codes.data = codes.data();
      result.zeros = zeros_of_columns;
      result.zero = 0;
      break;
    default:
      result.codes = {codes.data(), false, inputs / 8, 1};
      if (type == DataType::NF4 || type == DataType::FP4)
        result.codes.places = {1, 0, 3, 2, 5, 4, 7, 6};
    }
    if (type == DataType::FP8_G64)
      for (std::byte &code : codes)
        if ((code & std::byte(0x7f)) == std::byte(0x7f))
          code = std::byte(0x7e);
    if (result.zeros) {
      zeros = random_bytes(groups * outputs / 2, seed + 7777);
      result.zeros->data = zeros.data();
    }
    const uint64_t count = groups * outputs;
    if (type == DataType::NVFP4 || type == DataType::MXFP4) {
      scales = random_bytes(count, seed + 5555);
      for (std::byte &scale : scales)
        scale = type == DataType::NVFP4
                    ? scale & std::byte(0xf7)
                    : std::byte(100 + std::to_integer<int>(scale) % 28);
      result.divisor = 37.7f;
    } else {
      scales.resize(count * sizeof(float));
      for (uint64_t i = 0; i < count; ++i) {
        const auto random = static_cast<float>(mix(seed + i + 3333) >> 40);
        const float scale = (random * 0x1p-23f - 1) * 0.02f;
        std::memcpy(&scales[i * sizeof scale], &scale, sizeof scale);
      }
    }
    result.scales.data = scales.data();
    return result;
  }

  std::vector<std::byte> codes, scales, zeros;
  Tensor tensor = {};
};

/// A linear's weight: as a program has it, and as numbers.
struct QuantisedWeight {
  std::vector<std::byte> panels;
  /// [outputs, inputs]
  std::vector<float> numbers;

  /// `types` are of one part each, with `outputs` outputs.
  QuantisedWeight(const std::vector<DataType> &types, uint64_t outputs,
                  uint64_t inputs, const std::string &formats, uint64_t seed) {
    std::vector<ParameterPart> parts;
    std::vector<StoredWeight> weights;
    for (size_t i = 0; i < types.size(); ++i)
      weights.emplace_back(types[i], outputs, inputs, seed + i);
    std::vector<StoredTensor> stored;
    for (size_t i = 0; i < types.size(); ++i) {
      ParameterPart part;
      part.sources = {"weight"};
      part.shape = {outputs, inputs};
      part.transposed = false;
      part.own_outputs = {0, outputs};
      part.own_inputs = {0, inputs};
      part.room_outputs = outputs;
      part.room_inputs = inputs;
      parts.push_back(part);
      const Tensor &tensor = weights[i].get();
      for (uint64_t output = 0; output < outputs; ++output) {
        numbers.resize(numbers.size() + inputs);
        float *row = numbers.data() + numbers.size() - inputs;
        if (is_quantised(tensor.type))
          dequantise(tensor, inputs, output, 0, inputs, row);
        else
          conversion(tensor.type, DataType::F32)(
              tensor.data + output * inputs * bytes_of(tensor.type), row,
              inputs);
      }
      stored.push_back({"weight", &tensor, nullptr});
    }
    const std::string name = "weight";
    const nlohmann::json sizes = {{"kind", "blocks"},
                                  {"k", inputs},
                                  {"n", outputs * types.size()},
                                  {"formats", formats}};
    const auto form = WeightForm::parse(
        "blocks", FormDescription{name, DataType::I8, 1, parts, sizes});
    panels.resize(form->layer_bytes());
    form->pack(stored, 0, form->units(), panels.data());
  }

  const int8_t *data() const {
    return reinterpret_cast<const int8_t *>(panels.data());
  }
  /// The numbers in panels of F32.
  std::vector<float> as_panels(uint64_t inputs) const {
    const uint64_t outputs = numbers.size() / inputs;
    std::vector<float> result((outputs + 15) / 16 * 16 * inputs);
    for (uint64_t output = 0; output < outputs; ++output)
      for (uint64_t i = 0; i < inputs; ++i)
        result[(output / 16 * inputs + i) * 16 + output % 16] =
            numbers[output * inputs + i];
    return result;
  }
};

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_BLOCKSPROBLEM_H
