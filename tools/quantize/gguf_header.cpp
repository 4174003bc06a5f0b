//===- gguf_header.cpp - the header of a GGUF file, to be written ---------===//

#include "tools/quantize/gguf_header.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace baton {

using Type = GgufValue::Type;

/// ggml's number of a type.
static uint32_t ggml_type(DataType type) {
  switch (type) {
  case DataType::F32:
    return 0;
  case DataType::F16:
    return 1;
  case DataType::Q4_0:
    return 2;
  case DataType::Q4_1:
    return 3;
  case DataType::Q5_0:
    return 6;
  case DataType::Q5_1:
    return 7;
  case DataType::Q8_0:
    return 8;
  case DataType::Q2_K:
    return 10;
  case DataType::Q3_K:
    return 11;
  case DataType::Q4_K:
    return 12;
  case DataType::Q5_K:
    return 13;
  case DataType::Q6_K:
    return 14;
  case DataType::BF16:
    return 30;
  default:
    throw std::logic_error("tensors of this type are not written");
  }
}

uint64_t GgufEntry::bytes() const {
  const StoredBlock block = stored_block(type);
  uint64_t elements = 1;
  for (uint64_t extent : shape)
    elements *= extent;
  return elements / block.elements * block.bytes;
}

template <typename Number> void GgufHeader::put(Number value) {
  values.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void GgufHeader::put_text(std::string_view value) {
  put(uint64_t(value.size()));
  values += value;
}

void GgufHeader::begin(std::string_view key, Type type) {
  if (has(key))
    throw std::logic_error("a key is set twice: " + std::string(key));
  keys.emplace_back(key);
  put_text(key);
  put(uint32_t(type));
}

void GgufHeader::begin_list(std::string_view key, Type type, uint64_t count) {
  begin(key, Type::Array);
  put(uint32_t(type));
  put(count);
}

bool GgufHeader::has(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void GgufHeader::text(std::string_view key, std::string_view value) {
  begin(key, Type::String);
  put_text(value);
}

void GgufHeader::integer(std::string_view key, uint64_t value) {
  begin(key, Type::U32);
  put(static_cast<uint32_t>(value));
}

void GgufHeader::number(std::string_view key, double value) {
  begin(key, Type::F32);
  put(static_cast<float>(value));
}

void GgufHeader::boolean(std::string_view key, bool value) {
  begin(key, Type::Bool);
  put(uint8_t(value));
}

void GgufHeader::texts(std::string_view key,
                       const std::vector<std::string> &texts) {
  begin_list(key, Type::String, texts.size());
  for (const std::string &text : texts)
    put_text(text);
}

void GgufHeader::numbers(std::string_view key,
                         const std::vector<float> &numbers) {
  begin_list(key, Type::F32, numbers.size());
  for (float number : numbers)
    put(number);
}

void GgufHeader::integers(std::string_view key,
                          const std::vector<int32_t> &integers) {
  begin_list(key, Type::I32, integers.size());
  for (int32_t integer : integers)
    put(integer);
}

void GgufHeader::copy(const GgufFile &file, std::string_view key) {
  if (has(key))
    throw std::logic_error("a key is set twice: " + std::string(key));
  keys.emplace_back(key);
  put_text(key);
  values += file.stored_value(key);
}

std::string GgufHeader::bytes(const std::vector<GgufEntry> &tensors) const {
  GgufHeader all;
  all.values = "GGUF";
  all.put(uint32_t(3));
  all.put(uint64_t(tensors.size()));
  all.put(uint64_t(keys.size()));
  all.values += values;
  uint64_t offset = 0;
  for (const GgufEntry &tensor : tensors) {
    all.put_text(tensor.name);
    all.put(uint32_t(tensor.shape.size()));
    for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend();
         ++extent)
      all.put(*extent);
    all.put(ggml_type(tensor.type));
    all.put(offset);
    offset = aligned(offset + tensor.bytes());
  }
  all.values.resize(aligned(all.values.size()));
  return all.values;
}

} // namespace baton
