//===- data_type.h - element types of stored tensors ---------------------===//
//
// The element types that a safetensors file may name, and the subset that
// weights are computed in.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_DATA_TYPE_H
#define BATON_RUNTIME_WEIGHTS_DATA_TYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace baton {

enum class DataType : uint8_t {
  Bool,
  F4,
  F6E2M3,
  F6E3M2,
  F8E4M3,
  F8E5M2,
  F8E8M0,
  I8,
  U8,
  BF16,
  F16,
  I16,
  U16,
  F32,
  I32,
  U32,
  C64,
  F64,
  I64,
  U64,
};

/// The type that a safetensors header calls `name` ("BF16", "F8_E4M3", ...).
std::optional<DataType> parse_stored_type(std::string_view name);

/// The spelling of safetensors headers.
std::string_view stored_type_name(DataType type);

/// Bits of one element; F4 and F6 are packed without padding.
unsigned bits_of(DataType type);

/// Bytes of one element of a type whose elements are whole bytes.
inline unsigned bytes_of(DataType type) { return bits_of(type) / 8; }

/// The type that a compiled program calls `name`: "f32", "bf16", "f16"
/// or "f64".
std::optional<DataType> parse_program_type(std::string_view name);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_DATA_TYPE_H
