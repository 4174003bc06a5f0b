//===- npy.cpp - writes arrays that numpy.load reads ---------------------===//

#include "runtime/execute/npy.h"

#include <bit>
#include <utility>

static_assert(std::endian::native == std::endian::little,
              "the headers below promise little-endian data");

namespace baton {

namespace {

constexpr uint64_t header_alignment = 64;
/// Digits of the largest number of rows: its header has the same length.
constexpr size_t row_digits = 20;

} // namespace

size_t npy_element_bytes(NpyType type) {
  return type == NpyType::F32 || type == NpyType::I32 ? 4 : 8;
}

std::string_view npy_type_name(NpyType type) {
  switch (type) {
  case NpyType::F32:
    return "float32";
  case NpyType::F64:
    return "float64";
  case NpyType::I32:
    return "int32";
  case NpyType::I64:
    break;
  }
  return "int64";
}

NpyWriter::NpyWriter(std::filesystem::path path, NpyType type,
                     std::vector<uint64_t> row_shape)
    : file(std::move(path)), type(type) {
  set_row_shape(std::move(row_shape));
}

void NpyWriter::set_row_shape(std::vector<uint64_t> shape) {
  row_shape = std::move(shape);
  row_bytes = npy_element_bytes(type);
  for (uint64_t extent : row_shape)
    row_bytes *= extent;
  header_bytes = header().size();
}

std::vector<uint64_t> NpyWriter::shape() const {
  std::vector<uint64_t> result = {rows};
  result.insert(result.end(), row_shape.begin(), row_shape.end());
  return result;
}

std::string NpyWriter::header() const {
  static constexpr const char *descriptions[] = {"<f4", "<f8", "<i4", "<i8"};
  std::string count = std::to_string(rows);
  std::string text = "{'descr': '";
  text += descriptions[static_cast<int>(type)];
  text += "', 'fortran_order': False, 'shape': (" + count + ",";
  for (uint64_t extent : row_shape)
    text += " " + std::to_string(extent) + ",";
  text += "), }";

  constexpr uint64_t prefix_bytes = 10;
  uint64_t longest = prefix_bytes + text.size() + row_digits - count.size() + 1;
  uint64_t total =
      (longest + header_alignment - 1) / header_alignment * header_alignment;
  text.resize(total - prefix_bytes - 1, ' ');
  text += '\n';
  std::string result = "\x93NUMPY";
  result += '\x01';
  result += '\x00';
  result += static_cast<char>(text.size() & 0xff);
  result += static_cast<char>(text.size() >> 8);
  return result + text;
}

void NpyWriter::append(const void *data, uint64_t count) {
  file.write(data, count * row_bytes, header_bytes + rows * row_bytes);
  rows += count;
}

void NpyWriter::restart(std::vector<uint64_t> shape) {
  rows = 0;
  set_row_shape(std::move(shape));
  file.clear();
}

void NpyWriter::complete() {
  std::string text = header();
  file.write(text.data(), text.size(), 0);
  completed = true;
}

void NpyWriter::publish() {
  if (!completed)
    complete();
  file.publish();
}

} // namespace baton
