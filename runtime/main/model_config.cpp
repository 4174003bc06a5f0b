//===- model_config.cpp - the config.json that checkpoints get ------------===//

#include "runtime/main/model_config.h"

#include "runtime/error.h"
#include "runtime/train/training_state.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

namespace baton {

namespace {

/// What is known of a dimension; 0: nothing.
struct Dimensions {
  uint64_t layers = 0, width = 0;
};

/// Of the parameters, as one rank without others has them.
Dimensions dimensions(const Metadata &metadata) {
  Dimensions found;
  if (metadata.json.contains("pipeline"))
    return found;
  for (const nlohmann::json &tensor :
       metadata.json.at("training").at("tensors")) {
    if (tensor.at("role") != "parameter")
      continue;
    // Whole patterns of layers, though the tensor is of one layer of each.
    auto layers = tensor.at("layers").get<uint64_t>();
    found.layers = std::max(
        found.layers, tensor.value("first_layer", uint64_t(0)) +
                          layers * tensor.value("layer_step", uint64_t(1)));
    // Embeddings, or the output projection.
    auto shape = tensor.at("shape").get<std::vector<uint64_t>>();
    if (shape.size() == 2 && shape[0] == metadata.vocabulary && layers == 1 &&
        !tensor.contains("shards"))
      found.width = shape[1];
  }
  return found;
}

} // namespace

nlohmann::json check_model_config(const Metadata &metadata,
                                  const std::filesystem::path &folder) {
  std::filesystem::path path = folder / "config.json";
  std::string family = metadata.json.at("model").value("family", std::string());
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    // A model that is written as IR has none, nor has a GGUF file.
    if (family.empty() || find_gguf(folder))
      return nullptr;
    throw Error(path.string() +
                ": no such file; checkpoints need a copy of it");
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  nlohmann::json config = parse_object(text, path.string());
  auto fail = [&](const char *name, const std::string &is,
                  const std::string &expected) {
    throw Error(path.string() + ": '" + name + "' is " + is +
                ", but the program was compiled for " + expected);
  };
  auto type = config.find("model_type");
  if (type != config.end() && type->is_string() && !family.empty() &&
      *type != family)
    fail("model_type", quote_name(type->get<std::string>()),
         quote_name(family));
  auto compare = [&](std::initializer_list<const char *> names,
                     uint64_t expected) {
    for (const char *name : names) {
      auto value = config.find(name);
      if (expected && value != config.end() && value->is_number_unsigned() &&
          *value != expected)
        fail(name, value->dump(), std::to_string(expected));
    }
  };
  Dimensions known = dimensions(metadata);
  compare({"vocab_size"}, metadata.vocabulary);
  compare({"num_hidden_layers", "n_layer"}, known.layers);
  compare({"hidden_size", "n_embd"}, known.width);
  return config;
}

std::string dropout_text(const nlohmann::json &config) {
  std::string text;
  if (config.is_object())
    for (const auto &[name, value] : config.items())
      if ((name.find("dropout") != name.npos ||
           name.find("pdrop") != name.npos) &&
          value.is_number() && value != 0)
        text += (text.empty() ? "" : ", ") + name + " " + value.dump();
  return text;
}

} // namespace baton
