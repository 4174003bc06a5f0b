//===- Cache.cpp - what was compiled, kept between compilations -----------===//

#include "codegen/link/Cache.h"

#include "codegen/link/Scratch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>

using namespace llvm;
using baton::link::Cache;

static constexpr StringRef kSuffixes[] = {".cubin", ".object", ".figures"};
/// Begins every entry; a change of the format is a change of this.
static constexpr StringRef kMagic = "baton entry 3 ";

static std::string hexHash(BLAKE3 &hash) {
  return toHex(hash.final(), /*LowerCase=*/true);
}

static std::string hashOf(StringRef bytes) {
  BLAKE3 hash;
  hash.update(bytes);
  return hexHash(hash);
}

std::string Cache::userFolder() {
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

std::string Cache::key(ArrayRef<StringRef> items) {
  BLAKE3 hash;
  // Every item is preceded by its length, so that no two lists of items have
  // the same text.
  for (StringRef item : items) {
    hash.update(std::to_string(item.size()) + ":");
    hash.update(item);
  }
  return hexHash(hash);
}

std::optional<std::vector<std::string>> Cache::filesBelow(StringRef folder) {
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

std::optional<std::string> Cache::identityOf(StringRef file) {
  SmallString<128> path;
  sys::fs::file_status status;
  if (sys::fs::real_path(file, path) || sys::fs::status(path, status))
    return std::nullopt;
  auto changed = status.getLastModificationTime().time_since_epoch().count();
  return (path + " " + Twine(status.getSize()) + " " + Twine(changed)).str();
}

std::string Cache::file(Kind kind, StringRef key) const {
  SmallString<128> path(folder);
  sys::path::append(path, key + kSuffixes[static_cast<size_t>(kind)]);
  return path.str().str();
}

std::optional<std::string> Cache::find(Kind kind, StringRef key) const {
  if (folder.empty())
    return std::nullopt;
  std::string path = file(kind, key);
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  if (!buffer)
    return std::nullopt;
  // The hash of what follows its line.
  StringRef text = (*buffer)->getBuffer();
  if (!text.consume_front(kMagic))
    return std::nullopt;
  auto [hash, bytes] = text.split('\n');
  if (bytes.empty() || hash != hashOf(bytes))
    return std::nullopt;
  // Used now: the ones used last stay.
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return bytes.str();
}

void Cache::store(Kind kind, StringRef key, StringRef bytes) const {
  if (folder.empty() || sys::fs::create_directories(folder))
    return;
  auto written = [&]() -> Error {
    Expected<Scratch> scratch = Scratch::beside(file(kind, key));
    if (!scratch)
      return scratch.takeError();
    if (Error error = scratch->write(
            "entry", (kMagic + hashOf(bytes) + "\n" + bytes).str()))
      return error;
    return scratch->publish("entry");
  }();
  if (written)
    return consumeError(std::move(written));
  removeOldest();
}

void Cache::removeOldest() const {
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
        is_contained(kSuffixes, sys::path::extension(at->path())))
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
