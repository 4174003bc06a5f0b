//===- data_type.cpp - element types of stored tensors -------------------===//

#include "runtime/weights/data_type.h"

#include <iterator>

namespace baton {

namespace {

struct TypeFacts {
  std::string_view name;
  unsigned bits;
};

// Indexed by DataType.
constexpr TypeFacts type_facts[] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},
    {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"I8", 8},
    {"U8", 8},      {"BF16", 16},   {"F16", 16},    {"I16", 16},
    {"U16", 16},    {"F32", 32},    {"I32", 32},    {"U32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
};
static_assert(std::size(type_facts) == static_cast<size_t>(DataType::U64) + 1);

} // namespace

std::optional<DataType> parse_stored_type(std::string_view name) {
  for (size_t i = 0; i < std::size(type_facts); ++i)
    if (type_facts[i].name == name)
      return static_cast<DataType>(i);
  return std::nullopt;
}

std::string_view stored_type_name(DataType type) {
  return type_facts[static_cast<size_t>(type)].name;
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
  return std::nullopt;
}

} // namespace baton
