//===- checked_file.cpp - a file that is written once, with its checksum -===//

#include "runtime/train/checked_file.h"

#include <utility>

namespace baton {

CheckedFile::CheckedFile(std::filesystem::path target)
    : file(std::move(target)) {}

void CheckedFile::append(const void *data, uint64_t bytes) {
  file.write(data, bytes, size);
  checksum.add(data, bytes);
  size += bytes;
}

} // namespace baton
