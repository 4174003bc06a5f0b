//===- prompt_json.cpp - texts of requests, as text or as tokens ----------===//

#include "runtime/serve/prompt_json.h"

#include "runtime/batch/token_json.h"
#include "runtime/error.h"

#include <algorithm>

namespace baton {

using PromptJson = nlohmann::ordered_json;

/// What parts of a content say.
static std::string content_text(const std::string &key,
                                const PromptJson &content) {
  if (!content.is_array())
    throw Error(key + ": expected a content that is a list of parts");
  std::string text;
  for (const PromptJson &part : content) {
    const bool is_text = part.is_object() &&
                         part.value("type", PromptJson()) == "text" &&
                         part.value("text", PromptJson()).is_string();
    if (!is_text)
      throw Error(key + ": this model reads text only: expected parts as in "
                        "{\"type\": \"text\", \"text\": \"...\"}");
    text += part["text"].get_ref<const std::string &>();
  }
  return text;
}

std::vector<int32_t> read_text(const std::string &key, const PromptJson &value,
                               const BatchFormat &format) {
  if (value.is_object()) {
    if (auto content = value.find("content"); content != value.end())
      return encode_text(key, content_text(key, *content), format);
    const auto text = value.find("prompt_string");
    if (text == value.end())
      throw Error(key + ": expected an object with a prompt_string");
    if (auto media = value.find("multimodal_data");
        media != value.end() && !media->empty())
      throw Error(key + ": this model reads text only, no multimodal_data");
    return encode_text(key, *text, format);
  }
  if (!value.is_array())
    return encode_text(key, value, format);
  std::vector<int32_t> tokens;
  bool is_first = true;
  for (const PromptJson &part : value) {
    const std::vector<int32_t> own =
        part.is_string() ? encode_text(key, part, format, is_first)
                         : parse_tokens(key, PromptJson::array({part}));
    tokens.insert(tokens.end(), own.begin(), own.end());
    is_first = false;
  }
  return tokens;
}

std::vector<std::vector<int32_t>> read_texts(const std::string &key,
                                             const PromptJson &value,
                                             const BatchFormat &format) {
  const bool is_list = value.is_array() &&
                       std::ranges::none_of(value, [](const PromptJson &each) {
                         return each.is_number();
                       });
  if (!is_list)
    return {read_text(key, value, format)};
  if (value.empty())
    throw Error(key + ": the list is empty");
  std::vector<std::vector<int32_t>> all;
  for (const PromptJson &each : value)
    all.push_back(read_text(key, each, format));
  return all;
}

} // namespace baton
