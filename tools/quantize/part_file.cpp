//===- part_file.cpp - a file that grows, and goes on after a failure -----===//

#include "tools/quantize/part_file.h"

#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace baton {

namespace fs = std::filesystem;
using nlohmann::json;

PartFile::PartFile(fs::path path) : path(std::move(path)) {
  descriptor = open(this->path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    fail();
}

PartFile::~PartFile() { close(descriptor); }

void PartFile::fail() const {
  throw Error(path.string() + ": cannot be written: " + std::strerror(errno));
}

void PartFile::write(const void *data, uint64_t bytes, uint64_t offset) const {
  const char *place = static_cast<const char *>(data);
  while (bytes) {
    const ssize_t count =
        pwrite(descriptor, place, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      fail();
    place += count;
    bytes -= static_cast<uint64_t>(count);
    offset += static_cast<uint64_t>(count);
  }
}

bool PartFile::begins_with(const std::string &text) const {
  std::string found(text.size(), 0);
  return pread(descriptor, found.data(), found.size(), 0) ==
             static_cast<ssize_t>(found.size()) &&
         found == text;
}

void PartFile::resize(uint64_t bytes) const {
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0)
    fail();
}

void PartFile::sync() const {
  if (fdatasync(descriptor) != 0)
    fail();
}

Journal::Journal(fs::path path, const std::string &key)
    : path(std::move(path)) {
  std::ifstream lines(this->path, std::ios::binary);
  std::string line;
  if (std::getline(lines, line) && line == key)
    while (std::getline(lines, line) && !lines.eof())
      if (const json error = json::parse(line, nullptr, false);
          error.is_number())
        errors.push_back(error);
  // Without the torn line.
  rewrite(key);
}

void Journal::forget(const std::string &key) {
  errors.clear();
  rewrite(key);
}

void Journal::add(double error) {
  errors.push_back(error);
  stream << json(error).dump() << '\n' << std::flush;
  if (!stream)
    throw Error(path.string() + ": cannot be written");
}

void Journal::rewrite(const std::string &key) {
  stream.close();
  stream.open(path, std::ios::binary | std::ios::trunc);
  stream << key << '\n';
  for (double error : errors)
    stream << json(error).dump() << '\n';
  stream.flush();
  if (!stream)
    throw Error(path.string() + ": cannot be written");
}

uint64_t resume(const PartFile &file, Journal &journal, const std::string &key,
                const std::string &header, uint64_t bytes, uint64_t tensors) {
  if (journal.complete().size() > tensors ||
      (!journal.complete().empty() && !file.begins_with(header)))
    journal.forget(key);
  if (journal.complete().empty()) {
    file.resize(0);
    file.write(header.data(), header.size(), 0);
  }
  file.resize(bytes);
  return journal.complete().size();
}

} // namespace baton
