//===- npy.cpp - writes arrays that numpy.load reads ---------------------===//

#include "runtime/decode/npy.h"

#include "runtime/error.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

static_assert(std::endian::native == std::endian::little,
              "the headers below promise little-endian data");

namespace baton {

namespace {

constexpr uint64_t header_alignment = 64;
/// Digits of the largest number of rows: its header has the same length.
constexpr size_t row_digits = 20;

[[noreturn]] void fail(const std::filesystem::path &path, int error) {
  throw Error(path.string() + ": cannot be written: " + std::strerror(error));
}

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
    : target(std::move(path)), type(type) {
  set_row_shape(std::move(row_shape));

  std::error_code ignored;
  auto status = std::filesystem::status(target, ignored);
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_regular_file(status))
    throw Error(target.string() + ": is not a plain file");
  temporary = target;
  temporary += "." + std::to_string(getpid()) + ".temporary";
  write(nullptr, 0, 0, O_CREAT | O_TRUNC);
}

NpyWriter::NpyWriter(NpyWriter &&other) noexcept
    : target(std::move(other.target)),
      temporary(std::exchange(other.temporary, {})), type(other.type),
      row_shape(std::move(other.row_shape)), row_bytes(other.row_bytes),
      header_bytes(other.header_bytes), rows(other.rows) {}

NpyWriter::~NpyWriter() {
  if (!temporary.empty())
    unlink(temporary.c_str());
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

void NpyWriter::write(const void *data, uint64_t bytes, uint64_t offset,
                      int flags) {
  int descriptor = open(temporary.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (descriptor < 0)
    fail(target, errno);
  const char *from = static_cast<const char *>(data);
  while (bytes) {
    ssize_t count = pwrite(descriptor, from, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      int error = count < 0 ? errno : ENOSPC;
      close(descriptor);
      fail(target, error);
    }
    from += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
  // Some file systems report a full disk only now.
  if (close(descriptor) != 0)
    fail(target, errno);
}

void NpyWriter::append(const void *data, uint64_t count) {
  write(data, count * row_bytes, header_bytes + rows * row_bytes, 0);
  rows += count;
}

void NpyWriter::restart(std::vector<uint64_t> shape) {
  rows = 0;
  set_row_shape(std::move(shape));
  write(nullptr, 0, 0, O_TRUNC);
}

void NpyWriter::publish() {
  std::string text = header();
  write(text.data(), text.size(), 0, 0);
  if (rename(temporary.c_str(), target.c_str()) != 0)
    fail(target, errno);
  temporary.clear();
}

} // namespace baton
