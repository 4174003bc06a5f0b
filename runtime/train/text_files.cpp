//===- text_files.cpp - which files below a folder are text --------------===//

#include "runtime/train/text_files.h"

#include "runtime/error.h"
#include "runtime/weights/descriptor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace baton {

namespace fs = std::filesystem;

MappedFile::MappedFile(const fs::path &path) {
  auto fail = [&](const std::string &what) {
    throw Error("--data: " + path.string() + ": " + what);
  };
  // A pipe would block.
  Descriptor descriptor{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (descriptor.value < 0 || fstat(descriptor.value, &status) != 0)
    fail(std::string("cannot open: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail("is neither a plain file nor a folder");
  bytes = static_cast<uint64_t>(status.st_size);
  if (bytes == 0)
    return;
  void *address =
      mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor.value, 0);
  if (address == MAP_FAILED)
    fail(std::string("cannot map: ") + std::strerror(errno));
  base = static_cast<const std::byte *>(address);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : base(std::exchange(other.base, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

MappedFile::~MappedFile() {
  if (base)
    munmap(const_cast<std::byte *>(base), bytes);
}

std::vector<fs::path> find_text_files(const fs::path &folder) {
  std::vector<fs::path> files;
  uint64_t skipped = 0;
  try {
    for (fs::recursive_directory_iterator entry(folder), end; entry != end;
         ++entry) {
      const fs::path &path = entry->path();
      std::error_code failure;
      if (path.filename().native().starts_with('.')) {
        entry.disable_recursion_pending();
        ++skipped;
      } else if (entry->is_regular_file(failure)) {
        if (path.extension() == ".u16" || path.extension() == ".u32")
          throw Error("--data: " + path.string() +
                      ": is a token file in a folder of text; name the file "
                      "itself, or put it elsewhere");
        files.push_back(path);
      }
    }
  } catch (const fs::filesystem_error &error) {
    fs::path where = error.path1().empty() ? folder : error.path1();
    throw Error("--data: " + where.string() +
                ": cannot be read: " + error.code().message());
  }
  std::sort(files.begin(), files.end(),
            [](const fs::path &left, const fs::path &right) {
              return left.native() < right.native();
            });
  uint64_t found = files.size();
  std::erase_if(files, [](const fs::path &path) {
    MappedFile file(path);
    return file.size() == 0 || std::memchr(file.data(), 0, file.size());
  });
  skipped += found - files.size();
  if (files.empty())
    throw Error("--data: " + folder.string() +
                ": holds no text file (skipped, because hidden, binary or "
                "empty: " +
                std::to_string(skipped) + ")");
  return files;
}

} // namespace baton
