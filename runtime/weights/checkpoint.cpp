//===- checkpoint.cpp - the tensors of a Hugging Face checkpoint folder --===//

#include "runtime/weights/checkpoint.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <set>

namespace baton {

namespace {

/// Reads a whole JSON file; refuses duplicate keys and absurd nesting.
nlohmann::json read_json(const std::filesystem::path &path) {
  std::string file = path.string();
  std::error_code failure;
  uint64_t size = std::filesystem::file_size(path, failure);
  std::ifstream stream(path, std::ios::binary);
  if (failure || !stream)
    throw Error(file + ": cannot be read");
  if (size > SafetensorsFile::max_header_bytes)
    throw Error(file + ": " + std::to_string(size) +
                " bytes are too large for an index");

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
  }
}

/// A shard lies beside its index; anything else is an attempt to read
/// elsewhere.
bool is_plain_file_name(const std::string &name) {
  return !name.empty() && name != "." && name.find("..") == std::string::npos &&
         std::none_of(name.begin(), name.end(), [](unsigned char character) {
           return character == '/' || character == '\\' || character < ' ';
         });
}

} // namespace

Checkpoint Checkpoint::open(const std::filesystem::path &folder) {
  Checkpoint result;
  result.folder_path = folder;
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure))
    throw Error(folder.string() + ": is not a folder");

  std::filesystem::path single = folder / "model.safetensors";
  std::filesystem::path index = folder / "model.safetensors.index.json";
  // Tensor name to shard file name, as the index promises them.
  std::map<std::string, std::string> promised;
  std::vector<std::string> file_names;
  if (std::filesystem::exists(single, failure)) {
    file_names = {"model.safetensors"};
  } else if (std::filesystem::exists(index, failure)) {
    nlohmann::json document = read_json(index);
    if (!document.is_object() || !document.contains("weight_map") ||
        !document["weight_map"].is_object())
      throw Error(index.string() + ": has no weight_map object");
    std::set<std::string> distinct;
    for (const auto &[name, shard] : document["weight_map"].items()) {
      if (!shard.is_string() || !is_plain_file_name(shard.get<std::string>()))
        throw Error(index.string() + ": tensor " + quote_name(name) +
                    " is mapped to something else than a file name in the same "
                    "folder");
      promised[name] = shard;
      distinct.insert(shard);
    }
    if (distinct.empty())
      throw Error(index.string() + ": the weight_map is empty");
    file_names.assign(distinct.begin(), distinct.end());
  } else {
    throw Error(folder.string() +
                ": holds neither model.safetensors nor "
                "model.safetensors.index.json; other formats must be converted "
                "to safetensors first");
  }

  for (const std::string &name : file_names) {
    auto shard = SafetensorsFile::open(folder / name);
    for (const auto &[tensor, value] : shard->tensors()) {
      auto [place, inserted] =
          result.locations.emplace(tensor, result.shards.size());
      if (!inserted)
        throw Error(shard->path().string() + ": tensor " + quote_name(tensor) +
                    " is also in " +
                    result.shards[place->second]->path().string());
    }
    result.shards.push_back(std::move(shard));
  }
  for (const auto &[tensor, shard] : promised) {
    auto place = result.locations.find(tensor);
    if (place == result.locations.end() || file_names[place->second] != shard)
      throw Error((folder / shard).string() + ": lacks the tensor " +
                  quote_name(tensor) + " that " + index.filename().string() +
                  " promises");
  }
  return result;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> result;
  for (const auto &[name, shard] : locations)
    result.push_back(name);
  return result;
}

StoredTensor Checkpoint::find(const std::vector<std::string> &names) const {
  for (const std::string &name : names) {
    auto place = locations.find(name);
    if (place == locations.end())
      continue;
    const auto &shard = shards[place->second];
    return {name, &shard->tensors().find(name)->second, shard};
  }
  if (names.empty())
    throw Error(folder_path.string() +
                ": a tensor without a name was asked for");

  // Long names are hostile, and the distance is quadratic.
  constexpr size_t longest = 256;
  constexpr size_t suggestions = 3;
  std::vector<std::pair<size_t, std::string>> nearest;
  for (const auto &[stored, shard] : locations) {
    if (stored.size() > longest)
      continue;
    size_t distance = longest;
    for (const std::string &name : names)
      if (name.size() <= longest)
        distance = std::min(distance, edit_distance(name, stored));
    nearest.emplace_back(distance, stored);
  }
  size_t shown = std::min(nearest.size(), suggestions);
  std::partial_sort(nearest.begin(), nearest.begin() + shown, nearest.end());

  std::string message = folder_path.string() +
                        ": the checkpoint has no tensor " +
                        quote_name(names[0]);
  for (size_t i = 1; i < names.size(); ++i)
    message += " or " + quote_name(names[i]);
  if (shown == 0)
    throw Error(message + "; it holds no tensors at all");
  message += "; the nearest it holds:";
  for (size_t i = 0; i < shown; ++i)
    message += (i ? ", " : " ") + quote_name(nearest[i].second);
  throw Error(message);
}

} // namespace baton
