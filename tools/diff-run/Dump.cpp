//===- Dump.cpp - reads what `logits --dump` wrote ------------------------===//

#include "tools/diff-run/Dump.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <regex>

using namespace baton;
using namespace baton::diff;

static std::string readFile(const std::filesystem::path &path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    throw Error(path.string() + ": no such file");
  std::ifstream stream(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (!stream)
    throw Error(path.string() + ": cannot be read");
  return text;
}

std::vector<Value> diff::readIndex(const std::filesystem::path &folder) {
  std::filesystem::path path = folder / "index.json";
  if (!std::filesystem::exists(path))
    throw Error(folder.string() +
                ": holds no index.json; `logits --dump FOLDER` writes one");
  std::vector<Value> values;
  try {
    nlohmann::json index = nlohmann::json::parse(readFile(path));
    for (const auto &entry : index.at("values"))
      values.push_back({entry.at("phase"), entry.at("iteration"),
                        entry.at("buffer"),
                        folder / entry.at("file").get<std::string>()});
  } catch (const nlohmann::json::exception &error) {
    throw Error(path.string() + ": is no index of a dump: " + error.what());
  }
  return values;
}

template <typename Element>
static void widen(const char *data, std::vector<double> &elements) {
  for (double &element : elements) {
    Element stored;
    std::memcpy(&stored, data, sizeof(stored));
    data += sizeof(stored);
    element = static_cast<double>(stored);
  }
}

Array diff::readArray(const std::filesystem::path &file) {
  auto fail = [&](const char *what) -> Error {
    return Error(file.string() + ": " + what);
  };
  std::string text = readFile(file);
  constexpr size_t prelude = 10;
  if (text.size() < prelude || std::memcmp(text.data(), "\x93NUMPY\1", 7) != 0)
    throw fail("is no .npy file of version 1");
  size_t header = static_cast<uint8_t>(text[8]) +
                  256 * static_cast<size_t>(static_cast<uint8_t>(text[9]));
  if (text.size() < prelude + header)
    throw fail("is truncated");
  std::string description = text.substr(prelude, header);
  static const std::regex form(
      R"('descr': '<([fi][48])', 'fortran_order': False, 'shape': \(([0-9, ]*)\))");
  std::smatch match;
  if (!std::regex_search(description, match, form))
    throw fail("has a header that a dump does not have");

  Array array;
  uint64_t count = 1;
  static const std::regex number("[0-9]+");
  std::string shape = match[2];
  for (std::sregex_iterator at(shape.begin(), shape.end(), number), end;
       at != end; ++at) {
    array.shape.push_back(std::stoull(at->str()));
    if (__builtin_mul_overflow(count, array.shape.back(), &count))
      throw fail("has an impossible shape");
  }
  std::string type = match[1];
  uint64_t bytes = type[1] == '4' ? 4 : 8;
  if (count > text.size() || text.size() != prelude + header + count * bytes)
    throw fail("is not as long as its shape says");
  array.elements.resize(count);
  const char *data = text.data() + prelude + header;
  if (type == "f4")
    widen<float>(data, array.elements);
  else if (type == "f8")
    widen<double>(data, array.elements);
  else if (type == "i4")
    widen<int32_t>(data, array.elements);
  else
    widen<int64_t>(data, array.elements);
  return array;
}
