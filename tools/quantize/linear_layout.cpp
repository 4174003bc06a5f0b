//===- linear_layout.cpp - a linear's quantised weights in a folder -------===//

#include "tools/quantize/linear_layout.h"

#include "runtime/weight_blocks.h"
#include "runtime/weights/convert.h"
#include "tools/quantize/nvfp4.h"
#include "tools/quantize/unit_fit.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace baton {

using Json = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

/// A code, and its number before it is scaled.
struct Coded {
  uint8_t code;
  float number;
};

/// Whole numbers from -2^(bits-1) on. compressed-tensors' scale makes the
/// largest magnitude the middle of the two ends'.
template <int bits> struct Integers {
  static constexpr float low = -static_cast<float>(1 << (bits - 1)),
                         high = -low - 1, largest = high + 0.5f;
  static Coded code(float value) {
    const float number = nearest(std::clamp(value, low, high));
    // Words of four bits have codes from 0 on, bytes are signed.
    const int stored = static_cast<int>(number) + (bits == 4 ? 8 : 0);
    return {static_cast<uint8_t>(stored), number};
  }
};

/// E4M3: from 2^-6 on with three bits behind the first, below that in steps of
/// 2^-9.
struct Floats8 {
  static constexpr float largest = 448;
  static Coded code(float value) {
    const float magnitude = std::min(std::fabs(value), largest);
    const uint8_t sign = std::signbit(value) ? 0x80 : 0;
    const int exponent =
        magnitude < 0x1p-6f
            ? -6
            : static_cast<int>(std::bit_cast<uint32_t>(magnitude) >> 23) - 127;
    const float steps = nearest(std::ldexp(magnitude, 3 - exponent));
    // Of a step that is rounded up to 16, the next exponent's first is the code
    // behind.
    const int stored = (exponent + 6) * 8 + static_cast<int>(steps);
    const float number = std::ldexp(steps, exponent - 3);
    return {static_cast<uint8_t>(sign | stored), sign ? -number : number};
  }
};

/// E2M1.
struct Floats4 {
  static Coded code(float value) {
    const uint8_t code = e2m1_code(value);
    return {code, e2m1_number(code)};
  }
};

/// NF4's quantiles of a normal distribution.
struct Quantiles {
  static constexpr float largest = 1;
  static Coded code(float value) {
    constexpr const float(&numbers)[16] = blocks::NF4::numbers;
    uint8_t code = 0;
    for (int i = 1; i < 16; ++i)
      code += value > (numbers[i - 1] + numbers[i]) / 2;
    return {code, numbers[code]};
  }
};

/// What a scale is once it is stored.
float round_to(DataType type, float scale) {
  switch (type) {
  case DataType::F16:
    return f32_from_f16(f16_from_f32(scale));
  case DataType::BF16:
    return f32_from_bf16(bf16_from_f32(scale));
  default:
    return scale;
  }
}

float largest_magnitude(const float *weights, uint64_t count) {
  float largest = 0;
  for (uint64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::fabs(weights[i]));
  return largest;
}

/// Weights that share a scale.
template <typename Numbers> class Group {
public:
  Group(Weighted group, uint64_t count, DataType scale_type)
      : weights(group.weights), importance(group.importance), count(count),
        scale_type(scale_type) {}

  float scale(ScaleChoice choice) {
    const float largest = largest_magnitude(weights, count);
    if (largest == 0)
      return 1;
    const float usual = largest / Numbers::largest;
    best = round_to(scale_type, usual);
    if (choice == ScaleChoice::Search) {
      least = squared_error(best);
      for (int trial = -trials; trial <= trials; ++trial)
        try_around(usual * (1 + step * static_cast<float>(trial)));
    }
    return best;
  }

  void encode(float scale, uint8_t *codes, float *numbers) const {
    const float inverse = inverse_of(scale);
    for (uint64_t i = 0; i < count; ++i) {
      const Coded coded = Numbers::code(weights[i] * inverse);
      codes[i] = coded.code;
      numbers[i] = coded.number * scale;
    }
  }

private:
  static constexpr int trials = 8;
  static constexpr float step = 0.03f;

  double squared_error(float scale) const {
    const float inverse = inverse_of(scale);
    double sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const double error =
          double(weights[i]) -
          double(Numbers::code(weights[i] * inverse).number * scale);
      sum += double(importance[i]) * (error * error);
    }
    return sum;
  }

  void keep_better(float scale) {
    scale = round_to(scale_type, scale);
    if (!(scale > 0) || !std::isfinite(scale))
      return;
    if (const double error = squared_error(scale); error < least) {
      least = error;
      best = scale;
    }
  }

  /// The scale that fits the numbers that `scale` gives, by least squares.
  void try_around(float scale) {
    const float inverse = inverse_of(scale);
    double products = 0, squares = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const float number = Numbers::code(weights[i] * inverse).number;
      const double counted = double(importance[i]) * double(number);
      products += double(weights[i]) * counted;
      squares += double(number) * counted;
    }
    keep_better(scale);
    if (squares > 0)
      keep_better(static_cast<float>(products / squares));
  }

  const float *weights, *importance;
  uint64_t count;
  DataType scale_type;
  float best = 0;
  double least = 0;
};

