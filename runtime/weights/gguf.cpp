//===- gguf.cpp - one memory-mapped GGUF file ----------------------------===//

#include "runtime/weights/gguf.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace baton {

static_assert(std::endian::native == std::endian::little);

namespace {

struct TensorType {
  const char *name;
  /// Nothing for those that are not read.
  std::optional<DataType> type = {};
};

/// Indexed by the numbers of ggml's enum; one without a name is not in use.
constexpr TensorType tensor_types[] = {
    {"F32", DataType::F32},
    {"F16", DataType::F16},
    {"Q4_0", DataType::Q4_0},
    {"Q4_1", DataType::Q4_1},
    {"Q4_2"},
    {"Q4_3"},
    {"Q5_0", DataType::Q5_0},
    {"Q5_1", DataType::Q5_1},
    {"Q8_0", DataType::Q8_0},
    {"Q8_1"},
    {"Q2_K", DataType::Q2_K},
    {"Q3_K", DataType::Q3_K},
    {"Q4_K", DataType::Q4_K},
    {"Q5_K", DataType::Q5_K},
    {"Q6_K", DataType::Q6_K},
    {"Q8_K"},
    {"IQ2_XXS"},
    {"IQ2_XS"},
    {"IQ3_XXS"},
    {"IQ1_S"},
    {"IQ4_NL", DataType::IQ4_NL},
    {"IQ3_S"},
    {"IQ2_S"},
    {"IQ4_XS"},
    {"I8"},
    {"I16"},
    {"I32"},
    {"I64"},
    {"F64", DataType::F64},
    {"IQ1_M"},
    {"BF16", DataType::BF16},
    {"Q4_0_4_4"},
    {"Q4_0_4_8"},
    {"Q4_0_8_8"},
    {"TQ1_0"},
    {"TQ2_0"},
    {"IQ4_NL_4_4"},
    {"IQ4_NL_4_8"},
    {"IQ4_NL_8_8"},
    {"MXFP4", DataType::GgufMXFP4},
    {"NVFP4"},
    {"Q1_0"},
};

/// Of a value that is neither a string nor an array.
uint64_t bytes_of(GgufValue::Type type) {
  using enum GgufValue::Type;
  switch (type) {
  case U8:
  case I8:
  case Bool:
    return 1;
  case U16:
  case I16:
    return 2;
  case U32:
  case I32:
  case F32:
    return 4;
  default:
    return 8;
  }
}

bool is_integer(GgufValue::Type type) {
  using enum GgufValue::Type;
  return type != F32 && type != F64 && type != Bool && type != String &&
         type != Array;
}

template <typename Number> Number load(const std::byte *data) {
  Number value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

/// An integer of any width; nothing where 64 bits with a sign do not hold it.
std::optional<int64_t> load_integer(GgufValue::Type type,
                                    const std::byte *data) {
  using enum GgufValue::Type;
  switch (type) {
  case U8:
    return load<uint8_t>(data);
  case I8:
    return load<int8_t>(data);
  case U16:
    return load<uint16_t>(data);
  case I16:
    return load<int16_t>(data);
  case U32:
    return load<uint32_t>(data);
  case I32:
    return load<int32_t>(data);
  case I64:
    return load<int64_t>(data);
  default: {
    const auto value = load<uint64_t>(data);
    if (value > uint64_t(std::numeric_limits<int64_t>::max()))
      return std::nullopt;
    return static_cast<int64_t>(value);
  }
  }
}

std::string_view load_text(const std::byte *data) {
  return {reinterpret_cast<const char *>(data) + 8, load<uint64_t>(data)};
}

} // namespace

/// Reads a header from its beginning to its end; no number in it is believed
/// before it has been compared with the bytes that are there.
class GgufFile::Reader {
public:
  explicit Reader(GgufFile &file) : file(file) {}

  void read();

private:
  const std::byte *here() const { return file.base + offset; }
  uint64_t left() const { return file.size - offset; }

  /// Passes over so many bytes, of what is named in an error.
  void skip(uint64_t bytes, const std::string &what) {
    if (bytes > left())
      file.fail("ends inside " + what + ": it is truncated, download it again");
    offset += bytes;
  }
  template <typename Number> Number number(const std::string &what) {
    const std::byte *data = here();
    skip(sizeof(Number), what);
    return load<Number>(data);
  }
  std::string_view text(const std::string &what) {
    const std::byte *data = here();
    skip(number<uint64_t>(what), what);
    return load_text(data);
  }

  void read_value();
  GgufValue::Type value_type(const std::string &what);
  void skip_elements(const GgufValue &value, const std::string &what);
  void read_tensor();
  void place_tensors();

