//===- checkpoint.cpp - the tensors of a model, as Hugging Face calls them ===//

#include "runtime/weights/checkpoint.h"

#include "runtime/error.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/json_file.h"
#include "runtime/weights/message.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/stacked_experts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>
#include <set>

namespace baton {

namespace {

/// A shard lies beside its index; anything else is an attempt to read
/// elsewhere.
bool is_plain_file_name(const std::string &name) {
  return !name.empty() && name != "." && name.find("..") == std::string::npos &&
         std::none_of(name.begin(), name.end(), [](unsigned char character) {
           return character == '/' || character == '\\' || character < ' ';
         });
}

bool may_be_quantised(
    const std::vector<std::shared_ptr<const WeightFile>> &files) {
  for (const auto &file : files)
    for (const auto &[name, tensor] : file->tensors())
      if (tensor.type == DataType::I32 || tensor.type == DataType::I8 ||
          tensor.type == DataType::U8 || tensor.type == DataType::F8E4M3)
        return true;
  return false;
}

} // namespace

void Checkpoint::add(std::shared_ptr<const WeightFile> file) {
  for (const auto &[tensor, value] : file->tensors()) {
    auto [place, inserted] = locations.emplace(tensor, shards.size());
    if (!inserted)
      throw Error(file->path().string() + ": tensor " + quote_name(tensor) +
                  " is also in " + shards[place->second]->path().string());
  }
  add_experts_of(file->tensors(), experts.emplace_back());
  shards.push_back(std::move(file));
}

StoredTensor Checkpoint::look_up(const std::string &name) const {
  if (const auto *found = quantised ? quantised->find(name) : nullptr)
    return {name, &found->tensor,
            std::shared_ptr<const WeightFile>(quantised, found->file)};
  auto place = locations.find(name);
  if (place != locations.end()) {
    const auto &shard = shards[place->second];
    return {name, &shard->tensors().find(name)->second, shard};
  }
  for (size_t i = 0; i < shards.size(); ++i)
    if (auto part = experts[i].find(name); part != experts[i].end())
      return {name, &part->second, shards[i]};
  return {};
}

Checkpoint Checkpoint::open(const std::filesystem::path &path) {
  Checkpoint result;
  result.opened_path = path;
  if (const auto file = find_gguf(path)) {
    result.gguf = true;
    result.folder_path = file->has_parent_path() ? file->parent_path() : ".";
    const GgufModel model = GgufModel::open(*file);
    for (const auto &part : model.files())
      result.add(part);
    return result;
  }
  const std::filesystem::path &folder = result.folder_path = path;
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure))
    throw Error(folder.string() + ": no such file or folder");

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
  } else if (std::filesystem::exists(folder / "adapter_model.safetensors",
                                     failure)) {
    throw Error(folder.string() +
                ": holds an adapter, and not the model that it was trained "
                "beside; batonc merge makes one checkpoint of both");
  } else {
    throw Error(folder.string() +
                ": holds neither model.safetensors nor "
                "model.safetensors.index.json nor a GGUF file; other formats "
                "must be converted to safetensors first");
  }

  for (const std::string &name : file_names)
    result.add(SafetensorsFile::open(folder / name));
  for (const auto &[tensor, shard] : promised) {
    auto place = result.locations.find(tensor);
    if (place == result.locations.end() || file_names[place->second] != shard)
      throw Error((folder / shard).string() + ": lacks the tensor " +
                  quote_name(tensor) + " that " + index.filename().string() +
                  " promises");
  }
  // Where all tensors are floating-point numbers, no config is asked for.
  if (const auto quantisation = may_be_quantised(result.shards)
                                    ? Quantisation::read(folder)
                                    : std::nullopt)
    result.quantised =
        std::make_shared<const QuantisedTensors>(*quantisation, result.shards);
  return result;
}

Checkpoint Checkpoint::open_file(const std::filesystem::path &folder,
                                 std::string_view name) {
  Checkpoint result;
  result.opened_path = result.folder_path = folder;
  result.add(SafetensorsFile::open(folder / name));
  return result;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> result;
  for (const auto &[name, shard] : locations)
    result.push_back(name);
  return result;
}

std::vector<std::string> names_in_layer(const std::vector<std::string> &sources,
                                        uint64_t layer) {
  // {layer} or {layer+2}
  static const std::regex placeholder("\\{layer(?:\\+([0-9]{1,6}))?\\}");
  std::vector<std::string> result;
  for (const std::string &source : sources) {
    std::string name;
    auto rest = source.cbegin();
    for (std::sregex_iterator match(source.begin(), source.end(), placeholder),
         end;
         match != end; ++match) {
      name.append(rest, (*match)[0].first);
      uint64_t more = (*match)[1].matched ? std::stoull((*match)[1]) : 0;
      name += std::to_string(layer + more);
      rest = (*match)[0].second;
    }
    result.push_back(name.append(rest, source.cend()));
  }
  return result;
}

std::string Checkpoint::quantisation() const {
  return quantised ? quantised->text() : std::string();
}

bool Checkpoint::contains(std::string_view name) const {
  return look_up(std::string(name)).tensor != nullptr;
}

StoredTensor Checkpoint::find(const std::vector<std::string> &names) const {
  for (const std::string &name : names)
    if (StoredTensor found = look_up(name); found.tensor)
      return found;
  if (names.empty())
    throw Error(opened_path.string() +
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

  std::string message = opened_path.string() +
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
