//===- gguf_writer.h - GGUF files, good and bad --------------------------===//

#ifndef BATON_TEST_RUNTIME_WEIGHTS_GGUF_WRITER_H
#define BATON_TEST_RUNTIME_WEIGHTS_GGUF_WRITER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace baton::test {

/// Puts a file together, right unless it is told otherwise.
class GgufWriter {
public:
  // As the format numbers them.
  enum Kind : uint32_t {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64
  };

  uint32_t version = 3;
  uint64_t alignment = 32;
  /// Added to the counts of tensors and keys in the header.
  uint64_t more_tensors = 0, more_keys = 0;

  template <typename Number> static std::string little(Number number) {
    std::string bytes(sizeof(number), '\0');
    std::memcpy(bytes.data(), &number, sizeof(number));
    return bytes;
  }
  static std::string spell(std::string_view text) {
    return little(uint64_t(text.size())) + std::string(text);
  }

  GgufWriter &raw(std::string_view key, uint32_t kind,
                  const std::string &value) {
    keys += spell(key) + little(kind) + value;
    ++key_count;
    return *this;
  }
  GgufWriter &text(std::string_view key, std::string_view value) {
    return raw(key, String, spell(value));
  }
  GgufWriter &integer(std::string_view key, uint32_t value) {
    return raw(key, U32, little(value));
  }
  GgufWriter &number(std::string_view key, float value) {
    return raw(key, F32, little(value));
  }
  GgufWriter &boolean(std::string_view key, bool value) {
    return raw(key, Bool, std::string(1, char(value)));
  }
  GgufWriter &array(std::string_view key, uint32_t kind, uint64_t count,
                    const std::string &elements) {
    return raw(key, Array, little(kind) + little(count) + elements);
  }
  GgufWriter &texts(std::string_view key,
                    const std::vector<std::string> &values) {
    std::string elements;
    for (const std::string &value : values)
      elements += spell(value);
    return array(key, String, values.size(), elements);
  }
  template <typename Number>
  GgufWriter &list(std::string_view key, uint32_t kind,
                   const std::vector<Number> &values) {
    std::string elements;
    for (Number value : values)
      elements += little(value);
    return array(key, kind, values.size(), elements);
  }

  /// `type` is ggml's number; the dimensions are in the file's order, the
  /// fastest first.
  GgufWriter &tensor(std::string_view name, std::vector<uint64_t> dimensions,
                     uint32_t type, const std::string &bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    tensor_at(name, dimensions, type, data.size());
    data += bytes;
    return *this;
  }
  GgufWriter &tensor_at(std::string_view name,
                        const std::vector<uint64_t> &dimensions, uint32_t type,
                        uint64_t offset) {
    tensors += spell(name) + little(uint32_t(dimensions.size()));
    for (uint64_t dimension : dimensions)
      tensors += little(dimension);
    tensors += little(type) + little(offset);
    ++tensor_count;
    return *this;
  }
  /// Of zeros, in F32.
  GgufWriter &zeros(std::string_view name, std::vector<uint64_t> dimensions) {
    uint64_t bytes = 4;
    for (uint64_t dimension : dimensions)
      bytes *= dimension;
    return tensor(name, std::move(dimensions), 0, std::string(bytes, '\0'));
  }

  std::string bytes() const {
    std::string result = "GGUF" + little(version) +
                         little(tensor_count + more_tensors) +
                         little(key_count + more_keys) + keys + tensors;
    result.resize((result.size() + alignment - 1) / alignment * alignment);
    return result + data;
  }

private:
  std::string keys, tensors, data;
  uint64_t key_count = 0, tensor_count = 0;
};

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_WEIGHTS_GGUF_WRITER_H
