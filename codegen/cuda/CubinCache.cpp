//===- CubinCache.cpp - compiled kernels, kept between compilations -------===//

#include "codegen/cuda/CubinCache.h"

#include "codegen/link/Scratch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <chrono>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>

using namespace llvm;
using namespace baton;
using baton::cuda::Cubin;
using baton::cuda::CubinCache;

static constexpr StringRef kSuffix = ".cubin";
/// Begins every entry; a change of the format is a change of this.
static constexpr StringRef kMagic = "baton cubin 2 ";

static std::string hexHash(SHA256 &hash) {
  return toHex(hash.final(), /*LowerCase=*/true);
}

static std::string hashOf(StringRef bytes) {
  SHA256 hash;
  hash.update(bytes);
  return hexHash(hash);
}

std::string CubinCache::userFolder() {
  struct {
    const char *variable, *below;
  } places[] = {{"BATON_CACHE_DIR", ""},
                {"XDG_CACHE_HOME", "baton"},
                {"HOME", ".cache/baton"}};
  for (auto [variable, below] : places) {
    const char *value = std::getenv(variable);
    if (!value || !*value)
      continue;
    SmallString<128> folder(value);
    sys::path::append(folder, below);
    return folder.str().str();
  }
  return "";
}

std::string CubinCache::key(ArrayRef<std::string> items) {
  SHA256 hash;
  // Every item is preceded by its length, so that no two lists of items have
  // the same text.
  for (const std::string &item : items) {
    hash.update(std::to_string(item.size()) + ":");
    hash.update(item);
  }
  return hexHash(hash);
}

std::optional<std::vector<std::string>>
CubinCache::filesBelow(StringRef folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (sys::fs::recursive_directory_iterator at(folder, error), end;
       at != end && !error; at.increment(error))
    if (sys::fs::is_regular_file(at->path()))
      paths.push_back(at->path());
  if (error)
    return std::nullopt;
  llvm::sort(paths);
  std::vector<std::string> items;
  for (const std::string &path : paths) {
    auto file = MemoryBuffer::getFile(path);
    if (!file)
      return std::nullopt;
    items.push_back(path.substr(folder.size()));
    items.push_back((*file)->getBuffer().str());
  }
  return items;
}

std::string CubinCache::file(StringRef key) const {
  SmallString<128> path(folder);
  sys::path::append(path, key + kSuffix);
  return path.str().str();
}

std::optional<Cubin> CubinCache::find(StringRef key) const {
  std::string path = file(key);
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  if (!buffer)
    return std::nullopt;
  // The hash of what follows its line, the figures, and the cubin.
  StringRef text = (*buffer)->getBuffer();
  if (!text.consume_front(kMagic))
    return std::nullopt;
  auto [hash, rest] = text.split('\n');
  if (rest.empty() || hash != hashOf(rest))
    return std::nullopt;
  auto [figures, bytes] = rest.split('\n');
  SmallVector<StringRef, 4> numbers;
  figures.split(numbers, ' ');
  Cubin cubin;
  if (numbers.size() != 4 || !to_integer(numbers[0], cubin.registers) ||
      !to_integer(numbers[1], cubin.spilledBytes) ||
      !to_integer(numbers[2], cubin.sharedBytes) ||
      !to_integer(numbers[3], cubin.serialized))
    return std::nullopt;
  cubin.bytes.assign(bytes.begin(), bytes.end());
  cubin.cached = true;
  // Used now: the ones used last stay.
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return cubin;
}

void CubinCache::store(StringRef key, const Cubin &cubin) const {
  std::string rest =
      formatv("{0} {1} {2} {3}\n", cubin.registers, cubin.spilledBytes,
              cubin.sharedBytes, cubin.serialized);
  rest.append(cubin.bytes.begin(), cubin.bytes.end());
  std::string text = (kMagic + hashOf(rest) + "\n" + rest).str();
  if (sys::fs::create_directories(folder))
    return;
  auto written = [&]() -> Error {
    Expected<link::Scratch> scratch = link::Scratch::beside(file(key));
    if (!scratch)
      return scratch.takeError();
    if (Error error = scratch->write("entry", text))
      return error;
    return scratch->publish("entry");
  }();
  if (written)
    return consumeError(std::move(written));
  removeOldest();
}

void CubinCache::removeOldest() const {
  struct Entry {
    std::string path;
    sys::TimePoint<> used;
    uint64_t bytes;
  };
  // One that another process has removed meanwhile is not there, or has the
  // size 0; neither matters.
  std::vector<Entry> entries;
  std::error_code error;
  for (sys::fs::directory_iterator at(folder, error), end; at != end && !error;
       at.increment(error)) {
    sys::fs::file_status status;
    if (!sys::fs::status(at->path(), status) &&
        status.type() == sys::fs::file_type::regular_file &&
        StringRef(at->path()).ends_with(kSuffix))
      entries.push_back(
          {at->path(), status.getLastModificationTime(), status.getSize()});
  }
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(b.used, b.path) < std::tie(a.used, a.path);
  });
  uint64_t bytes = 0;
  for (auto [position, entry] : enumerate(entries)) {
    bytes += entry.bytes;
    if (position && (position >= mostEntries || bytes > mostBytes))
      (void)sys::fs::remove(entry.path);
  }
}
