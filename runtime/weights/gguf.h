//===- gguf.h - one memory-mapped GGUF file ------------------------------===//
//
// Format: "GGUF", a version, the numbers of tensors and of keys, keys with
// typed values, the tensors' names, dimensions, types and offsets, and after
// padding their bytes (https://github.com/ggml-org/ggml/blob/master/docs/
// gguf.md). Versions 2 and 3, little-endian, are read. The header is checked in
// full when the file is opened, so that every value and Tensor handed out lies
// inside the file; values are read where they are mapped. A tensor's pages are
// not touched.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_GGUF_H
#define BATON_RUNTIME_WEIGHTS_GGUF_H

#include "runtime/weights/weight_file.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A key's value, checked and still as the file has it.
struct GgufValue {
  /// As the format numbers them.
  enum class Type : uint32_t {
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
    F64,
  };
  /// Of an array, its elements'.
  Type type;
  bool is_array;
  /// Elements; 1 where it is no array.
  uint64_t count;
  /// The elements, one behind the other; a string is 8 bytes of length and its
  /// bytes.
  const std::byte *data;
};

class GgufFile : public WeightFile {
public:
  static constexpr size_t max_rank = 4;

  /// Throws Error, naming the file and the key or tensor, when the file cannot
  /// be read, breaks a rule of the format, or has a tensor of a type that is
  /// not read. Names in tensors() are the file's; a shape has the longest
  /// stride first, other than the file.
  static std::shared_ptr<const GgufFile>
  open(const std::filesystem::path &path);

  uint32_t version() const { return format_version; }
  bool has(std::string_view key) const { return values.contains(key); }
  /// All keys, sorted.
  std::vector<std::string_view> keys() const;

  // The value of a key, or nothing where there is none. Throws Error, naming
  // file and key, when it is of another kind or, of an integer of any width,
  // negative or above `most`.
  std::optional<uint64_t> integer(std::string_view key, uint64_t most) const;
  /// A float of any width, finite, or an integer.
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  /// Any bytes, mapped.
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::vector<std::string_view>>
  texts(std::string_view key) const;
  std::optional<std::vector<float>> numbers(std::string_view key) const;
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;

  /// The type and the value of a key that there is, as the file has them.
  std::string_view stored_value(std::string_view key) const;

  /// Throws Error: "FILE: the key "KEY" <what>".
  [[noreturn]] void fail(std::string_view key, const std::string &what) const;
  /// Throws Error: "FILE: <what>".
  [[noreturn]] void fail(const std::string &what) const;

private:
  friend class GgufModel;
  class Reader;

  explicit GgufFile(const std::filesystem::path &path);

  /// Null where there is none.
  const GgufValue *find(std::string_view key) const;
  /// The value where it is one of `wanted`, else an error that says `expected`.
  const GgufValue *find_array(std::string_view key,
                              std::initializer_list<GgufValue::Type> wanted,
                              const char *expected) const;

  uint32_t format_version = 0;
  std::map<std::string_view, GgufValue> values;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_GGUF_H
