//===- safetensors_writer.cpp - writes files that safetensors.h reads ----===//

#include "runtime/train/safetensors_writer.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"
#include "runtime/weights/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

static_assert(std::endian::native == std::endian::little,
              "safetensors files hold little-endian data");

namespace baton {

namespace {

/// Bytes that are asked of `TensorSource::read` at a time, unless a row has
/// more.
constexpr uint64_t piece_bytes = 4 << 20;

/// Rows of a tensor, and the bytes of each.
struct RowExtent {
  uint64_t rows;
  uint64_t row_bytes;
};

RowExtent extent_of(const std::string &file, const TensorSource &tensor) {
  auto fail = [&](const std::string &what) {
    throw Error(file + ": tensor " + quote_name(tensor.name) + " " + what);
  };
  if (tensor.name == "__metadata__")
    fail("has a name that the format keeps for itself");
  if (bits_of(tensor.type) % 8 != 0)
    fail("has elements of less than a byte, " +
         std::string(stored_type_name(tensor.type)));
  if (tensor.shape.size() > SafetensorsFile::max_rank)
    fail("has more than " + std::to_string(SafetensorsFile::max_rank) +
         " dimensions");
  // A zero dimension makes the product zero however large the others are.
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) !=
      tensor.shape.end())
    return {0, 0};
  RowExtent extent = {1, bytes_of(tensor.type)};
  uint64_t all;
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    if (__builtin_mul_overflow(i ? extent.row_bytes : extent.rows,
                               tensor.shape[i],
                               i ? &extent.row_bytes : &extent.rows))
      fail("has the shape " + shape_text(tensor.shape) +
           ", too large to write");
  // Offsets in a file are signed.
  if (__builtin_mul_overflow(extent.rows, extent.row_bytes, &all) || all >> 62)
    fail("has the shape " + shape_text(tensor.shape) + ", too large to write");
  if (!tensor.data && !tensor.read)
    fail("has nothing that delivers its elements");
  return extent;
}

} // namespace

std::vector<const TensorSource *>
file_order(const std::vector<TensorSource> &tensors) {
  std::vector<const TensorSource *> order;
  for (const TensorSource &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const TensorSource *left, const TensorSource *right) {
              unsigned wide = bits_of(left->type), other = bits_of(right->type);
              return std::tie(other, left->name) < std::tie(wide, right->name);
            });
  return order;
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path target)
    : file(std::move(target)) {}

void SafetensorsWriter::write(const std::vector<TensorSource> &tensors,
                              const Metadata &metadata) {
  std::string path = target().string();
  std::vector<const TensorSource *> order = file_order(tensors);

  std::string text = "{";
  std::vector<RowExtent> extents;
  std::set<std::string_view> names;
  uint64_t offset = 0;
  try {
    if (!metadata.empty())
      text += "\"__metadata__\":" + nlohmann::json(metadata).dump();
    for (const TensorSource *tensor : order) {
      RowExtent extent = extent_of(path, *tensor);
      uint64_t end = offset + extent.rows * extent.row_bytes;
      if (end >> 62)
        throw Error(path + ": tensor " + quote_name(tensor->name) +
                    " makes the file too large to write");
      if (!names.insert(tensor->name).second)
        throw Error(path + ": tensor " + quote_name(tensor->name) +
                    " is to be written twice");
      nlohmann::ordered_json entry = {{"dtype", stored_type_name(tensor->type)},
                                      {"shape", tensor->shape},
                                      {"data_offsets", {offset, end}}};
      text += (text.size() > 1 ? "," : "") +
              nlohmann::json(tensor->name).dump() + ":" + entry.dump();
      extents.push_back(extent);
      offset = end;
    }
  } catch (const nlohmann::json::exception &) {
    throw Error(path + ": the name of a tensor, or the metadata, is not UTF-8");
  }
  text += "}";
  constexpr size_t alignment = 8;
  text.append((alignment - text.size() % alignment) % alignment, ' ');
  if (text.size() > SafetensorsFile::max_header_bytes)
    throw Error(path + ": the names and shapes of " +
                std::to_string(tensors.size()) +
                " tensors exceed the format's limit of " +
                std::to_string(SafetensorsFile::max_header_bytes) + " bytes");
  uint64_t length = text.size();
  file.append(&length, sizeof(length));
  file.append(text);

  std::vector<std::byte> piece;
  for (size_t i = 0; i < order.size(); ++i) {
    const TensorSource &tensor = *order[i];
    auto [rows, row_bytes] = extents[i];
    if (rows == 0)
      continue;
    if (tensor.data && !tensor.is_paged) {
      file.append(tensor.data, rows * row_bytes);
      continue;
    }
    uint64_t step = std::max<uint64_t>(1, piece_bytes / row_bytes);
    piece.resize(std::min(step, rows) * row_bytes);
    for (uint64_t first = 0; first < rows; first += step) {
      uint64_t count = std::min(step, rows - first);
      if (tensor.data)
        std::memcpy(piece.data(),
                    static_cast<const std::byte *>(tensor.data) +
                        first * row_bytes,
                    count * row_bytes);
      else
        tensor.read(first, count, piece.data());
      file.append(piece.data(), count * row_bytes);
    }
  }
  file.sync();
}

} // namespace baton
