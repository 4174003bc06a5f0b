//===- array_file.h - reads back what NpyWriter wrote --------------------===//

#ifndef BATON_TEST_RUNTIME_EXECUTE_ARRAY_FILE_H
#define BATON_TEST_RUNTIME_EXECUTE_ARRAY_FILE_H

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace baton::test {

inline std::string read_file(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw std::runtime_error("no file " + path.string());
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline void write_file(const std::filesystem::path &path,
                       const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A file of format version 1.0, taken apart by its specification.
struct ArrayFile {
  std::string type;
  std::vector<uint64_t> shape;
  size_t header_bytes;
  std::string data;

  static ArrayFile read(const std::filesystem::path &path) {
    std::string bytes = read_file(path);
    if (bytes.size() < 10 ||
        bytes.substr(0, 8) != std::string("\x93NUMPY\1\0", 8))
      throw std::runtime_error("no array");
    size_t length = static_cast<unsigned char>(bytes[8]) +
                    256 * static_cast<unsigned char>(bytes[9]);
    std::string header = bytes.substr(10, length);
    std::smatch match;
    if (header.back() != '\n' ||
        !std::regex_match(
            header, match,
            std::regex("\\{'descr': '([^']*)', 'fortran_order': False, "
                       "'shape': \\(([0-9, ]*)\\), \\} *\n")))
      throw std::runtime_error("bad header " + header);
    ArrayFile array;
    array.type = match[1];
    std::stringstream extents(match[2]);
    for (std::string extent; std::getline(extents, extent, ',');)
      if (extent.find_first_not_of(' ') != std::string::npos)
        array.shape.push_back(std::stoull(extent));
    array.header_bytes = 10 + length;
    array.data = bytes.substr(array.header_bytes);
    return array;
  }

  template <typename T> std::vector<T> values() const {
    std::vector<T> result(data.size() / sizeof(T));
    std::memcpy(result.data(), data.data(), result.size() * sizeof(T));
    return result;
  }
};

/// An empty folder that is gone at the end of its scope.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "baton-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("no temporary folder");
    folder = pattern;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::filesystem::path operator/(const std::string &name) const {
    return folder / name;
  }
  const std::filesystem::path &path() const { return folder; }

private:
  std::filesystem::path folder;
};

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_EXECUTE_ARRAY_FILE_H
