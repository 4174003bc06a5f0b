//===- data_type.h - element types of stored tensors ---------------------===//
//
// The element types that a safetensors file may name, the blocks that a GGUF
// file may have, the forms of quantised weights that several tensors of a
// safetensors file make, and the subset that weights are computed in.
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
  // Blocks of a GGUF file; see block_format.h.
  Q8_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  GgufMXFP4,
  // Of several tensors; see companions.h.
  Int4_G32,
  Int4_G64,
  Int4_G128,
  Int8_G64,
  FP8_G64,
  NVFP4,
  MXFP4,
  NF4,
  FP4,
};

/// How elements of a type are stored: so many at a time, in so many bytes.
struct StoredBlock {
  unsigned elements;
  unsigned bytes;
};

/// The type that a safetensors header calls `name` ("BF16", "F8_E4M3", ...).
std::optional<DataType> parse_stored_type(std::string_view name);

/// The spelling of safetensors headers.
std::string_view stored_type_name(DataType type);

/// Whether elements come in blocks that share a scale.
bool is_quantised(DataType type);

/// Whether the scales of a quantised type are in other tensors.
inline bool has_companions(DataType type) { return type >= DataType::Int4_G32; }

/// The block of a quantised type, which has no bytes of its own if it has
/// companions; another's is one element of whole bytes.
StoredBlock stored_block(DataType type);

/// Bits of one element of a type that is not quantised; F4 and F6 are packed
/// without padding.
unsigned bits_of(DataType type);

/// Bytes of one element of a type whose elements are whole bytes.
inline unsigned bytes_of(DataType type) { return bits_of(type) / 8; }

/// The type that a compiled program calls `name`: "f32", "bf16", "f16", "f64"
/// or "i8".
std::optional<DataType> parse_program_type(std::string_view name);

/// The format of runtime/weight_blocks.h, by its name, in which a program has
/// weights that are stored so, exactly. IQ4_NL's code words are whole numbers
/// of 8 bits, so that it is Q8_0.
const char *panel_format(DataType type);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_DATA_TYPE_H
