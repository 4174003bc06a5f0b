//===- example.cpp - a line of a .jsonl file of training data -------------===//

#include "runtime/documents/example.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

Json parse_line(std::string_view line) {
  constexpr int deepest = 100;
  bool is_deep = false;
  Json parsed;
  try {
    parsed = Json::parse(line, [&](int depth, Json::parse_event_t, Json &) {
      if (depth > deepest)
        is_deep = true;
      return !is_deep;
    });
  } catch (const Json::parse_error &failure) {
    if (is_deep)
      throw Error("nests absurdly");
    throw Error("is no JSON, from byte " + std::to_string(failure.byte) +
                " of the line on");
  }
  if (is_deep)
    throw Error("nests absurdly");
  if (!parsed.is_object())
    throw Error("is no JSON object");
  return parsed;
}

/// A text, or nothing where there is no such key.
std::string text_of(const Json &line, const char *key) {
  const Json &value = line.at(key);
  if (!value.is_string())
    throw Error(std::string(key) + ": expected a text");
  return value.get<std::string>();
}

Json messages_of(const Json &line, const char *key) {
  const Json &value = line.at(key);
  if (!value.is_array() || value.empty())
    throw Error(std::string(key) + ": expected a list with at least one "
                                   "message");
  for (size_t i = 0; i < value.size(); ++i)
    if (!value[i].is_object() || !value[i].contains("role") ||
        !value[i]["role"].is_string())
      throw Error(std::string(key) + "[" + std::to_string(i) +
                  "]: expected an object with a role");
  return value;
}

bool is_answer(Json &message, const std::string &place) {
  bool is_target = message["role"] == "assistant";
  if (auto weight = message.find("weight"); weight != message.end()) {
    if (*weight != 0 && *weight != 1)
      throw Error(place + ".weight: expected 0 or 1");
    is_target = is_target && *weight == 1;
    message.erase("weight");
  }
  return is_target;
}

Json tools_of(const Json &line) {
  auto tools = line.find("tools");
  if (tools == line.end() || tools->is_null())
    return nullptr;
  Json result = *tools;
  if (result.is_string()) {
    const auto text = result.get<std::string>();
    if (text.empty())
      return nullptr;
    try {
      result =
          Json::array({parse_line("{\"tools\":" + text + "}")["tools"]})[0];
    } catch (const Error &failure) {
      throw Error(std::string("tools: ") + failure.what());
    }
  }
  if (!result.is_array())
    throw Error("tools: expected a list");
  return result;
}

} // namespace

Example parse_example(std::string_view text) {
  const Json line = parse_line(text);
  const bool has_messages = line.contains("messages"),
             has_prompt = line.contains("prompt"),
             has_completion = line.contains("completion"),
             has_text = line.contains("text");
  if (has_messages + (has_prompt || has_completion) + has_text != 1 ||
      has_prompt != has_completion) {
    std::string keys;
    for (const auto &[key, value] : line.items())
      keys += (keys.empty() ? "" : ", ") + key;
    throw Error("expected \"messages\", \"prompt\" and \"completion\", or "
                "\"text\", one of the three; has " +
                (keys.empty() ? "no key" : "the keys " + quote_name(keys)));
  }
  Example result;
  if (has_text) {
    result.completion = text_of(line, "text");
    return result;
  }
  if (has_prompt && line["prompt"].is_string()) {
    result.prompt = text_of(line, "prompt");
    result.completion = text_of(line, "completion");
    return result;
  }
  size_t first = 0;
  const char *key = "messages";
  if (has_prompt) {
    result.messages = messages_of(line, "prompt");
    first = result.messages.size();
    for (Json &message : messages_of(line, key = "completion"))
      result.messages.push_back(message);
  } else {
    result.messages = messages_of(line, key);
  }
  for (size_t i = 0; i < result.messages.size(); ++i) {
    // Those of a prompt are none.
    const std::string place =
        i < first ? "prompt[" + std::to_string(i)
                  : std::string(key) + "[" + std::to_string(i - first);
    const bool answers = is_answer(result.messages[i], place + "]");
    result.answers.push_back(answers && i >= first);
  }
  result.tools = tools_of(line);
  if (auto arguments = line.find("chat_template_kwargs");
      arguments != line.end() && !arguments->is_null()) {
    if (!arguments->is_object())
      throw Error("chat_template_kwargs: expected an object");
    result.arguments = *arguments;
  }
  return result;
}

} // namespace baton
