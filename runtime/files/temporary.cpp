//===- temporary.cpp - files that are complete or not there --------------===//

#include "runtime/files/temporary.h"

#include "runtime/error.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace baton {

/// In the list of what a signal removes. It does not move while it is there.
struct TemporaryEntry {
  std::filesystem::path path;
  TemporaryEntry *older = nullptr;
  TemporaryEntry *newer = nullptr;
};

namespace {

// The handler of a signal takes this lock too. Its holders have the signals
// blocked, so that the handler never interrupts one and waits for it.
std::atomic<bool> locked = false;
static_assert(std::atomic<bool>::is_always_lock_free);
TemporaryEntry *newest = nullptr;

// Of the thread that holds the lock.
thread_local unsigned depth = 0;
thread_local sigset_t signals_before;

void lock() {
  while (locked.exchange(true, std::memory_order_acquire))
    sched_yield();
}

[[noreturn]] void fail(const std::filesystem::path &path, int error) {
  throw Error(path.string() + ": cannot be written: " + std::strerror(error));
}

// Called by those that hold the lock.

void enter(TemporaryEntry &entry) {
  entry.older = std::exchange(newest, &entry);
  if (entry.older)
    entry.older->newer = &entry;
}

void leave(TemporaryEntry &entry) {
  (entry.newer ? entry.newer->older : newest) = entry.older;
  if (entry.older)
    entry.older->newer = entry.newer;
}

/// Removes what it stands for, unless a folder holds something.
void discard(std::unique_ptr<TemporaryEntry> &entry) {
  if (!entry)
    return;
  Uninterrupted guard;
  std::remove(entry->path.c_str());
  leave(*entry);
  entry.reset();
}

} // namespace

Uninterrupted::Uninterrupted() {
  if (depth++)
    return;
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, &signals_before);
  lock();
}

Uninterrupted::~Uninterrupted() {
  if (--depth)
    return;
  locked.store(false, std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &signals_before, nullptr);
}

void remove_temporary_files() noexcept {
  lock();
  // Files before the folders that were made for them.
  for (TemporaryEntry *entry = newest; entry; entry = entry->older)
    if (unlink(entry->path.c_str()) != 0)
      rmdir(entry->path.c_str());
}

TemporaryFile::TemporaryFile(std::filesystem::path target)
    : final_path(std::move(target)), entry(std::make_unique<TemporaryEntry>()) {
  std::error_code ignored;
  auto status = std::filesystem::status(final_path, ignored);
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_regular_file(status))
    throw Error(final_path.string() + ": is not a plain file");

  static std::atomic<unsigned> counter = 0;
  int descriptor = -1;
  Uninterrupted guard;
  // The process number may repeat, on this machine or on another one that
  // shares the folder.
  for (int attempt = 0; attempt < 100 && descriptor < 0; ++attempt) {
    entry->path = final_path;
    entry->path += "." + std::to_string(getpid()) + "." +
                   std::to_string(counter++) + std::string(temporary_suffix);
    descriptor = open(entry->path.c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST)
      break;
  }
  if (descriptor < 0)
    fail(final_path, errno);
  close(descriptor);
  enter(*entry);
}

TemporaryFile::TemporaryFile(TemporaryFile &&other) noexcept = default;

TemporaryFile::~TemporaryFile() { discard(entry); }

const std::filesystem::path &TemporaryFile::path() const { return entry->path; }

void TemporaryFile::write(const void *data, uint64_t bytes,
                          uint64_t offset) const {
  int descriptor = open(entry->path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    fail(final_path, errno);
  const char *from = static_cast<const char *>(data);
  while (bytes) {
    ssize_t count = pwrite(descriptor, from, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      int error = count < 0 ? errno : ENOSPC;
      close(descriptor);
      fail(final_path, error);
    }
    from += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
  // Some file systems report a full disk only now.
  if (close(descriptor) != 0)
    fail(final_path, errno);
}

void TemporaryFile::clear() const {
  if (truncate(entry->path.c_str(), 0) != 0)
    fail(final_path, errno);
}

void TemporaryFile::sync() const {
  int descriptor = open(entry->path.c_str(), O_WRONLY | O_CLOEXEC);
  int error = descriptor < 0 || fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0)
    close(descriptor);
  if (error)
    fail(final_path, error);
}

void TemporaryFile::publish() {
  Uninterrupted guard;
  if (rename(entry->path.c_str(), final_path.c_str()) != 0)
    fail(final_path, errno);
  leave(*entry);
  entry.reset();
}

TemporaryFolder::TemporaryFolder(std::filesystem::path path) {
  auto created = std::make_unique<TemporaryEntry>();
  created->path = std::move(path);
  Uninterrupted guard;
  std::error_code failure;
  bool is_new = std::filesystem::create_directories(created->path, failure);
  if (failure || !std::filesystem::is_directory(created->path))
    throw Error(created->path.string() + ": the folder cannot be created: " +
                (failure ? failure.message() : "a file is in its place"));
  if (!is_new)
    return;
  enter(*created);
  entry = std::move(created);
}

TemporaryFolder::~TemporaryFolder() { discard(entry); }

void sync_folder(const std::filesystem::path &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = descriptor < 0 || fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0)
    close(descriptor);
  // What a file system answers that has no such thing to do.
  if (error && error != EINVAL && error != ENOTSUP)
    fail(path, error);
}

void TemporaryFolder::keep() {
  if (!entry)
    return;
  Uninterrupted guard;
  leave(*entry);
  entry.reset();
}

} // namespace baton