template <typename Numbers>
void encode_groups(ScaleChoice choice, DataType scale_type, Weighted row,
                   uint64_t count, uint64_t group, uint8_t *codes,
                   std::byte *scales, float *numbers) {
  for (uint64_t first = 0; first < count; first += group) {
    Group<Numbers> weights_of_scale(row.from(first), group, scale_type);
    const float scale = weights_of_scale.scale(choice);
    weights_of_scale.encode(scale, codes + first, numbers + first);
    if (scale_type == DataType::F32)
      std::memcpy(scales, &scale, sizeof scale);
    else
      conversion(DataType::F32, scale_type)(&scale, scales, 1);
    scales += bytes_of(scale_type);
  }
}

/// Scales that are powers of two. The usual one is of the OCP's specification:
/// the largest magnitude's exponent, less that of the largest number.
void encode_powers(ScaleChoice choice, Weighted row, uint64_t count,
                   uint8_t *codes, std::byte *scales, float *numbers) {
  const auto [weights, importance] = row;
  constexpr uint64_t group = 32;
  constexpr int exponent_of_largest = 2, bias = 127;
  for (uint64_t first = 0; first < count; first += group) {
    const float largest = largest_magnitude(weights + first, group);
    int usual = 0;
    if (largest > 0)
      usual = std::clamp(std::ilogb(largest) - exponent_of_largest, 1 - bias,
                         bias - 1);
    const int reach = choice == ScaleChoice::Search && largest > 0 ? 1 : 0;
    double least = -1;
    int best = usual;
    for (int exponent = usual - reach; exponent <= usual + reach; ++exponent) {
      if (exponent < 1 - bias || exponent > bias - 1)
        continue;
      double sum = 0;
      for (uint64_t i = first; i < first + group; ++i) {
        const float number =
            Floats4::code(std::ldexp(weights[i], -exponent)).number;
        const double error =
            double(weights[i]) - double(std::ldexp(number, exponent));
        sum += double(importance[i]) * (error * error);
      }
      // Of equals, the usual one.
      if (least < 0 || sum < least || (sum == least && exponent == usual)) {
        least = sum;
        best = exponent;
      }
    }
    for (uint64_t i = first; i < first + group; ++i) {
      const Coded coded = Floats4::code(std::ldexp(weights[i], -best));
      codes[i] = coded.code;
      numbers[i] = std::ldexp(coded.number, best);
    }
    *scales++ = static_cast<std::byte>(best + bias);
  }
}

