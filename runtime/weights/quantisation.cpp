//===- quantisation.cpp - quantised checkpoints of Hugging Face -----------===//

#include "runtime/weights/quantisation.h"

#include "runtime/error.h"
#include "runtime/weight_blocks.h"
#include "runtime/weights/companions.h"
#include "runtime/weights/json_file.h"
#include "runtime/weights/message.h"
#include "runtime/weights/stacked_experts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <numeric>

namespace baton {

namespace {

using Method = Quantisation::Method;

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

constexpr std::pair<const char *, Method> methods[] = {
    {"awq", Method::Awq},
    {"bitsandbytes", Method::Bitsandbytes},
    {"compressed-tensors", Method::CompressedTensors},
    {"fp8", Method::Fp8},
    {"gptq", Method::Gptq},
    {"mxfp4", Method::Mxfp4}};

/// An object of quantization_config; null is absent.
class Fields {
public:
  Fields(std::string file, std::string path, const nlohmann::json &values)
      : file(std::move(file)), path(std::move(path)), values(values) {}

  [[noreturn]] void fail(const char *name, const std::string &expected) const {
    auto found = values.find(name);
    std::string value = "missing";
    if (found != values.end())
      value = found->is_object() ? "an object"
              : found->is_array()
                  ? "a list"
                  : found->dump(-1, ' ', /*ensure_ascii=*/true,
                                nlohmann::json::error_handler_t::replace);
    throw Error(file + ": '" + path + name + "' is " + value.substr(0, 48) +
                ", expected " + expected);
  }

