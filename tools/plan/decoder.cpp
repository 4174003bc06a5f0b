//===- decoder.cpp - the shape of a decoder, and how it is split ----------===//

#include "tools/plan/decoder.h"

#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using namespace baton;
using namespace baton::plan;

double Decoder::layer_matrices() const {
  const double attention =
      double(hidden) * head_size * (2 * double(heads) + 2 * double(kv_heads));
  return attention + double(hidden) * mlp * (gated ? 3 : 2);
}

double Decoder::layer_parameters() const {
  const double biases = learned_positions
                            ? double(head_size) * (heads + 2 * kv_heads) +
                                  hidden + mlp + hidden + 2.0 * hidden
                            : 0;
  return layer_matrices() + 2.0 * hidden + biases;
}

double Decoder::parameters(int64_t sequence) const {
  const double embedding = double(vocabulary) * hidden;
  return layers * layer_parameters() + embedding * (tied ? 1 : 2) +
         (learned_positions ? double(sequence) * hidden : 0) +
         (learned_positions ? 2.0 : 1.0) * hidden;
}

Decoder plan::gpt_decoder(int64_t hidden, int64_t heads, int64_t layers,
                          int64_t vocabulary) {
  Decoder decoder;
  decoder.hidden = hidden;
  decoder.heads = decoder.kv_heads = heads;
  decoder.head_size = hidden / heads;
  decoder.layers = layers;
  decoder.mlp = 4 * hidden;
  decoder.vocabulary = vocabulary;
  decoder.learned_positions = true;
  return decoder;
}

Decoder plan::read_decoder(const std::filesystem::path &path) {
  const std::filesystem::path file =
      std::filesystem::is_directory(path) ? path / "config.json" : path;
  if (file.extension() == ".gguf" || file.extension() == ".mlir")
    throw Error(file.string() +
                ": plans read a config.json; give it, or the folder that "
                "holds it");
  std::ifstream stream(file);
  if (!stream)
    throw Error(file.string() + ": cannot be read");
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(stream);
  } catch (const nlohmann::json::exception &error) {
    throw Error(file.string() + ": " + error.what());
  }
  if (!json.is_object())
    throw Error(file.string() + ": is no JSON object");
  // A model of text and pictures says of its text apart.
  auto outer = json;
  if (json.contains("text_config") && json["text_config"].is_object())
    json = json["text_config"];
  auto text = [&](const char *key) {
    return json.contains(key) && json[key].is_string()
               ? json[key].get<std::string>()
               : std::string();
  };
  const std::string type = text("model_type");
  const std::set<std::string> gated = {
      "",       "llama",  "mistral",     "qwen2", "qwen3", "gemma",
      "gemma2", "gemma3", "gemma3_text", "phi3",  "olmo2", "granite"};
  if (type != "gpt2" && !gated.count(type)) {
    std::string names = "gpt2";
    for (const std::string &name : gated)
      if (!name.empty())
        names += ", " + name;
    throw Error(file.string() + ": models of type " + type +
                " are not planned; those of " + names + " are");
  }
  for (const char *key :
       {"num_experts", "num_local_experts", "n_routed_experts"})
    if (json.contains(key) && json[key].is_number() &&
        json[key].get<double>() > 1)
      throw Error(file.string() + ": " + key +
                  ": mixtures of experts are not planned yet");
  auto number = [&](std::initializer_list<const char *> keys,
                    std::optional<int64_t> otherwise = {}) {
    for (const char *key : keys)
      if (json.contains(key) && !json[key].is_null()) {
        if (!json[key].is_number_integer() || json[key].get<int64_t>() < 1 ||
            json[key].get<int64_t>() > int64_t(1) << 32)
          throw Error(file.string() + ": " + key +
                      " is no whole number above 0");
        return json[key].get<int64_t>();
      }
    if (!otherwise)
      throw Error(file.string() + ": " + *keys.begin() + " is missing");
    return *otherwise;
  };
  const bool gpt2 = type == "gpt2";
  Decoder decoder;
  decoder.hidden = number({"hidden_size", "n_embd"});
  decoder.layers = number({"num_hidden_layers", "n_layer"});
  decoder.heads = number({"num_attention_heads", "n_head"});
  decoder.kv_heads = number({"num_key_value_heads"}, decoder.heads);
  decoder.head_size = number({"head_dim"}, decoder.hidden / decoder.heads);
  if (decoder.head_size < 1)
    throw Error(file.string() + ": there are more heads than hidden_size");
  decoder.mlp = number({"intermediate_size", "n_inner"},
                       gpt2 ? std::optional(4 * decoder.hidden) : std::nullopt);
  decoder.vocabulary = number({"vocab_size"});
  decoder.gated = !gpt2;
  decoder.learned_positions = gpt2;
  // As the families have it where nobody says.
  decoder.tied = gpt2 || type.starts_with("gemma");
  for (const nlohmann::json &where : {outer, json})
    if (where.contains("tie_word_embeddings") &&
        where["tie_word_embeddings"].is_boolean())
      decoder.tied = where["tie_word_embeddings"].get<bool>();
  if (decoder.heads % decoder.kv_heads != 0)
    throw Error(file.string() + ": num_attention_heads (" +
                std::to_string(decoder.heads) +
                ") is no multiple of num_key_value_heads (" +
                std::to_string(decoder.kv_heads) + ")");
  if (!json.contains("head_dim") && decoder.hidden % decoder.heads != 0)
    throw Error(file.string() + ": hidden_size (" +
                std::to_string(decoder.hidden) +
                ") is no multiple of num_attention_heads (" +
                std::to_string(decoder.heads) + ")");
  return decoder;
}

const char *plan::name(Recompute recompute) {
  return recompute == Recompute::none        ? "none"
         : recompute == Recompute::selective ? "selective"
                                             : "full";
}

std::string plan::check_split(const Decoder &decoder, const Split &split) {
  auto divides = [](int64_t part, int64_t whole, const std::string &what) {
    return whole % part == 0
               ? std::string()
               : what + " (" + std::to_string(whole) + ") is no multiple of " +
                     std::to_string(part);
  };
  if (split.data < 1 || split.tensor < 1 || split.pipeline < 1 ||
      split.chunks < 1 || split.micro_batch < 1 || split.global_batch < 1 ||
      split.sequence < 1)
    return "sizes and degrees are whole numbers above 0";
  for (std::string why :
       {divides(split.tensor, decoder.heads, "the number of heads"),
        divides(split.tensor, decoder.mlp, "the MLP's width"),
        divides(split.pipeline * split.chunks, decoder.layers,
                "the number of layers"),
        divides(split.data * split.micro_batch, split.global_batch,
                "the global batch")})
    if (!why.empty())
      return why;
  if (decoder.kv_heads % split.tensor != 0 &&
      split.tensor % decoder.kv_heads != 0)
    return divides(split.tensor, decoder.kv_heads,
                   "the number of key and value heads");
  if (split.chunks > 1 && split.microbatches() % split.pipeline != 0)
    return divides(split.pipeline, split.microbatches(),
                   "the number of microbatches of an interleaved schedule");
  if (split.sequence_parallel && split.sequence % split.tensor != 0)
    return divides(split.tensor, split.sequence, "the sequence");
  return "";
}
