//===- dialect_request.cpp - requests of other APIs, key by key -----------===//

#include "runtime/serve/dialect_request.h"

#include "runtime/batch/json_keys.h"
#include "runtime/error.h"
#include "runtime/serve/request_keys.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace baton {

using Json = nlohmann::ordered_json;

const Json *find_value(const Json &object, const char *key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

static std::string key_place(const std::string &place, const char *key) {
  return place.empty() ? key : place + "." + key;
}

std::string read_text(const Json &object, const char *key,
                      const std::string &place) {
  const Json *const value = find_value(object, key);
  if (!value || !value->is_string())
    throw Error(key_place(place, key) + ": expected a text");
  return value->get<std::string>();
}

const Json &read_object(const Json &object, const char *key,
                        const std::string &place) {
  const Json *const value = find_value(object, key);
  if (!value || !value->is_object())
    throw Error(key_place(place, key) + ": expected an object");
  return *value;
}

std::string element_place(const std::string &list, size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

std::string read_texts(const Json &content, const std::string &place,
                       std::initializer_list<const char *> types) {
  if (content.is_string())
    return content.get<std::string>();
  if (!content.is_array())
    throw Error(place + ": expected a text or a list of blocks");
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string own = element_place(place, i);
    if (!content[i].is_object())
      throw Error(own + ": expected an object");
    const std::string type = read_text(content[i], "type", own);
    if (std::ranges::find(types, std::string_view(type)) == types.end())
      throw Error(own + ": this model reads text only, no " + quote_name(type));
    // A part that says no has that as its text.
    text += (i ? "\n" : "") +
            read_text(content[i], type == "refusal" ? "refusal" : "text", own);
  }
  return text;
}

Json chat_function(const std::string &name) {
  return {{"type", "function"}, {"function", {{"name", name}}}};
}

Json shared_keys(const Json &body, std::initializer_list<const char *> own) {
  std::vector<std::string> names = with_common_keys(
      {"reasoning_effort", "chat_template_kwargs", "documents",
       "continue_final_message", "add_generation_prompt", "reasoning_format",
       "max_completion_tokens", "logprobs", "top_logprobs"});
  names.insert(names.end(), own.begin(), own.end());
  std::vector<std::string> ignored;
  const JsonKeys keys(body, names, ignored);
  keys.expect("n", 1);
  keys.expect("logprobs", false);
  Json shared = Json::object();
  for (const auto &[key, value] : body.items())
    if (std::ranges::find(own, std::string_view(key)) == own.end())
      shared[key] = value;
  return shared;
}

void set_template_variable(Json &chat, const char *name, const Json &value) {
  Json &variables = chat["chat_template_kwargs"];
  if (variables.is_null())
    variables = Json::object();
  if (!variables.is_object())
    throw Error("chat_template_kwargs: expected an object");
  if (!variables.contains(name))
    variables[name] = value;
}

} // namespace baton
