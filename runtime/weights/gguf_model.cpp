//===- gguf_model.cpp - a model that GGUF files hold ---------------------===//

#include "runtime/weights/gguf_model.h"

#include "runtime/error.h"
#include "runtime/weights/gguf_names.h"
#include "runtime/weights/message.h"
#include "runtime/weights/stacked_experts.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace baton {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t most_parts = 99'999;

/// Rows of a head, where the architecture's queries and keys are in pairs.
uint64_t head_rows(const GgufFile &file, const std::string &architecture) {
  constexpr uint64_t most = 1 << 20;
  const std::string length = architecture + ".attention.key_length";
  if (const auto rows = file.integer(length, most))
    return *rows;
  const std::string width = architecture + ".embedding_length";
  const std::string heads = architecture + ".attention.head_count";
  const uint64_t columns = file.integer(width, most).value_or(0);
  const uint64_t count = file.integer(heads, most).value_or(0);
  if (columns == 0 || count == 0 || columns % count)
    file.fail(heads, "does not divide " + quote_name(width) +
                         ", and there is no " + quote_name(length));
  return columns / count;
}

/// One for each expert, of what one tensor has of all, one behind the other.
void add_experts(const std::string &name, const Tensor &all,
                 TensorMap &result) {
  constexpr std::string_view number = "{expert}";
  const size_t place = name.find(number);
  const uint64_t count = all.shape.front();
  for (uint64_t expert = 0; expert < count; ++expert)
    result.emplace(name.substr(0, place) + std::to_string(expert) +
                       name.substr(place + number.size()),
                   tensor_of_expert(all, expert));
}

/// The tensors as a Hugging Face checkpoint has them.
TensorMap translate(const GgufFile &file, const GgufFile &metadata,
                    const std::string &architecture) {
  TensorMap result;
  for (const auto &[stored, tensor] : file.tensors()) {
    const std::string what = "tensor " + quote_name(stored);
    std::optional<GgufName> name = translate_gguf_name(architecture, stored);
    if (!name)
      file.fail(what + " is none that models of " + quote_name(architecture) +
                " are known to have");
    Tensor translated = tensor;
    if (name->is_paired) {
      const uint64_t rows = head_rows(metadata, architecture);
      if (rows == 0 || rows % 2 || tensor.shape.empty() ||
          tensor.shape.front() % rows)
        file.fail(what + " has the shape " + shape_text(tensor.shape) +
                  ", whose rows are not heads of " + std::to_string(rows));
      translated.paired_rows = rows;
    }
    if (name->is_flipped) {
      if (tensor.shape.size() != 2)
        file.fail(what + " has the shape " + shape_text(tensor.shape) +
                  ", expected two dimensions");
      std::swap(translated.shape[0], translated.shape[1]);
      translated.is_flipped = true;
    }
    if (name->is_row && tensor.shape.size() == 1)
      translated.shape.insert(translated.shape.begin(), 1);
    if (name->is_of_heads) {
      if (tensor.shape.size() != 3 || tensor.shape.back() == 0)
        file.fail(what + " has the shape " + shape_text(tensor.shape) +
                  ", expected heads, outputs and inputs");
      // As many numbers, so that the product is no larger than the file.
      translated.shape = {tensor.shape[0] * tensor.shape[1], tensor.shape[2]};
    }
    if (name->is_plus_one)
      translated.added = 1;
    if (name->is_of_experts) {
      const bool is_bias = name->name.ends_with(".bias");
      if (tensor.shape.size() != (is_bias ? 2 : 3) || tensor.shape.front() == 0)
        file.fail(what + " has the shape " + shape_text(tensor.shape) +
                  ", expected experts" +
                  (is_bias ? " and outputs" : ", outputs and inputs"));
      add_experts(name->name, tensor, result);
      continue;
    }
    result.emplace(std::move(name->name), std::move(translated));
  }
  return result;
}

} // namespace

std::optional<GgufPart> GgufPart::parse(const fs::path &path) {
  // -00002-of-00003.gguf
  constexpr size_t digits = 5, tail = 1 + digits + 4 + digits + 5;
  const std::string name = path.filename().string();
  if (name.size() < tail)
    return std::nullopt;
  const std::string_view end =
      std::string_view(name).substr(name.size() - tail);
  const auto number = [&](size_t at) -> uint32_t {
    uint32_t value = 0;
    const char *first = end.data() + at;
    const auto [last, failure] = std::from_chars(first, first + digits, value);
    return failure == std::errc() && last == first + digits ? value : 0;
  };
  GgufPart part{name.substr(0, name.size() - tail), number(1),
                number(1 + digits + 4)};
  if (part.number == 0 || part.count < part.number ||
      name != part.name_of(part.number))
    return std::nullopt;
  return part;
}

