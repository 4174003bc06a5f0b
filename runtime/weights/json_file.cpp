//===- json_file.cpp - JSON that lies beside weights ----------------------===//

#include "runtime/weights/json_file.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"
#include "runtime/weights/safetensors.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <vector>

namespace baton {

nlohmann::json read_json(const std::filesystem::path &path) {
  std::string file = path.string();
  std::error_code failure;
  uint64_t size = std::filesystem::file_size(path, failure);
  std::ifstream stream(path, std::ios::binary);
  if (failure || !stream)
    throw Error(file + ": cannot be read");
  if (size > SafetensorsFile::max_header_bytes)
    throw Error(file + ": " + std::to_string(size) +
                " bytes are too large for an index or a config");

  constexpr int max_depth = 16;
  std::vector<std::set<std::string>> keys;
  auto check = [&](int depth, nlohmann::json::parse_event_t event,
                   nlohmann::json &value) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > max_depth)
      throw Error(file + ": nests deeper than " + std::to_string(max_depth) +
                  " levels");
    if (event == Event::object_start)
      keys.emplace_back();
    else if (event == Event::object_end)
      keys.pop_back();
    else if (event == Event::key &&
             !keys.back().insert(value.get<std::string>()).second)
      throw Error(file + ": names the key " +
                  quote_name(value.get<std::string>()) + " twice");
    return true;
  };
  try {
    return nlohmann::json::parse(stream, check);
  } catch (const nlohmann::json::parse_error &error) {
    throw Error(file + ": is not valid JSON (at its byte " +
                std::to_string(error.byte) + ")");
  } catch (const nlohmann::json::out_of_range &) {
    throw Error(file + ": holds a number that is too large");
  }
}

} // namespace baton
