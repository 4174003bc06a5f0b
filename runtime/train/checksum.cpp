//===- checksum.cpp - of files, as they are written and as they are read -===//

#include "runtime/train/checksum.h"

#include "runtime/error.h"
#include "runtime/weights/descriptor.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace baton {

void Checksum::add(const void *data, uint64_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes) {
    size_t count = std::min<uint64_t>(block_bytes - rest.size(), bytes);
    const char *block = next;
    if (!rest.empty() || count < block_bytes) {
      rest.insert(rest.end(), next, next + count);
      block = rest.data();
    }
    next += count;
    bytes -= count;
    if (rest.empty() || rest.size() == block_bytes) {
      blocks.push_back(hash_bytes(block, block_bytes, blocks.size()));
      rest.clear();
    }
  }
}

FileSummary Checksum::summary() const {
  std::vector<uint64_t> all = blocks;
  if (!rest.empty())
    all.push_back(hash_bytes(rest.data(), rest.size(), all.size()));
  uint64_t hash = hash_bytes(all.data(), all.size() * sizeof(uint64_t), 0);
  return {blocks.size() * block_bytes + rest.size(), hash_text(hash)};
}

FileSummary summarize_file(const std::filesystem::path &path) {
  // A pipe would block.
  Descriptor descriptor{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (descriptor.value < 0 || fstat(descriptor.value, &status) != 0)
    throw Error(path.string() + ": cannot open: " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    throw Error(path.string() + ": is not a plain file");
  Checksum checksum;
  std::vector<char> buffer(Checksum::block_bytes);
  while (true) {
    ssize_t count = read(descriptor.value, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw Error(path.string() + ": cannot be read: " + std::strerror(errno));
    if (count == 0)
      return checksum.summary();
    checksum.add(buffer.data(), static_cast<uint64_t>(count));
  }
}

} // namespace baton
