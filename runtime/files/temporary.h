//===- temporary.h - files that are complete or not there ----------------===//
//
// What takes long to write is written beside its final place and renamed. Until
// then it is known to remove_temporary_files(), which whoever ends the process
// out of turn calls, so that only SIGKILL leaves anything behind.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_FILES_TEMPORARY_H
#define BATON_RUNTIME_FILES_TEMPORARY_H

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace baton {

/// How the names of temporary files end; they begin with the final name.
inline constexpr std::string_view temporary_suffix = ".temporary";

struct TemporaryEntry;

/// A file that is removed unless it is put into its place. It is open only
/// during a call: a dump has more files than a process may hold open. Every
/// failure is an Error that names the final path.
class TemporaryFile {
public:
  /// Creates an empty file beside `target`, which is absent or a plain file.
  explicit TemporaryFile(std::filesystem::path target);
  TemporaryFile(TemporaryFile &&other) noexcept;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile();

  const std::filesystem::path &target() const { return final_path; }
  /// Where it is now.
  const std::filesystem::path &path() const;

  /// May be called by several threads at a time.
  void write(const void *data, uint64_t bytes, uint64_t offset) const;
  void clear() const;
  /// Returns once what was written is on the disk. Some file systems report a
  /// full disk only now.
  void sync() const;
  /// Renames it; nothing else may be called afterwards.
  void publish();

private:
  std::filesystem::path final_path;
  std::unique_ptr<TemporaryEntry> entry;
};

/// A folder that is removed unless it was there before, is kept, or holds
/// something.
class TemporaryFolder {
public:
  /// Creates the folder, and those that it lies in. Throws Error.
  explicit TemporaryFolder(std::filesystem::path path);
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder();

  void keep();

private:
  std::unique_ptr<TemporaryEntry> entry;
};

/// Returns once the names in a folder, as they were created, changed and
/// removed up to now, are on the disk. Throws Error.
void sync_folder(const std::filesystem::path &path);

/// While one exists, SIGINT, SIGTERM and SIGHUP wait: files that belong
/// together are published together. For moments only.
class Uninterrupted {
public:
  Uninterrupted();
  Uninterrupted(const Uninterrupted &) = delete;
  Uninterrupted &operator=(const Uninterrupted &) = delete;
  ~Uninterrupted();
};

/// Removes all of them, for a process that is about to end: whoever creates or
/// publishes one afterwards waits for ever. May be called by the handler of the
/// signals that Uninterrupted defers.
void remove_temporary_files() noexcept;

} // namespace baton

#endif // BATON_RUNTIME_FILES_TEMPORARY_H
