//===- chat_template.cpp - how a model writes a conversation --------------===//

#include "runtime/tokenizer/chat_template.h"

#include "runtime/error.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/json_file.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

namespace baton {

namespace fs = std::filesystem;

namespace {

std::string token_of(const GgufFile &file, std::string_view key) {
  const auto tokens = file.texts("tokenizer.ggml.tokens");
  const auto id = file.integer(key, UINT32_MAX);
  if (!id || !tokens)
    return "";
  if (*id >= tokens->size())
    file.fail(key, "is " + std::to_string(*id) + ", of " +
                       std::to_string(tokens->size()) + " tokens");
  return std::string((*tokens)[*id]);
}

std::optional<ChatTemplate> template_of(const GgufFile &file) {
  const auto text = file.text("tokenizer.chat_template");
  if (!text)
    return std::nullopt;
  return ChatTemplate{std::string(*text),
                      token_of(file, "tokenizer.ggml.bos_token_id"),
                      token_of(file, "tokenizer.ggml.eos_token_id")};
}

std::optional<std::string> read(const fs::path &path) {
  std::error_code failure;
  if (!fs::exists(path, failure))
    return std::nullopt;
  std::ifstream stream(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream)
    throw Error(path.string() + ": cannot be read");
  return text;
}

/// A text, or one with settings, or nothing.
std::string token_of(const nlohmann::json &config, const char *key) {
  auto entry = config.find(key);
  if (entry == config.end())
    return "";
  if (entry->is_object())
    return entry->value("content", std::string());
  return entry->is_string() ? entry->get<std::string>() : "";
}

std::optional<std::string> template_of(const nlohmann::json &config) {
  auto entry = config.find("chat_template");
  if (entry == config.end())
    return std::nullopt;
  if (entry->is_string())
    return entry->get<std::string>();
  for (const nlohmann::json &named : *entry)
    if (named.is_object() && named.value("name", std::string()) == "default")
      return named.value("template", std::string());
  return std::nullopt;
}

} // namespace

std::optional<ChatTemplate> find_chat_template(const fs::path &checkpoint) {
  if (const auto file = find_gguf(checkpoint))
    return template_of(*GgufFile::open(*file));
  const fs::path path = checkpoint / "tokenizer_config.json";
  std::error_code failure;
  const nlohmann::json config =
      fs::exists(path, failure) ? read_json(path) : nlohmann::json::object();
  if (!config.is_object())
    throw Error(path.string() + ": is no JSON object");
  std::optional<std::string> text = read(checkpoint / "chat_template.jinja");
  if (!text)
    text = template_of(config);
  if (!text)
    return std::nullopt;
  return ChatTemplate{*text, token_of(config, "bos_token"),
                      token_of(config, "eos_token")};
}

} // namespace baton
