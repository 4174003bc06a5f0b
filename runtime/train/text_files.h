//===- text_files.h - which files below a folder are text ----------------===//

#ifndef BATON_RUNTIME_TRAIN_TEXT_FILES_H
#define BATON_RUNTIME_TRAIN_TEXT_FILES_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace baton {

/// A plain file, mapped to be read from its beginning to its end. Empty files
/// are mapped too.
class MappedFile {
public:
  /// Throws Error that names the file.
  explicit MappedFile(const std::filesystem::path &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  const std::byte *data() const { return base; }
  uint64_t size() const { return bytes; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(base), bytes};
  }

private:
  const std::byte *base = nullptr;
  uint64_t bytes = 0;
};

/// The text files below a folder, sorted by path (bytewise): all plain files
/// but those that hold a zero byte, are empty, or have in their path below the
/// folder a name that begins with a dot. Links to files are followed, links to
/// folders are not. Throws Error for what cannot be read, for a token file
/// (.u16, .u32), which is no text, and when there is no text file.
std::vector<std::filesystem::path>
find_text_files(const std::filesystem::path &folder);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_TEXT_FILES_H