  const nlohmann::json *find(const char *name) const {
    auto found = values.find(name);
    return found == values.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const char *name, const char *absent) const {
    const nlohmann::json *value = find(name);
    if (!value)
      return absent;
    if (!value->is_string())
      fail(name, "a text");
    return value->get<std::string>();
  }
  bool boolean(const char *name, bool absent) const {
    const nlohmann::json *value = find(name);
    if (!value)
      return absent;
    if (!value->is_boolean())
      fail(name, "true or false");
    return value->get<bool>();
  }
  std::optional<int64_t> integer(const char *name) const {
    const nlohmann::json *value = find(name);
    if (!value)
      return std::nullopt;
    if (!value->is_number_integer())
      fail(name, "an integer");
    return value->get<int64_t>();
  }
  /// One of these texts, of which the first is what is absent.
  std::string choice(const char *name,
                     std::initializer_list<const char *> choices) const {
    std::string value = text(name, *choices.begin());
    std::string list;
    for (const char *known : choices) {
      if (value == known)
        return value;
      list += (list.empty() ? "" : ", ") + std::string(known);
    }
    fail(name, list);
  }
  /// Two sizes, [outputs, inputs].
  std::optional<std::pair<uint64_t, uint64_t>> sizes(const char *name) const {
    const nlohmann::json *value = find(name);
    if (!value)
      return std::nullopt;
    const auto is_size = [](const nlohmann::json &size) {
      return size.is_number_unsigned() && size.get<uint64_t>() > 0 &&
             size.get<uint64_t>() >> 32 == 0;
    };
    if (!value->is_array() || value->size() != 2 || !is_size((*value)[0]) ||
        !is_size((*value)[1]))
      fail(name, "two sizes");
    return std::pair((*value)[0].get<uint64_t>(), (*value)[1].get<uint64_t>());
  }

private:
  std::string file, path;
  const nlohmann::json &values;
};

void read_words(const Fields &fields, Quantisation &result) {
  if (fields.integer("bits").value_or(4) != 4)
    fields.fail("bits", "4");
  const std::optional<int64_t> group = fields.integer("group_size");
  if (group && *group != -1 && *group <= 0)
    fields.fail("group_size", "a positive integer, or -1");
  if (group)
    result.group = *group == -1 ? 0 : static_cast<uint64_t>(*group);
}

void read_gptq(const Fields &fields, Quantisation &result) {
  read_words(fields, result);
  // The format that GPTQ's first implementation wrote has zeros minus one.
  result.zero_added =
      fields.choice("checkpoint_format", {"gptq", "gptq_v2"}) == "gptq";
  result.may_be_reordered = fields.boolean("desc_act", false);
}

void read_awq(const Fields &fields, Quantisation &result) {
  read_words(fields, result);
  std::string version = fields.text("version", "gemm");
  std::transform(version.begin(), version.end(), version.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  if (version != "gemm")
    fields.fail("version", "gemm");
  if (!fields.boolean("zero_point", true))
    fields.fail("zero_point", "true");
}

void read_compressed_tensors(const std::string &file, const Fields &fields,
                             Quantisation &result) {
  fields.choice("format",
                {"dense", "pack-quantized", "int-quantized", "float-quantized",
                 "naive-quantized", "nvfp4-pack-quantized",
                 "mxfp4-pack-quantized", "mixed-precision"});
  const std::string path = "quantization_config.config_groups";
  const nlohmann::json *groups = fields.find("config_groups");
  if (groups && !groups->is_object())
    fields.fail("config_groups", "an object");
  if (groups)
    for (const auto &[name, group] : groups->items()) {
      const nlohmann::json *weights =
          group.is_object() && group.contains("weights") ? &group["weights"]
                                                         : nullptr;
      if (!weights || !weights->is_object())
        continue;
      const Fields inner(file, path + "." + name + ".weights.", *weights);
      if (auto block = inner.sizes("block_structure"))
        result.block = block;
    }
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// A tensor, and where it is.
struct Found {
  std::string name;
  const Tensor *tensor = nullptr;
  const WeightFile *file = nullptr;

  explicit operator bool() const { return tensor; }
  std::span<const std::byte> bytes() const {
    return {tensor->data, tensor->bytes};
  }
  uint64_t extent(size_t dimension) const { return tensor->shape[dimension]; }
  uint64_t elements() const {
    return std::accumulate(tensor->shape.begin(), tensor->shape.end(),
                           uint64_t(1), std::multiplies<>());
  }
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(file->path().string() + ": tensor " + quote_name(name) + " " +
                what);
  }
  void expect_type(std::initializer_list<DataType> types) const {
    std::string list;
    for (DataType type : types) {
      if (tensor->type == type)
        return;
      list +=
          (list.empty() ? "" : " or ") + std::string(stored_type_name(type));
    }
    fail("has the dtype " + std::string(stored_type_name(tensor->type)) +
         ", expected " + list);
  }
  void expect_shape(const std::vector<uint64_t> &shape) const {
    if (tensor->shape != shape)
      fail("has the shape " + shape_text(tensor->shape) + ", expected " +
           shape_text(shape));
  }
  /// Two dimensions, none of them 0.
  void expect_matrix() const {
    if (tensor->shape.size() != 2 || elements() == 0)
      fail("has the shape " + shape_text(tensor->shape) +
           ", expected a matrix's");
  }
};

constexpr std::initializer_list<DataType> scale_types = {
    DataType::F16, DataType::BF16, DataType::F32};

uint64_t parts_of(uint64_t whole, uint64_t part) {
  return whole / part + (whole % part != 0);
}

/// Finds a method's weights among a checkpoint's tensors.
class Finder {
public:
  Finder(const Quantisation &quantisation,
         const std::vector<std::shared_ptr<const WeightFile>> &files)
      : quantisation(quantisation) {
    for (const auto &file : files)
      for (const auto &[name, tensor] : file->tensors())
        all.emplace(name, Found{name, &tensor, file.get()});
  }

  std::map<std::string, QuantisedTensors::Weight, std::less<>> find_all();

private:
  void find_words(const Found &codes, const std::string &base);
  void find_packed(const Found &codes, const std::string &base);
  void find_float4(const Found &codes, const std::string &base);
  void find_bytes(const Found &codes, const std::string &base);
  void find_experts(const Found &codes, const std::string &base);
  void find_bitsandbytes4(const Found &codes, const std::string &base);
  void find_bitsandbytes8(const Found &codes, const std::string &base);
  nlohmann::json read_state(const Found &state) const;

  Found find(const std::string &name) const {
    auto found = all.find(name);
    return found == all.end() ? Found{} : found->second;
  }
  Found require(const Found &codes, const std::string &name) const {
    Found found = find(name);
    if (!found)
      codes.fail("is quantised, but there is no tensor " + quote_name(name));
    return found;
  }
  void add(const Found &codes, const std::string &base, DataType type,
           uint64_t outputs, const Companions &companions) {
    add_as(base + "weight", codes, *codes.tensor, type, outputs, companions);
  }
  /// Of codes that are those of a tensor, or of an expert among it.
  void add_as(const std::string &name, const Found &codes, const Tensor &own,
              DataType type, uint64_t outputs, Companions companions) {
    Tensor tensor{type, {outputs, companions.inputs}, own.data, own.bytes};
    companions.codes.data = own.data;
    tensor.companions = std::make_shared<Companions>(companions);
    weights.emplace(name,
                    QuantisedTensors::Weight{std::move(tensor), codes.file});
  }

  const Quantisation &quantisation;
  std::map<std::string, Found, std::less<>> all;
  std::map<std::string, QuantisedTensors::Weight, std::less<>> weights;
};

/// Refuses codes whose groups are not those of inputs in order.
void expect_order(const Found &index, uint64_t inputs, uint64_t group) {
  index.expect_type({DataType::I32});
  index.expect_shape({inputs});
  for (uint64_t i = 0; i < inputs; ++i) {
    uint32_t stored;
    std::memcpy(&stored, index.tensor->data + i * sizeof stored, sizeof stored);
    if (stored != i / group)
      index.fail("has inputs in the order of their activations (act-order, "
                 "desc_act), which is not supported");
  }
}

/// The longest block of inputs that groups end with.
DataType int4_type(const Found &codes, uint64_t inputs, uint64_t group) {
  for (auto [block, type] : {std::pair(128, DataType::Int4_G128),
                             {64, DataType::Int4_G64},
                             {32, DataType::Int4_G32}})
    if (inputs % block == 0 && (group >= inputs || group % block == 0))
      return type;
  codes.fail("has groups of " + std::to_string(std::min(group, inputs)) +
             " of " + std::to_string(inputs) +
             " inputs, which are no blocks of 32, 64 or 128");
}

/// Inputs have to be whole blocks, and so have groups of them.
void expect_blocks(const Found &codes, uint64_t inputs, uint64_t group,
                   uint64_t block) {
  if (inputs % block || (group < inputs && group % block))
    codes.fail("has groups of " + std::to_string(std::min(group, inputs)) +
               " of " + std::to_string(inputs) +
               " inputs, which are no blocks of " + std::to_string(block));
}

/// Scales [outputs, groups]: their group's inputs.
uint64_t group_of_rows(const Found &scales, uint64_t outputs, uint64_t inputs) {
  scales.expect_type(scale_types);
  scales.expect_matrix();
  if (scales.extent(0) != outputs || inputs % scales.extent(1))
    scales.fail("has the shape " + shape_text(scales.tensor->shape) +
                ", expected one scale for each group of " +
                shape_text({outputs, inputs}));
  return inputs / scales.extent(1);
}

/// GPTQ: words [inputs / 8, outputs]; AWQ: words [inputs, outputs / 8]; both:
/// zeros [groups, outputs / 8], scales [groups, outputs].
void Finder::find_words(const Found &codes, const std::string &base) {
  codes.expect_type({DataType::I32});
  codes.expect_matrix();
  const bool is_awq = quantisation.method == Method::Awq;
  const Found scales = require(codes, base + "scales");
  const Found zeros = require(codes, base + "qzeros");
  const uint64_t inputs = codes.extent(0) * (is_awq ? 1 : 8),
                 outputs = codes.extent(1) * (is_awq ? 8 : 1);
  scales.expect_type(scale_types);
  scales.expect_matrix();
  const uint64_t groups = scales.extent(0);
  const uint64_t group =
      quantisation.group ? (*quantisation.group ? *quantisation.group : inputs)
                         : parts_of(inputs, groups);
  scales.expect_shape({parts_of(inputs, group), outputs});
  if (outputs % 8)
    codes.fail("has " + std::to_string(outputs) +
               " outputs, which is no multiple of 8");
  zeros.expect_type({DataType::I32});
  zeros.expect_shape({groups, outputs / 8});
  if (const Found index = find(base + "g_idx"))
    expect_order(index, inputs, group);
  else if (quantisation.may_be_reordered)
    require(codes, base + "g_idx");

  Companions companions;
  companions.inputs = inputs;
  companions.scales = {
      scales.tensor->data, scales.tensor->type, 1, group, 1, outputs};
  companions.zero = quantisation.zero_added;
  companions.extents = {scales.bytes(), zeros.bytes()};
  PackedCodes rows_of_words{zeros.tensor->data, /*has_outputs=*/true, 1,
                            outputs / 8};
  if (is_awq) {
    rows_of_words.places = {0, 4, 1, 5, 2, 6, 3, 7};
    companions.codes = rows_of_words;
  } else {
    companions.codes = {nullptr, false, 1, outputs};
  }
  companions.zeros = rows_of_words;
  add(codes, base, int4_type(codes, inputs, group), outputs, companions);
}

/// compressed-tensors' pack-quantized: rows of words, whose shape is a tensor.
void Finder::find_packed(const Found &codes, const std::string &base) {
  codes.expect_type({DataType::I32});
  codes.expect_matrix();
  const Found shape = require(codes, base + "weight_shape");
  shape.expect_type({DataType::I64, DataType::I32});
  shape.expect_shape({2});
  uint64_t sizes[2] = {};
  for (int i = 0; i < 2; ++i) {
    const unsigned bytes = bytes_of(shape.tensor->type);
    std::memcpy(&sizes[i], shape.tensor->data + i * bytes, bytes);
  }
  const uint64_t outputs = sizes[0], inputs = sizes[1];
  const uint64_t words = codes.extent(1);
  if (outputs != codes.extent(0) ||
      (inputs != words * 8 && inputs != words * 4))
    codes.fail("has the shape " + shape_text(codes.tensor->shape) +
               ", which is not that of " + shape_text({outputs, inputs}) +
               " in 4 or 8 bits");
  const Found scales = require(codes, base + "weight_scale");
  const uint64_t group = group_of_rows(scales, outputs, inputs);
  if (const Found index = find(base + "weight_g_idx"))
    expect_order(index, inputs, group);

  Companions companions;
  companions.inputs = inputs;
  companions.scales = {
      scales.tensor->data, scales.tensor->type, 1, group, scales.extent(1), 1};
  companions.extents = {scales.bytes()};
  const Found zeros = find(base + "weight_zero_point");
  if (inputs == words * 4) {
    if (zeros)
      zeros.fail("has zeros of 8 bits, which are not supported");
    expect_blocks(codes, inputs, group, blocks::Int8_G64::inputs);
    companions.bits = 8;
    // Stored as numbers from 0 on.
    companions.inverted = 0x80;
    return add(codes, base, DataType::Int8_G64, outputs, companions);
  }
  companions.codes = {nullptr, false, words, 1};
  if (zeros) {
    zeros.expect_type({DataType::I32});
    zeros.expect_shape({parts_of(outputs, 8), scales.extent(1)});
    companions.zero = 0;
    companions.zeros =
        PackedCodes{zeros.tensor->data, true, scales.extent(1), 1};
    companions.extents.push_back(zeros.bytes());
  }
  add(codes, base, int4_type(codes, inputs, group), outputs, companions);
}

/// compressed-tensors' nvfp4- and mxfp4-pack-quantized: rows of bytes, two
/// codes each, the first in the lower half.
void Finder::find_float4(const Found &codes, const std::string &base) {
  codes.expect_matrix();
  const uint64_t outputs = codes.extent(0), inputs = codes.extent(1) * 2;
  const Found scales = require(codes, base + "weight_scale");
  const Found divisor = find(base + "weight_global_scale");
  const uint64_t group = divisor ? 16 : 32;
  expect_blocks(codes, inputs, inputs,
                divisor ? blocks::NVFP4::inputs : blocks::MXFP4::inputs);
  scales.expect_shape({outputs, inputs / group});

  Companions companions;
  companions.inputs = inputs;
  companions.codes = {nullptr, false, inputs / 8, 1};
  companions.scales = {
      scales.tensor->data, scales.tensor->type, 1, group, inputs / group, 1};
  companions.extents = {scales.bytes()};
  if (!divisor) {
    scales.expect_type({DataType::U8, DataType::F8E8M0});
    return add(codes, base, DataType::MXFP4, outputs, companions);
  }
  scales.expect_type({DataType::F8E4M3});
  divisor.expect_type({DataType::F32});
  if (divisor.elements() != 1)
    divisor.expect_shape({1});
  std::memcpy(&companions.divisor, divisor.tensor->data,
              sizeof companions.divisor);
  add(codes, base, DataType::NVFP4, outputs, companions);
}

/// gpt-oss's experts: all of a layer's codes are one tensor [experts, outputs,
/// blocks, 16], two to a byte, the first in the lower half, and their scales
/// one [experts, outputs, blocks].
void Finder::find_experts(const Found &codes, const std::string &base) {
  constexpr uint64_t bytes = blocks::MXFP4::inputs / 2;
  codes.expect_type({DataType::U8});
  if (codes.tensor->shape.size() != 4 || codes.elements() == 0 ||
      codes.extent(3) != bytes)
    codes.fail("has the shape " + shape_text(codes.tensor->shape) +
               ", expected experts, outputs, blocks and 16 bytes");
  const Found scales = require(codes, base + "_scales");
  scales.expect_type({DataType::U8, DataType::F8E8M0});
  const uint64_t experts = codes.extent(0), outputs = codes.extent(1),
                 groups = codes.extent(2);
  scales.expect_shape({experts, outputs, groups});

  Companions companions;
  companions.inputs = groups * blocks::MXFP4::inputs;
  companions.codes = {nullptr, false, companions.inputs / 8, 1};
  for (uint64_t expert = 0; expert < experts; ++expert) {
    const std::optional<std::string> name = name_of_expert(base, expert);
    if (!name)
      codes.fail("is quantised, but its name is none of experts");
    const Tensor own = tensor_of_expert(*scales.tensor, expert);
    companions.scales = {own.data, own.type, 1, blocks::MXFP4::inputs,
                         groups,   1};
    companions.extents = {{own.data, own.bytes}};
    add_as(*name, codes, tensor_of_expert(*codes.tensor, expert),
           DataType::MXFP4, outputs, companions);
  }
}

/// Rows of bytes, F8_E4M3 or I8, with a scale for all, for each output, for
/// groups of an output's inputs, or for each block of FP8 weights.
void Finder::find_bytes(const Found &codes, const std::string &base) {
  codes.expect_matrix();
  const uint64_t outputs = codes.extent(0), inputs = codes.extent(1);
  const bool is_float = codes.tensor->type == DataType::F8E4M3;
  Found scales = find(base + "weight_scale_inv");
  if (!scales)
    scales = require(codes, base + "weight_scale");
  scales.expect_type(scale_types);
  if (const Found zeros = find(base + "weight_zero_point"))
    if (std::any_of(zeros.tensor->data,
                    zeros.tensor->data + zeros.tensor->bytes,
                    [](std::byte byte) { return byte != std::byte(0); }))
      zeros.fail("has zeros of 8 bits, which are not supported");

  Companions companions;
  companions.bits = 8;
  companions.inputs = inputs;
  SharedValues &values = companions.scales;
  values = {scales.tensor->data, scales.tensor->type, 1, inputs, 0, 0};
  companions.extents = {scales.bytes()};
  if (scales.elements() != 1) {
    const auto block = quantisation.block;
    const std::vector<uint64_t> &shape = scales.tensor->shape;
    if (is_float && block) {
      values.outputs = block->first;
      values.inputs = block->second;
      scales.expect_shape(
          {parts_of(outputs, block->first), parts_of(inputs, block->second)});
      values.output_stride = shape[1];
    } else if (shape.size() == 1) {
      scales.expect_shape({outputs});
      values.output_stride = 1;
    } else {
      values.inputs = group_of_rows(scales, outputs, inputs);
      values.output_stride = shape[1];
    }
    values.input_stride = 1;
  }
  expect_blocks(codes, inputs, values.inputs, blocks::FP8_G64::inputs);
  add(codes, base, is_float ? DataType::FP8_G64 : DataType::Int8_G64, outputs,
      companions);
}

/// The JSON text that bitsandbytes keeps in a tensor of bytes.
nlohmann::json Finder::read_state(const Found &state) const {
  state.expect_type({DataType::U8});
  const char *text = reinterpret_cast<const char *>(state.tensor->data);
  nlohmann::json json = nlohmann::json::parse(
      text, text + state.tensor->bytes, nullptr, /*allow_exceptions=*/false);
  const auto is_count = [](const nlohmann::json &value) {
    return value.is_number_unsigned() && value.get<uint64_t>() > 0 &&
           value.get<uint64_t>() >> 32 == 0;
  };
  if (!json.is_object() || !json.contains("blocksize") ||
      !is_count(json["blocksize"]) || !json.contains("shape") ||
      !json["shape"].is_array() || json["shape"].size() != 2 ||
      !is_count(json["shape"][0]) || !is_count(json["shape"][1]))
    state.fail("is no JSON object with a blocksize and a shape of a matrix");
  if (json.contains("nested_blocksize") &&
      (!is_count(json["nested_blocksize"]) || !json.contains("nested_offset") ||
       !json["nested_offset"].is_number()))
    state.fail("has a nested_blocksize, but no number nested_offset");
  return json;
}

/// bitsandbytes' Linear4bit: all codes behind one another, the first of a byte
/// in its upper half, and a scale for every `blocksize` of them.
void Finder::find_bitsandbytes4(const Found &codes, const std::string &base) {
  const std::string weight = base + "weight";
  const std::string state_name = weight + ".quant_state.bitsandbytes__";
  const Found fp4 = find(state_name + "fp4");
  const Found state = fp4 ? fp4 : require(codes, state_name + "nf4");
  const nlohmann::json json = read_state(state);
  const uint64_t outputs = json["shape"][0], inputs = json["shape"][1];
  const uint64_t each = json["blocksize"];
  if (codes.tensor->bytes != parts_of(outputs * inputs, 2))
    codes.fail("has " + std::to_string(codes.tensor->bytes) +
               " bytes, which are not those of " +
               shape_text({outputs, inputs}) + " in 4 bits");
  expect_blocks(codes, inputs, each, blocks::CodeWords::inputs);
  // Scales go by codes, not by rows: a longer block would end within one, too.
  if (each % blocks::CodeWords::inputs)
    state.fail("has a blocksize of " + std::to_string(each) +
               ", which is no multiple of " +
               std::to_string(blocks::CodeWords::inputs));
  const Found map = require(codes, weight + ".quant_map");
  const float *numbers = fp4 ? blocks::FP4::numbers : blocks::NF4::numbers;
  map.expect_type({DataType::F32});
  map.expect_shape({16});
  for (unsigned i = 0; i < 16; ++i) {
    float number;
    std::memcpy(&number, map.tensor->data + i * sizeof number, sizeof number);
    if (number != numbers[i])
      map.fail("has other numbers than " + std::string(fp4 ? "FP4" : "NF4") +
               " has");
  }
  const Found scales = require(codes, weight + ".absmax");
  const uint64_t count = parts_of(outputs * inputs, each);
  scales.expect_shape({count});

  Companions companions;
  companions.inputs = inputs;
  companions.codes = {nullptr, false, inputs / 8, 1, {1, 0, 3, 2, 5, 4, 7, 6}};
  companions.scales = {
      scales.tensor->data, scales.tensor->type, 1, 1, inputs, 1, each};
  companions.extents = {scales.bytes()};
  if (json.contains("nested_blocksize")) {
    scales.expect_type({DataType::U8});
    const Found nested = require(codes, weight + ".nested_absmax");
    const Found nested_map = require(codes, weight + ".nested_quant_map");
    const uint64_t nested_each = json["nested_blocksize"];
    nested.expect_type({DataType::F32});
    nested.expect_shape({parts_of(count, nested_each)});
    nested_map.expect_type({DataType::F32});
    nested_map.expect_shape({256});
    companions.nested =
        NestedScales{nested_map.tensor->data, nested.tensor->data, nested_each,
                     json["nested_offset"].get<float>()};
  } else {
    scales.expect_type({DataType::F32});
  }
  add(codes, base, fp4 ? DataType::FP4 : DataType::NF4, outputs, companions);
}

/// bitsandbytes' Linear8bitLt: rows of bytes, and of each the largest weight,
/// which is 127.
void Finder::find_bitsandbytes8(const Found &codes, const std::string &base) {
  codes.expect_matrix();
  const Found scales = require(codes, base + "SCB");
  scales.expect_type({DataType::F32});
  scales.expect_shape({codes.extent(0)});
  expect_blocks(codes, codes.extent(1), codes.extent(1),
                blocks::Int8_G64::inputs);
  Companions companions;
  companions.bits = 8;
  companions.inputs = codes.extent(1);
  companions.scales = {
      scales.tensor->data, DataType::F32, 1, companions.inputs, 1, 0};
  companions.extents = {scales.bytes()};
  companions.scale_factor = 1.0f / 127;
  add(codes, base, DataType::Int8_G64, codes.extent(0), companions);
}

std::map<std::string, QuantisedTensors::Weight, std::less<>>
Finder::find_all() {
  for (const auto &[name, codes] : all) {
    const auto base_of = [&](std::string_view suffix) {
      return name.ends_with(suffix)
                 ? name.substr(0, name.size() - suffix.size())
                 : std::string();
    };
    const DataType type = codes.tensor->type;
    const std::string linear = base_of("weight");
    switch (quantisation.method) {
    case Method::Gptq:
    case Method::Awq:
      if (const std::string base = base_of("qweight"); !base.empty())
        find_words(codes, base);
      break;
    case Method::CompressedTensors:
      if (const std::string base = base_of("weight_packed"); !base.empty()) {
        if (type == DataType::U8)
          find_float4(codes, base);
        else
          find_packed(codes, base);
      }
      if (!linear.empty() && (type == DataType::F8E4M3 || type == DataType::I8))
        find_bytes(codes, linear);
      break;
    case Method::Fp8:
      if (!linear.empty() && type == DataType::F8E4M3)
        find_bytes(codes, linear);
      break;
    case Method::Mxfp4:
      if (const std::string base = base_of("_blocks"); !base.empty())
        find_experts(codes, base);
      break;
    case Method::Bitsandbytes:
      if (!linear.empty() && type == DataType::U8)
        find_bitsandbytes4(codes, linear);
      if (!linear.empty() && type == DataType::I8)
        find_bitsandbytes8(codes, linear);
      break;
    }
  }
  return std::move(weights);
}

} // namespace

std::optional<Quantisation>
Quantisation::read(const std::filesystem::path &folder) {
  const std::filesystem::path path = folder / "config.json";
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    return std::nullopt;
  const nlohmann::json config = read_json(path);
  if (!config.is_object() || !config.contains("quantization_config") ||
      config["quantization_config"].is_null())
    return std::nullopt;
  const nlohmann::json &values = config["quantization_config"];
  const std::string file = path.string();
  if (!values.is_object())
    throw Error(file + ": 'quantization_config' is no object");
  const Fields fields(file, "quantization_config.", values);
  const std::string method = fields.text("quant_method", "");
  std::string known;
  const std::pair<const char *, Method> *found = nullptr;
  for (const auto &candidate : methods) {
    known += (known.empty() ? "" : ", ") + std::string(candidate.first);
    if (method == candidate.first)
      found = &candidate;
  }
  if (!found)
    fields.fail("quant_method", "one of " + known);

  Quantisation result;
  result.method = found->second;
  result.text = values.dump(-1, ' ', /*ensure_ascii=*/true,
                            nlohmann::json::error_handler_t::replace);
  switch (result.method) {
  case Method::Gptq:
    read_gptq(fields, result);
    break;
  case Method::Awq:
    read_awq(fields, result);
    break;
  case Method::CompressedTensors:
    read_compressed_tensors(file, fields, result);
    break;
  case Method::Fp8:
    result.block = fields.sizes("weight_block_size");
    break;
  case Method::Mxfp4:
  case Method::Bitsandbytes:
    break;
  }
  return result;
}

QuantisedTensors::QuantisedTensors(
    const Quantisation &quantisation,
    const std::vector<std::shared_ptr<const WeightFile>> &files)
    : config_text(quantisation.text),
      weights(Finder(quantisation, files).find_all()), files(files) {}

const QuantisedTensors::Weight *
QuantisedTensors::find(std::string_view name) const {
  auto found = weights.find(name);
  return found == weights.end() ? nullptr : &found->second;
}

} // namespace baton
