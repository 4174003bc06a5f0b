//===- direct_file.cpp - a file past the system's cache -------------------===//

#include "runtime/files/direct_file.h"

#include "runtime/error.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace baton {

[[noreturn]] static void fail(const std::string &name, int reason) {
  throw Error(name + ": " + std::strerror(reason));
}

/// A file in memory takes what it was to save.
void DirectFile::check_place(const std::string &advice) const {
  struct statfs system;
  if (fstatfs(descriptor, &system) != 0)
    fail(name, errno);
  for (long memory : {0x01021994L /* tmpfs */, 0x858458f6L /* ramfs */})
    if (static_cast<long>(system.f_type) == memory)
      throw Error(name + ": is in memory, which layers are to leave; " +
                  advice);
}

void DirectFile::pass_cache() {
  const int flags = fcntl(descriptor, F_GETFL);
  is_direct = flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_DIRECT) == 0;
}

DirectFile::DirectFile(const std::filesystem::path &path)
    : name(path.string()) {
  descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    fail(name, errno);
  try {
    check_place("put the checkpoint on a disk");
  } catch (...) {
    close(descriptor);
    throw;
  }
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  pass_cache();
}

DirectFile::DirectFile(const std::filesystem::path &folder, uint64_t bytes,
                       const std::string &flag,
                       const std::function<void(int descriptor)> &make)
    : name(flag + ": " + folder.string()) {
  descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    // Not every file system has files without a name.
    std::string path = (folder / "layers.XXXXXX").string();
    descriptor = mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0)
      fail(name, errno);
    unlink(path.c_str());
  }
  try {
    check_place("name a folder on a disk with " + flag);
    // Space that is not there would end the program later.
    if (int failure = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)))
      throw Error(name + ": has no place for " + std::to_string(bytes) +
                  " bytes: " + std::strerror(failure));
    if (make)
      make(descriptor);
    if (fdatasync(descriptor) != 0)
      fail(name, errno);
  } catch (...) {
    close(descriptor);
    throw;
  }
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  pass_cache();
}

DirectFile::~DirectFile() { close(descriptor); }

void DirectFile::read(std::byte *to, uint64_t bytes, uint64_t offset) const {
  const uint64_t begin = offset, whole = bytes;
  while (bytes) {
    const ssize_t count =
        pread(descriptor, to, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      fail(name, errno);
    to += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
    // The file's end.
    if (count == 0 || offset % unit)
      break;
  }
  if (!is_direct)
    posix_fadvise(descriptor, static_cast<off_t>(begin),
                  static_cast<off_t>(whole), POSIX_FADV_DONTNEED);
}

void DirectFile::write(const std::byte *from, uint64_t bytes,
                       uint64_t offset) const {
  write_whole(descriptor, from, bytes, offset, name);
}

void write_whole(int descriptor, const void *data, uint64_t bytes,
                 uint64_t offset, const std::string &flag) {
  const char *from = static_cast<const char *>(data);
  while (bytes) {
    const ssize_t count =
        pwrite(descriptor, from, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      fail(flag, count < 0 ? errno : ENOSPC);
    from += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
}

} // namespace baton
