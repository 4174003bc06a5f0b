//===- data_type.cpp - element types of stored tensors -------------------===//

#include "runtime/weights/data_type.h"

#include <iterator>

namespace baton {

namespace {

struct TypeFacts {
  std::string_view name;
  /// 0: see `block`.
  unsigned bits;
  StoredBlock block = {};
};

// Indexed by DataType.
constexpr TypeFacts type_facts[] = {
    {"BOOL", 8},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F8_E4M3", 8},
    {"F8_E5M2", 8},
    {"F8_E8M0", 8},
    {"I8", 8},
    {"U8", 8},
    {"BF16", 16},
    {"F16", 16},
    {"I16", 16},
    {"U16", 16},
    {"F32", 32},
    {"I32", 32},
    {"U32", 32},
    {"C64", 64},
    {"F64", 64},
    {"I64", 64},
    {"U64", 64},
    // Sizes of ggml's blocks: 16 bits for each scale, then the numbers.
    {"Q8_0", 0, {32, 34}},
    {"Q4_0", 0, {32, 18}},
    {"Q4_1", 0, {32, 20}},
    {"Q5_0", 0, {32, 22}},
    {"Q5_1", 0, {32, 24}},
    {"Q2_K", 0, {256, 84}},
    {"Q3_K", 0, {256, 110}},
    {"Q4_K", 0, {256, 144}},
    {"Q5_K", 0, {256, 176}},
    {"Q6_K", 0, {256, 210}},
    {"IQ4_NL", 0, {32, 18}},
    {"MXFP4", 0, {32, 17}},
    {"INT4_G32", 0, {32, 0}},
    {"INT4_G64", 0, {64, 0}},
    {"INT4_G128", 0, {128, 0}},
    {"INT8_G64", 0, {64, 0}},
    {"FP8_G64", 0, {64, 0}},
    {"NVFP4", 0, {64, 0}},
    {"MXFP4", 0, {32, 0}},
    {"NF4", 0, {64, 0}},
    {"FP4", 0, {64, 0}},
};
static_assert(std::size(type_facts) == static_cast<size_t>(DataType::FP4) + 1);

} // namespace

std::optional<DataType> parse_stored_type(std::string_view name) {
  for (size_t i = 0; i < std::size(type_facts); ++i)
    if (type_facts[i].name == name && type_facts[i].bits > 0)
      return static_cast<DataType>(i);
  return std::nullopt;
}

std::string_view stored_type_name(DataType type) {
  return type_facts[static_cast<size_t>(type)].name;
}

bool is_quantised(DataType type) {
  return type_facts[static_cast<size_t>(type)].bits == 0;
}

StoredBlock stored_block(DataType type) {
  const TypeFacts &facts = type_facts[static_cast<size_t>(type)];
  return facts.bits ? StoredBlock{1, facts.bits / 8} : facts.block;
}

unsigned bits_of(DataType type) {
  return type_facts[static_cast<size_t>(type)].bits;
}

std::optional<DataType> parse_program_type(std::string_view name) {
  if (name == "f32")
    return DataType::F32;
  if (name == "bf16")
    return DataType::BF16;
  if (name == "f16")
    return DataType::F16;
  if (name == "f64")
    return DataType::F64;
  if (name == "i8")
    return DataType::I8;
  if (name == "u8")
    return DataType::U8;
  return std::nullopt;
}

const char *panel_format(DataType type) {
  switch (type) {
  case DataType::Q8_0:
  case DataType::IQ4_NL:
    return "q8_0";
  case DataType::Q4_0:
    return "q4_0";
  case DataType::Q4_1:
    return "q4_1";
  case DataType::Q5_0:
    return "q5_0";
  case DataType::Q5_1:
    return "q5_1";
  case DataType::Q2_K:
    return "q2_k";
  case DataType::Q3_K:
    return "q3_k";
  case DataType::Q4_K:
    return "q4_k";
  case DataType::Q5_K:
    return "q5_k";
  case DataType::Q6_K:
    return "q6_k";
  case DataType::Int4_G32:
    return "int4_g32";
  case DataType::Int4_G64:
    return "int4_g64";
  case DataType::Int4_G128:
    return "int4_g128";
  case DataType::Int8_G64:
    return "int8_g64";
  case DataType::FP8_G64:
    return "fp8_g64";
  case DataType::NVFP4:
    return "nvfp4";
  case DataType::GgufMXFP4:
  case DataType::MXFP4:
    return "mxfp4";
  case DataType::NF4:
    return "nf4";
  case DataType::FP4:
    return "fp4";
  case DataType::F16:
    return "f16";
  case DataType::BF16:
    return "bf16";
  case DataType::F32:
    return "f32";
  default:
    return nullptr;
  }
}

} // namespace baton
