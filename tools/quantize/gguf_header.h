//===- gguf_header.h - the header of a GGUF file, to be written -----------===//

#ifndef BATON_TOOLS_QUANTIZE_GGUF_HEADER_H
#define BATON_TOOLS_QUANTIZE_GGUF_HEADER_H

#include "runtime/weights/data_type.h"
#include "runtime/weights/gguf.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A tensor's entry, in the order in which tensors lie in the file.
struct GgufEntry {
  std::string name;
  DataType type;
  /// The longest stride first.
  std::vector<uint64_t> shape;

  uint64_t bytes() const;
};

/// Keys and values in the order of their calls; a key is set once.
class GgufHeader {
public:
  /// Of tensors, behind the header and each other.
  static constexpr uint64_t alignment = 32;
  static uint64_t aligned(uint64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  void text(std::string_view key, std::string_view value);
  void integer(std::string_view key, uint64_t value);
  void number(std::string_view key, double value);
  void boolean(std::string_view key, bool value);
  void texts(std::string_view key, const std::vector<std::string> &values);
  void numbers(std::string_view key, const std::vector<float> &values);
  void integers(std::string_view key, const std::vector<int32_t> &values);
  /// A key of another file, as it is there.
  void copy(const GgufFile &file, std::string_view key);
  bool has(std::string_view key) const;

  /// The header of a file of version 3, up to the first tensor's byte.
  std::string bytes(const std::vector<GgufEntry> &tensors) const;

private:
  void begin(std::string_view key, GgufValue::Type type);
  void begin_list(std::string_view key, GgufValue::Type type, uint64_t count);
  template <typename Number> void put(Number value);
  void put_text(std::string_view value);

  std::string values;
  std::vector<std::string> keys;
};

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_GGUF_HEADER_H