  GgufFile &file;
  uint64_t offset = 0;
  /// By tensor: where it begins behind the header.
  std::vector<std::pair<std::string, uint64_t>> offsets;
};

void GgufFile::Reader::read() {
  if (std::memcmp(here(), "GGUF", 4) != 0)
    file.fail("is not a GGUF file: it begins with other bytes than \"GGUF\"");
  offset = 4;
  file.format_version = number<uint32_t>("its version");
  if (file.format_version == 0x02000000 || file.format_version == 0x03000000)
    file.fail("is big-endian; only little-endian GGUF files are read");
  if (file.format_version != 2 && file.format_version != 3)
    file.fail("is of GGUF version " + std::to_string(file.format_version) +
              "; versions 2 and 3 are read");
  const auto tensors = number<uint64_t>("its number of tensors");
  const auto keys = number<uint64_t>("its number of keys");
  // Each takes some bytes, so that counts that do not fit end the loops.
  for (uint64_t i = 0; i < keys; ++i)
    read_value();
  for (uint64_t i = 0; i < tensors; ++i)
    read_tensor();
  file.header_text = {reinterpret_cast<const char *>(file.base), offset};
  place_tensors();
  check_overlaps(file.path().string(), file.tensor_map);
}

GgufValue::Type GgufFile::Reader::value_type(const std::string &what) {
  const auto type = number<uint32_t>(what);
  if (type > uint32_t(GgufValue::Type::F64))
    file.fail(what + " has the type " + std::to_string(type) +
              ", which the format does not have");
  return GgufValue::Type(type);
}

void GgufFile::Reader::read_value() {
  const std::string_view key = text("a key");
  const std::string what = "the key " + quote_name(key);
  if (key.empty())
    file.fail("has a key without a name");
  if (file.values.contains(key))
    file.fail("has " + what + " twice");
  GgufValue value{value_type(what), false, 1, nullptr};
  if (value.type == GgufValue::Type::Array) {
    value.is_array = true;
    value.type = value_type(what);
    if (value.type == GgufValue::Type::Array)
      file.fail(what + " is a list of lists, which is not read");
    value.count = number<uint64_t>(what);
  }
  value.data = here();
  skip_elements(value, what);
  file.values.emplace(key, value);
}

void GgufFile::Reader::skip_elements(const GgufValue &value,
                                     const std::string &what) {
  if (value.type == GgufValue::Type::String) {
    for (uint64_t i = 0; i < value.count; ++i)
      text(what);
    return;
  }
  uint64_t bytes;
  if (__builtin_mul_overflow(value.count, bytes_of(value.type), &bytes))
    bytes = std::numeric_limits<uint64_t>::max();
  skip(bytes, what);
  if (value.type == GgufValue::Type::Bool &&
      std::any_of(value.data, value.data + bytes,
                  [](std::byte byte) { return byte > std::byte(1); }))
    file.fail(what + " is neither true nor false");
}

void GgufFile::Reader::read_tensor() {
  const std::string name(text("a tensor's name"));
  const std::string what = "tensor " + quote_name(name);
  if (name.empty())
    file.fail("has a tensor without a name");
  if (file.tensor_map.contains(name))
    file.fail("has the " + what + " twice");
  const auto rank = number<uint32_t>(what);
  if (rank > max_rank)
    file.fail(what + " has " + std::to_string(rank) +
              " dimensions, expected at most " + std::to_string(max_rank));
  std::vector<uint64_t> shape;
  for (uint32_t i = 0; i < rank; ++i)
    shape.push_back(number<uint64_t>(what));
  std::reverse(shape.begin(), shape.end());

  const auto number_of_type = number<uint32_t>(what);
  if (number_of_type >= std::size(tensor_types))
    file.fail(what + " has the type " + std::to_string(number_of_type) +
              ", which is not known");
  const TensorType &type = tensor_types[number_of_type];
  if (!type.type)
    file.fail(what + " has the type " + type.name + ", which is not read");

  const StoredBlock block = stored_block(*type.type);
  const uint64_t row = shape.empty() ? 1 : shape.back();
  if (row % block.elements)
    file.fail(what + " has rows of " + std::to_string(row) +
              " elements, but blocks of " + type.name + " have " +
              std::to_string(block.elements));
  // A zero dimension makes the product zero however large the others are.
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  uint64_t bytes = is_empty ? 0 : block.bytes;
  for (size_t i = 0; i < shape.size() && !is_empty; ++i)
    if (__builtin_mul_overflow(
            bytes, i + 1 == shape.size() ? row / block.elements : shape[i],
            &bytes))
      file.fail(what + " has a shape " + shape_text(shape) +
                " that no number of bytes can hold");
  offsets.emplace_back(name, number<uint64_t>(what));
  file.tensor_map.emplace(name,
                          Tensor{*type.type, std::move(shape), nullptr, bytes});
}

void GgufFile::Reader::place_tensors() {
  const uint64_t alignment =
      file.integer("general.alignment", std::numeric_limits<uint32_t>::max())
          .value_or(32);
  if (!std::has_single_bit(alignment))
    file.fail("general.alignment",
              "is " + std::to_string(alignment) + ", expected a power of two");
  // A file without tensors may end before its padding does.
  const uint64_t padding = (alignment - offset % alignment) % alignment;
  const std::byte *data = here() + std::min(padding, left());
  const uint64_t data_bytes = left() - std::min(padding, left());
  for (const auto &[name, begin] : offsets) {
    Tensor &tensor = file.tensor_map.find(name)->second;
    const std::string what = "tensor " + quote_name(name);
    if (begin % alignment)
      file.fail(what + " begins at data byte " + std::to_string(begin) +
                ", which is no multiple of the alignment " +
                std::to_string(alignment));
    if (begin > data_bytes || tensor.bytes > data_bytes - begin)
      file.fail(what + " has " + std::to_string(tensor.bytes) +
                " bytes from data byte " + std::to_string(begin) +
                " on, but the file holds only " + std::to_string(data_bytes) +
                ": it is truncated, download it again");
    tensor.data = data + begin;
  }
}

GgufFile::GgufFile(const std::filesystem::path &path)
    : WeightFile(path, 24, "GGUF") {
  Reader(*this).read();
}

std::shared_ptr<const GgufFile>
GgufFile::open(const std::filesystem::path &path) {
  return std::shared_ptr<const GgufFile>(new GgufFile(path));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void GgufFile::fail(const std::string &what) const {
  throw Error(path().string() + ": " + what);
}

void GgufFile::fail(std::string_view key, const std::string &what) const {
  fail("the key " + quote_name(key) + " " + what);
}

std::vector<std::string_view> GgufFile::keys() const {
  std::vector<std::string_view> result;
  for (const auto &[key, value] : values)
    result.push_back(key);
  return result;
}

const GgufValue *GgufFile::find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

std::string_view GgufFile::stored_value(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end())
    fail("has no key " + quote_name(key));
  const GgufValue &value = found->second;
  const std::byte *end = value.data;
  if (value.type == GgufValue::Type::String)
    for (uint64_t i = 0; i < value.count; ++i)
      end += 8 + load<uint64_t>(end);
  else
    end += value.count * bytes_of(value.type);
  // Behind the key's own bytes.
  const char *begin = found->first.data() + found->first.size();
  return {begin,
          static_cast<size_t>(reinterpret_cast<const char *>(end) - begin)};
}

std::optional<uint64_t> GgufFile::integer(std::string_view key,
                                          uint64_t most) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  const std::string expected =
      "expected an integer from 0 to " + std::to_string(most);
  if (value->is_array)
    fail(key, "is a list, " + expected);
  if (!is_integer(value->type))
    fail(key, "is no integer, " + expected);
  const std::optional<int64_t> found = load_integer(value->type, value->data);
  if (!found || *found < 0 || uint64_t(*found) > most)
    fail(key, "is " +
                  (found ? std::to_string(*found)
                         : std::to_string(load<uint64_t>(value->data))) +
                  ", " + expected);
  return static_cast<uint64_t>(*found);
}

