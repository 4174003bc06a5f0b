//===- safetensors.cpp - one memory-mapped safetensors file --------------===//

#include "runtime/weights/safetensors.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace baton {

namespace {

/// A tensor as its header entry spells it, before any check of meaning.
struct HeaderEntry {
  std::optional<std::string> type;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

/// Reads the header as a stream and refuses whatever the format does not allow
/// at once: no document is built, so that nesting and size of hostile input
/// cost nothing.
class HeaderReader {
public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit HeaderReader(const std::string &file) : file(file) {}

  std::map<std::string, HeaderEntry> entries;

  bool null() { return refuse_value(); }
  bool boolean(bool) { return refuse_value(); }
  bool number_integer(number_integer_t) { return refuse_value(); }
  bool number_float(number_float_t, const string_t &) { return refuse_value(); }
  bool binary(binary_t &) { return refuse_value(); }

  bool number_unsigned(number_unsigned_t value) {
    if (!array)
      return refuse_value();
    if (array->size() == SafetensorsFile::max_rank)
      fail("has a " + field + " of more than " +
           std::to_string(SafetensorsFile::max_rank) + " numbers");
    array->push_back(value);
    return true;
  }

  bool string(string_t &value) {
    if (place == Place::Metadata)
      return true;
    if (place != Place::Entry || array || field != "dtype")
      return refuse_value();
    entry->type = value;
    return true;
  }

  bool start_object(std::size_t) {
    switch (place) {
    case Place::Start:
      place = Place::Top;
      return true;
    case Place::Top:
      if (name == "__metadata__") {
        place = Place::Metadata;
        metadata_keys.clear();
      } else {
        place = Place::Entry;
        entry = &entries[name];
      }
      return true;
    default:
      return refuse_value();
    }
  }

  bool key(string_t &value) {
    switch (place) {
    case Place::Top:
      name = value;
      if (entries.count(name) || (name == "__metadata__" && metadata_seen))
        fail("is named twice in the header");
      metadata_seen |= name == "__metadata__";
      return true;
    case Place::Metadata:
      if (!metadata_keys.insert(value).second)
        fail("names the key " + quote_name(value) + " twice");
      return true;
    default:
      field = value;
      if (field != "dtype" && field != "shape" && field != "data_offsets")
        fail("has the unknown field " + quote_name(field));
      if ((field == "dtype" && entry->type) ||
          (field == "shape" && entry->shape) ||
          (field == "data_offsets" && entry->offsets))
        fail("names its " + field + " twice");
      return true;
    }
  }

  bool end_object() {
    if (place == Place::Entry) {
      if (!entry->type)
        fail("has no dtype");
      if (!entry->shape)
        fail("has no shape");
      if (!entry->offsets)
        fail("has no data_offsets");
    }
    place = Place::Top;
    return true;
  }

  bool start_array(std::size_t) {
    if (place != Place::Entry || array || field == "dtype")
      return refuse_value();
    std::optional<std::vector<uint64_t>> &target =
        field == "shape" ? entry->shape : entry->offsets;
    array = &target.emplace();
    return true;
  }

  bool end_array() {
    array = nullptr;
    return true;
  }

  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::json::exception &) {
    throw Error(file +
                ": the safetensors header is not valid JSON (at its byte " +
                std::to_string(position) + ")");
  }

private:
  enum class Place { Start, Top, Metadata, Entry };

  [[noreturn]] void fail(const std::string &what) const {
    throw Error(file + ": tensor " + quote_name(name) + " " + what);
  }

  bool refuse_value() const {
    switch (place) {
    case Place::Start:
      throw Error(file + ": the safetensors header is not a JSON object");
    case Place::Top:
      fail("is not described by an object");
    case Place::Metadata:
      throw Error(file + ": __metadata__ holds a value that is not a string");
    case Place::Entry:
      break;
    }
    if (field == "dtype")
      fail("has a dtype that is not a string");
    fail("has a " + field + " that is not an array of non-negative integers");
  }

  const std::string &file;
  Place place = Place::Start;
  std::string name;
  std::string field;
  HeaderEntry *entry = nullptr;
  std::vector<uint64_t> *array = nullptr;
  bool metadata_seen = false;
  std::set<std::string> metadata_keys;
};

/// Bytes of a tensor, or nothing when they do not fit 64 bits or no whole byte.
std::optional<uint64_t> tensor_bytes(DataType type,
                                     const std::vector<uint64_t> &shape) {
  // A zero dimension makes the product zero however large the others are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  uint64_t bits = bits_of(type);
  for (uint64_t dimension : shape)
    if (__builtin_mul_overflow(bits, dimension, &bits))
      return std::nullopt;
  if (bits % 8 != 0)
    return std::nullopt;
  return bits / 8;
}

/// Checks one entry against the format and the file's data bytes.
Tensor check_entry(const std::string &file, const std::string &name,
                   HeaderEntry &entry, const std::byte *data,
                   uint64_t data_bytes) {
  auto fail = [&](const std::string &what) {
    throw Error(file + ": tensor " + quote_name(name) + " " + what);
  };
  std::optional<DataType> type = parse_stored_type(*entry.type);
  if (!type)
    fail("has the unknown dtype " + quote_name(*entry.type));
  if (entry.offsets->size() != 2)
    fail("has data_offsets that are not two numbers");
  uint64_t begin = (*entry.offsets)[0], end = (*entry.offsets)[1];
  if (begin > end)
    fail("begins at byte " + std::to_string(begin) +
         ", after its end at byte " + std::to_string(end));
  std::optional<uint64_t> bytes = tensor_bytes(*type, *entry.shape);
  if (!bytes)
    fail("has a shape " + shape_text(*entry.shape) +
         " that no number of bytes can hold");
  if (*bytes != end - begin)
    fail("of dtype " + *entry.type + " and shape " + shape_text(*entry.shape) +
         " needs " + std::to_string(*bytes) + " bytes, but its offsets give " +
         std::to_string(end - begin));
  if (end > data_bytes)
    fail("ends at data byte " + std::to_string(end) +
         ", but the file holds only " + std::to_string(data_bytes) +
         ": it is truncated, download it again");
  return Tensor{*type, std::move(*entry.shape), data + begin, *bytes};
}

} // namespace

std::shared_ptr<const SafetensorsFile>
SafetensorsFile::open(const std::filesystem::path &path) {
  return std::shared_ptr<const SafetensorsFile>(new SafetensorsFile(path));
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path &path)
    : WeightFile(path, 8, "safetensors") {
  const std::string file = path.string();
  uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i)
    header_bytes = header_bytes << 8 | std::to_integer<uint64_t>(base[i]);
  if (header_bytes > size - 8)
    throw Error(file + ": the header's length " + std::to_string(header_bytes) +
                " exceeds the file: truncated, or not a safetensors file");
  if (header_bytes > max_header_bytes)
    throw Error(file + ": the header's length " + std::to_string(header_bytes) +
                " exceeds the format's limit of " +
                std::to_string(max_header_bytes) + " bytes");
  header_text =
      std::string_view(reinterpret_cast<const char *>(base) + 8, header_bytes);

  HeaderReader reader(file);
  nlohmann::json::sax_parse(header_text.begin(), header_text.end(), &reader);
  const std::byte *data = base + 8 + header_bytes;
  for (auto &[name, entry] : reader.entries)
    tensor_map.emplace_hint(
        tensor_map.end(), name,
        check_entry(file, name, entry, data, size - 8 - header_bytes));
  check_overlaps(file, tensor_map);
}

} // namespace baton
