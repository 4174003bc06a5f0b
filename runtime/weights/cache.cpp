//===- cache.cpp - packed weights kept beside their checkpoint -----------===//

#include "runtime/weights/cache.h"

#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/weights/descriptor.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace baton {

namespace {

constexpr char file_magic[8] = {'b', 'a', 't', 'o', 'n', 'p', 'c', 'k'};

struct FileHeader {
  char magic[8];
  uint64_t version;
  uint64_t key[2];
  uint64_t data_bytes;
  uint64_t checksum;
};

constexpr uint64_t data_offset = packed_data_offset;
// One huge page each, so that no two threads touch the same one first.
constexpr uint64_t block_bytes = HugeRegion::alignment;

uint64_t block_count(uint64_t bytes) {
  return (bytes + block_bytes - 1) / block_bytes;
}

/// The checksum of a region from those of its blocks.
uint64_t combine(const std::vector<uint64_t> &checksums) {
  return hash_bytes(checksums.data(), checksums.size() * sizeof(uint64_t), 0);
}

FileHeader expected_header(CacheKey key, uint64_t bytes, uint64_t checksum) {
  FileHeader header = {};
  std::memcpy(header.magic, file_magic, sizeof(file_magic));
  header.version = packing_version;
  header.key[0] = key.words[0];
  header.key[1] = key.words[1];
  header.data_bytes = bytes;
  header.checksum = checksum;
  return header;
}

bool read_all(int descriptor, void *data, uint64_t bytes, uint64_t offset) {
  char *to = static_cast<char *>(data);
  while (bytes) {
    ssize_t count = pread(descriptor, to, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    to += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
  return true;
}

/// A file beyond the user's size limit makes the kernel send SIGXFSZ, which
/// would end the program. Blocked, in this thread and those it starts, the
/// write fails with EFBIG instead, as on a full disk.
class BlockFileSizeSignal {
public:
  BlockFileSizeSignal() {
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signals, &previous);
  }
  ~BlockFileSizeSignal() {
    timespec now = {};
    if (!was_pending)
      while (sigtimedwait(&signals, nullptr, &now) == -1 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  }

private:
  sigset_t signals;
  sigset_t previous;
  bool was_pending;
};

/// A writer touches its file all the time; one that has rested this long was
/// killed, and its file would otherwise occupy the disk for ever.
void remove_abandoned(const std::filesystem::path &folder) {
  constexpr auto rest = std::chrono::minutes(30);
  std::error_code failure;
  for (const auto &entry :
       std::filesystem::directory_iterator(folder, failure)) {
    auto modified = entry.last_write_time(failure);
    if (!failure && entry.path().extension() == temporary_suffix &&
        std::filesystem::file_time_type::clock::now() - modified > rest)
      std::filesystem::remove(entry.path(), failure);
  }
}

} // namespace

CacheKey packing_key(const Checkpoint &checkpoint,
                     std::string_view description) {
  // Every item is preceded by its length, so that no two lists of items have
  // the same text.
  std::string identity;
  auto add = [&](std::string_view item) {
    identity += std::to_string(item.size()) + ":";
    identity += item;
  };
  add(std::to_string(packing_version));
  add(description);
  for (const auto &file : checkpoint.files()) {
    std::error_code failure;
    std::filesystem::path canonical =
        std::filesystem::canonical(file->path(), failure);
    add((failure ? file->path() : canonical).string());
    add(std::to_string(file->file_bytes()));
    add(std::to_string(file->changed()));
    add(file->header());
  }
  if (const std::string text = checkpoint.quantisation(); !text.empty())
    add(text);
  return {{hash_bytes(identity.data(), identity.size(), 1),
           hash_bytes(identity.data(), identity.size(), 2)}};
}

std::filesystem::path cache_path(const Checkpoint &checkpoint, CacheKey key) {
  return checkpoint.folder() / ".baton" /
         (hash_text(key.words[0]) + hash_text(key.words[1]) + ".packed");
}

/// Reads blocks to where `at` says, one after another on each thread, and hands
/// them over.
template <typename At, typename Take>
static CacheState read_blocks(const std::filesystem::path &path, CacheKey key,
                              uint64_t size, unsigned threads, const At &at,
                              const Take &take) {
  Descriptor descriptor{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (descriptor.value < 0 || fstat(descriptor.value, &status) != 0 ||
      !S_ISREG(status.st_mode))
    return CacheState::Absent;
  FileHeader header;
  if (!read_all(descriptor.value, &header, sizeof(header), 0))
    return CacheState::Damaged;
  FileHeader expected = expected_header(key, size, header.checksum);
  if (std::memcmp(&header, &expected, sizeof(header)) != 0 ||
      static_cast<uint64_t>(status.st_size) != data_offset + size)
    return CacheState::Damaged;

  std::vector<uint64_t> checksums(block_count(size));
  std::atomic<bool> failed = false;
  parallel_for(checksums.size(), threads, [&](size_t block) {
    if (failed.load(std::memory_order_relaxed))
      return;
    uint64_t offset = block * block_bytes;
    uint64_t bytes = std::min(block_bytes, size - offset);
    std::byte *data = at(offset);
    if (!read_all(descriptor.value, data, bytes, data_offset + offset)) {
      failed = true;
      return;
    }
    checksums[block] = hash_bytes(data, bytes, block);
    take(offset, std::span<const std::byte>(data, bytes));
  });
  return failed || combine(checksums) != header.checksum ? CacheState::Damaged
                                                         : CacheState::Read;
}

CacheState read_cache(const std::filesystem::path &path, CacheKey key,
                      HugeRegion &region, unsigned threads,
                      const BytesDone &done) {
  return read_blocks(
      path, key, region.size(), threads,
      [&](uint64_t offset) { return region.data() + offset; },
      [&](uint64_t, std::span<const std::byte> block) { done(block.size()); });
}

CacheState scan_cache(const std::filesystem::path &path, CacheKey key,
                      uint64_t bytes, unsigned threads, const TakeBlock &take) {
  return read_blocks(
      path, key, bytes, threads,
      [](uint64_t) {
        thread_local std::vector<std::byte> block(block_bytes);
        return block.data();
      },
      take);
}

void write_cache(const std::filesystem::path &path, CacheKey key,
                 const HugeRegion &region, unsigned threads) {
  std::filesystem::path folder = path.parent_path();
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw Error(folder.string() + ": " + std::strerror(errno));
  remove_abandoned(folder);

  BlockFileSizeSignal block_signal;
  TemporaryFile file(path);
  std::vector<uint64_t> checksums(block_count(region.size()));
  parallel_for(checksums.size(), threads, [&](size_t block) {
    uint64_t offset = block * block_bytes;
    uint64_t bytes = std::min(block_bytes, region.size() - offset);
    checksums[block] = hash_bytes(region.data() + offset, bytes, block);
    file.write(region.data() + offset, bytes, data_offset + offset);
  });
  std::array<char, data_offset> page = {};
  FileHeader header = expected_header(key, region.size(), combine(checksums));
  std::memcpy(page.data(), &header, sizeof(header));
  file.write(page.data(), page.size(), 0);
  file.publish();
}

void make_cache(const std::filesystem::path &path, CacheKey key, uint64_t bytes,
                unsigned threads,
                const std::function<void(const WriteRange &)> &make) {
  std::filesystem::path folder = path.parent_path();
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw Error(folder.string() + ": " + std::strerror(errno));
  remove_abandoned(folder);

  BlockFileSizeSignal block_signal;
  TemporaryFile file(path);
  make([&](const void *data, uint64_t length, uint64_t offset) {
    file.write(data, length, data_offset + offset);
  });
  // The last byte, so that the file is as long as it should be.
  Descriptor written{open(file.path().c_str(), O_RDWR | O_CLOEXEC)};
  if (written.value < 0 ||
      ftruncate(written.value, static_cast<off_t>(data_offset + bytes)) != 0)
    throw Error(path.string() + ": " + std::strerror(errno));
  std::vector<uint64_t> checksums(block_count(bytes));
  parallel_for(checksums.size(), threads, [&](size_t block) {
    thread_local std::vector<std::byte> data(block_bytes);
    const uint64_t offset = block * block_bytes;
    const uint64_t length = std::min(block_bytes, bytes - offset);
    if (!read_all(written.value, data.data(), length, data_offset + offset))
      throw Error(path.string() + ": cannot be read back");
    checksums[block] = hash_bytes(data.data(), length, block);
  });
  std::array<char, data_offset> page = {};
  FileHeader header = expected_header(key, bytes, combine(checksums));
  std::memcpy(page.data(), &header, sizeof(header));
  file.write(page.data(), page.size(), 0);
  file.publish();
}

} // namespace baton