std::optional<double> GgufFile::number(std::string_view key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_array) {
    if (is_integer(value->type))
      if (const auto found = load_integer(value->type, value->data))
        return static_cast<double>(*found);
    double found = std::numeric_limits<double>::quiet_NaN();
    if (value->type == GgufValue::Type::F32)
      found = load<float>(value->data);
    else if (value->type == GgufValue::Type::F64)
      found = load<double>(value->data);
    if (std::isfinite(found))
      return found;
  }
  fail(key, "is not a finite number");
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->is_array || value->type != GgufValue::Type::Bool)
    fail(key, "is neither true nor false");
  return *value->data != std::byte(0);
}

std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->is_array || value->type != GgufValue::Type::String)
    fail(key, "is not a text");
  return load_text(value->data);
}

const GgufValue *
GgufFile::find_array(std::string_view key,
                     std::initializer_list<GgufValue::Type> wanted,
                     const char *expected) const {
  const GgufValue *value = find(key);
  if (!value)
    return nullptr;
  if (!value->is_array ||
      std::find(wanted.begin(), wanted.end(), value->type) == wanted.end())
    fail(key, std::string("is not a list of ") + expected);
  return value;
}

std::optional<std::vector<std::string_view>>
GgufFile::texts(std::string_view key) const {
  const GgufValue *value = find_array(key, {GgufValue::Type::String}, "texts");
  if (!value)
    return std::nullopt;
  std::vector<std::string_view> result;
  result.reserve(value->count);
  const std::byte *data = value->data;
  for (uint64_t i = 0; i < value->count; ++i) {
    result.push_back(load_text(data));
    data += 8 + result.back().size();
  }
  return result;
}

std::optional<std::vector<float>>
GgufFile::numbers(std::string_view key) const {
  const GgufValue *value =
      find_array(key, {GgufValue::Type::F32}, "32-bit floats");
  if (!value)
    return std::nullopt;
  std::vector<float> result(value->count);
  std::memcpy(result.data(), value->data, result.size() * sizeof(float));
  return result;
}

std::optional<std::vector<int64_t>>
GgufFile::integers(std::string_view key) const {
  using enum GgufValue::Type;
  const GgufValue *value =
      find_array(key, {U8, I8, U16, I16, U32, I32, I64}, "integers");
  if (!value)
    return std::nullopt;
  std::vector<int64_t> result;
  result.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i)
    result.push_back(
        *load_integer(value->type, value->data + i * bytes_of(value->type)));
  return result;
}

} // namespace baton