std::string GgufPart::name_of(uint32_t other) const {
  char text[32];
  std::snprintf(text, sizeof(text), "-%05u-of-%05u.gguf", other, count);
  return stem + text;
}

std::optional<fs::path> find_gguf(const fs::path &path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::is_directory(status))
    return fs::exists(status) ? std::optional(path) : std::nullopt;
  for (const char *name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::exists(path / name, failure))
      return std::nullopt;
  std::vector<fs::path> models;
  for (const auto &entry : fs::directory_iterator(path, failure)) {
    const std::optional<GgufPart> part = GgufPart::parse(entry.path());
    if (entry.path().extension() == ".gguf" && (!part || part->number == 1))
      models.push_back(entry.path());
  }
  if (models.empty())
    return std::nullopt;
  std::sort(models.begin(), models.end());
  if (models.size() > 1)
    throw Error(path.string() + ": holds several models, " +
                models[0].filename().string() + " and " +
                models[1].filename().string() +
                (models.size() > 2 ? " among them" : "") +
                "; name the file of one");
  return models.front();
}

GgufModel GgufModel::open(const fs::path &path) {
  const auto open_part = [](const fs::path &path) {
    return std::shared_ptr<GgufFile>(new GgufFile(path));
  };
  std::vector<std::shared_ptr<GgufFile>> files = {open_part(path)};
  const GgufFile &first = *files.front();
  const uint64_t count = std::max<uint64_t>(
      first.integer("split.count", most_parts).value_or(1), 1);
  if (count > 1) {
    const std::optional<GgufPart> part = GgufPart::parse(path);
    const uint64_t number = first.integer("split.no", most_parts).value_or(0);
    if (!part || part->count != count || part->number != number + 1)
      first.fail("is part " + std::to_string(number + 1) + " of " +
                 std::to_string(count) +
                 " by its \"split.no\" and \"split.count\", but its name does "
                 "not say so");
    if (number != 0)
      first.fail("is part " + std::to_string(number + 1) + " of " +
                 std::to_string(count) + "; name the first, " +
                 part->name_of(1));
    for (uint32_t other = 2; other <= count; ++other) {
      const fs::path name = path.parent_path() / part->name_of(other);
      std::error_code failure;
      if (!fs::exists(name, failure))
        throw Error(name.string() + ": no such file, part " +
                    std::to_string(other) + " of " + std::to_string(count));
      files.push_back(open_part(name));
      const GgufFile &file = *files.back();
      if (file.integer("split.no", most_parts) != other - 1 ||
          file.integer("split.count", most_parts) != count)
        file.fail("is not part " + std::to_string(other) + " of " +
                  std::to_string(count) +
                  " by its \"split.no\" and \"split.count\"");
    }
    uint64_t tensors = 0;
    for (const auto &file : files)
      tensors += file->tensors().size();
    const auto promised = first.integer("split.tensors.count", INT64_MAX);
    if (promised && *promised != tensors)
      first.fail("split.tensors.count",
                 "is " + std::to_string(*promised) + ", but the parts have " +
                     std::to_string(tensors) + " tensors");
  }

  GgufModel result;
  const auto architecture = first.text("general.architecture");
  if (!architecture)
    first.fail("has no key \"general.architecture\"");
  result.architecture_name = *architecture;
  const std::vector<std::string> known = gguf_architectures();
  if (std::find(known.begin(), known.end(), *architecture) == known.end()) {
    std::string list;
    for (const std::string &name : known)
      list += (list.empty() ? "" : ", ") + name;
    first.fail("general.architecture",
               "is " + quote_name(*architecture) + ", expected one of " + list);
  }
  for (const auto &file : files) {
    file->tensor_map = translate(*file, first, result.architecture_name);
    for (const auto &other : result.parts)
      for (const auto &[name, tensor] : file->tensors())
        if (other->tensors().contains(name))
          file->fail("tensor " + quote_name(name) + " is also in " +
                     other->path().string());
    result.parts.push_back(file);
  }
  return result;
}

const Tensor *GgufModel::find(std::string_view name) const {
  for (const auto &part : parts)
    if (const auto found = part->tensors().find(name);
        found != part->tensors().end())
      return &found->second;
  return nullptr;
}

std::optional<DataType> GgufModel::type_of(std::string_view name) const {
  const Tensor *tensor = find(name);
  return tensor ? std::optional(tensor->type) : std::nullopt;
}

} // namespace baton
