//===- checked_file.h - a file that is written once, with its checksum ---===//

#ifndef BATON_RUNTIME_TRAIN_CHECKED_FILE_H
#define BATON_RUNTIME_TRAIN_CHECKED_FILE_H

#include "runtime/files/temporary.h"
#include "runtime/train/checksum.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace baton {

/// Written from its beginning to its end, beside its place until it is
/// published. The checksum is taken of the bytes as they are handed over, so
/// that reading the file again finds what went wrong on the way to the disk.
/// Every failure is an Error that names the path.
class CheckedFile {
public:
  explicit CheckedFile(std::filesystem::path target);

  const std::filesystem::path &target() const { return file.target(); }
  void append(const void *data, uint64_t bytes);
  void append(std::string_view text) { append(text.data(), text.size()); }
  /// After the last byte: returns once all are on the disk.
  void sync() const { file.sync(); }
  /// Puts it into its place; nothing else but summary() may be called then.
  void publish() { file.publish(); }
  FileSummary summary() const { return checksum.summary(); }

private:
  TemporaryFile file;
  Checksum checksum;
  uint64_t size = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_CHECKED_FILE_H
