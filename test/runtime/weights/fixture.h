//===- fixture.h - temporary folders and written safetensors files -------===//

#ifndef BATON_TEST_RUNTIME_WEIGHTS_FIXTURE_H
#define BATON_TEST_RUNTIME_WEIGHTS_FIXTURE_H

#include "runtime/error.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/safetensors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <stdlib.h>

namespace baton::test {

/// Removed with everything in it at the end of its scope.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "baton-weights-XXXXXX")
            .string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("mkdtemp failed");
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::filesystem::path path;
};

inline void write_file(const std::filesystem::path &path,
                       const std::string &bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(stream.good()) << path;
}

inline std::string read_file(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The bytes of a file with this header and data.
inline std::string with_header(const std::string &header,
                               const std::string &data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(uint64_t(header.size()) >> (8 * i) & 0xff);
  return bytes + header + data;
}

/// A tensor to be written: values are stored in `type`, row-major.
struct NamedTensor {
  std::string name;
  DataType type;
  std::vector<uint64_t> shape;
  std::vector<double> values;
};

/// Values that BF16 and F16 hold exactly and that differ between neighbours.
inline std::vector<double> distinct_values(size_t count, unsigned seed) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = (double((i * 37 + seed * 11) % 251) - 125) / 64;
  return values;
}

inline std::string stored_bytes(const NamedTensor &tensor) {
  std::string bytes;
  for (double value : tensor.values) {
    char element[8] = {};
    if (tensor.type == DataType::F64) {
      std::memcpy(element, &value, 8);
    } else if (tensor.type == DataType::F32) {
      float narrow = static_cast<float>(value);
      std::memcpy(element, &narrow, 4);
    } else if (Conversion convert = conversion(DataType::F64, tensor.type)) {
      alignas(4) uint16_t narrow;
      convert(&value, &narrow, 1);
      std::memcpy(element, &narrow, 2);
    } else {
      element[0] = static_cast<char>(value);
    }
    bytes.append(element, bytes_of(tensor.type));
  }
  return bytes;
}

inline std::string safetensors_bytes(const std::vector<NamedTensor> &tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const NamedTensor &tensor : tensors) {
    std::string bytes = stored_bytes(tensor);
    header[tensor.name] = {
        {"dtype", stored_type_name(tensor.type)},
        {"shape", tensor.shape},
        {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return with_header(text, data);
}

/// Runs `action`, which must throw Error with one line; returns that line.
inline std::string error_of(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

inline void expect_contains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "expected \"" << part << "\" in: " << text;
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_WEIGHTS_FIXTURE_H