void encode_nvfp4_row(ScaleChoice choice, Weighted row, uint64_t count,
                      float divisor, std::byte *codes, std::byte *scales,
                      float *numbers) {
  for (uint64_t first = 0; first < count; first += Nvfp4Block::size) {
    const auto [weights, importance] = row.from(first);
    const Nvfp4Block block =
        encode_nvfp4(choice, weights, importance, 1 / divisor);
    decode_nvfp4(block, 1 / divisor, numbers + first);
    std::memcpy(codes + first / 2, block.numbers, sizeof block.numbers);
    *scales++ = static_cast<std::byte>(block.scale);
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

uint64_t LayoutPart::size() const {
  uint64_t bytes = bytes_of(type);
  for (uint64_t extent : shape)
    bytes *= extent;
  return bytes;
}

uint64_t LinearLayout::group_of(DataType format) {
  return stored_block(format).elements;
}

template <typename Value>
static std::string bytes_of_value(const Value &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

LinearLayout::LinearLayout(DataType format, DataType stored, uint64_t outputs,
                           uint64_t inputs)
    : format(format), scale_type(stored), outputs(outputs), inputs(inputs) {
  if (stored != DataType::F16 && stored != DataType::BF16)
    scale_type = DataType::F32;
  switch (format) {
  case DataType::Int8_G64:
  case DataType::FP8_G64:
    all = {{"weight",
            format == DataType::Int8_G64 ? DataType::I8 : DataType::F8E4M3,
            {outputs, inputs},
            {}},
           {"weight_scale", scale_type, {outputs, 1}, {}}};
    break;
  case DataType::NVFP4:
    all = {
        {"weight_packed", DataType::U8, {outputs, inputs / 2}, {}},
        {"weight_scale",
         DataType::F8E4M3,
         {outputs, inputs / Nvfp4Block::size},
         {}},
        {"weight_global_scale", DataType::F32, {1}, bytes_of_value(divisor)}};
    break;
  case DataType::MXFP4:
    all = {{"weight_packed", DataType::U8, {outputs, inputs / 2}, {}},
           {"weight_scale", DataType::U8, {outputs, inputs / 32}, {}}};
    break;
  case DataType::NF4: {
    scale_type = DataType::F32;
    const uint64_t count = outputs * inputs;
    std::string state = Json{
        {"quant_type", "nf4"},
        {"blocksize", group_of(format)},
        {"dtype", stored == DataType::F16    ? "float16"
                  : stored == DataType::BF16 ? "bfloat16"
                                             : "float32"},
        {"shape",
         {outputs, inputs}}}.dump();
    all = {{"weight", DataType::U8, {count / 2, 1}, {}},
           {"weight.absmax", DataType::F32, {count / group_of(format)}, {}},
           {"weight.quant_map",
            DataType::F32,
            {16},
            bytes_of_value(blocks::NF4::numbers)},
           {"weight.quant_state.bitsandbytes__nf4",
            DataType::U8,
            {state.size()},
            state}};
    break;
  }
  default: {
    const uint64_t shape[2] = {outputs, inputs};
    all = {
        {"weight_packed", DataType::I32, {outputs, inputs / 8}, {}},
        {"weight_scale", scale_type, {outputs, inputs / group_of(format)}, {}},
        {"weight_shape", DataType::I64, {2}, bytes_of_value(shape)}};
  }
  }
}

void LinearLayout::set_largest(float magnitude) {
  const float scale = nvfp4_tensor_scale(magnitude);
  // Of weights that are all 0, any.
  divisor = scale > 0 && std::isfinite(1 / scale) ? 1 / scale : 1;
  all[2].bytes = bytes_of_value(divisor);
}

void LinearLayout::encode_row(ScaleChoice choice, const float *weights,
                              const float *importance, std::byte *codes,
                              std::byte *scales, float *numbers) const {
  const Weighted weighted{weights, importance};
  if (format == DataType::NVFP4)
    return encode_nvfp4_row(choice, weighted, inputs, divisor, codes, scales,
                            numbers);
  std::vector<uint8_t> row(inputs);
  const auto encode = [&]<typename Numbers>(Numbers, uint64_t group) {
    encode_groups<Numbers>(choice, scale_type, weighted, inputs, group,
                           row.data(), scales, numbers);
  };
  switch (format) {
  case DataType::Int8_G64:
    encode(Integers<8>(), inputs);
    break;
  case DataType::FP8_G64:
    encode(Floats8(), inputs);
    break;
  case DataType::MXFP4:
    encode_powers(choice, weighted, inputs, row.data(), scales, numbers);
    break;
  case DataType::NF4:
    encode(Quantiles(), group_of(format));
    break;
  default:
    encode(Integers<4>(), group_of(format));
  }
  if (code_row_bytes() == inputs) {
    std::memcpy(codes, row.data(), inputs);
    return;
  }
  // bitsandbytes has the first of two in the upper half of a byte.
  const int first = format == DataType::NF4 ? 4 : 0;
  for (uint64_t i = 0; i < inputs; i += 2)
    codes[i / 2] =
        static_cast<std::byte>(row[i] << first | row[i + 1] << (4 - first));
}

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

Json LinearLayout::config(DataType format,
                          const std::vector<std::string> &ignored) {
  if (format == DataType::NF4)
    return {{"quant_method", "bitsandbytes"},
            {"load_in_4bit", true},
            {"load_in_8bit", false},
            {"bnb_4bit_quant_type", "nf4"},
            {"bnb_4bit_use_double_quant", false},
            {"bnb_4bit_compute_dtype", "bfloat16"},
            {"bnb_4bit_quant_storage", "uint8"},
            {"llm_int8_skip_modules", ignored}};
  std::string layout = "pack-quantized";
  Json weights = {{"num_bits", 4},       {"type", "int"},
                  {"symmetric", true},   {"dynamic", false},
                  {"strategy", "group"}, {"group_size", group_of(format)}};
  switch (format) {
  case DataType::Int8_G64:
  case DataType::FP8_G64:
    layout = format == DataType::FP8_G64 ? "float-quantized" : "int-quantized";
    weights["num_bits"] = 8;
    weights["strategy"] = "channel";
    weights.erase("group_size");
    break;
  case DataType::NVFP4:
    layout = "nvfp4-pack-quantized";
    weights["strategy"] = "tensor_group";
    weights["group_size"] = Nvfp4Block::size;
    break;
  case DataType::MXFP4:
    layout = "mxfp4-pack-quantized";
    weights["scale_dtype"] = "torch.uint8";
    break;
  default:
    break;
  }
  if (format != DataType::Int8_G64 && layout != "pack-quantized")
    weights["type"] = "float";
  return {{"quant_method", "compressed-tensors"},
          {"format", layout},
          {"quantization_status", "compressed"},
          {"config_groups",
           {{"group_0",
             {{"targets", {"Linear"}},
              {"weights", weights},
              {"input_activations", nullptr},
              {"output_activations", nullptr},
              {"format", layout}}}}},
          {"ignore", ignored},
          {"kv_cache_scheme", nullptr}};
}

} // namespace baton
