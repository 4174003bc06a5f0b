//===- example.cpp - a line of a .jsonl file of training data -------------===//

#include "runtime/documents/example.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <algorithm>
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
  } catch (const Json::exception &) {
    throw Error("has a number that is too large");
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

std::string keys_of(const Json &line) {
  std::string keys;
  for (const auto &[key, value] : line.items())
    keys += (keys.empty() ? "" : ", ") + key;
  return keys.empty() ? "no key" : "the keys " + quote_name(keys);
}

/// Which messages are answers, none of the first `first`, the prompt's; the
/// others were under `key`, from its message `begin` on.
void finish_conversation(Example &result, const Json &line, size_t first,
                         const std::string &key, size_t begin = 0) {
  for (size_t i = 0; i < result.messages.size(); ++i) {
    const std::string place =
        i < first ? "prompt[" + std::to_string(i)
                  : key + "[" + std::to_string(begin + i - first);
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
}

/// Two conversations that begin alike.
Preference conversations_of(const Json &line, const Json &prompt) {
  Json chosen = messages_of(line, "chosen"),
       rejected = messages_of(line, "rejected");
  size_t first = prompt.size();
  if (first) {
    for (Json *answer : {&chosen, &rejected}) {
      Json all = prompt;
      all.insert(all.end(), answer->begin(), answer->end());
      *answer = std::move(all);
    }
  } else {
    while (first < chosen.size() && first < rejected.size() &&
           chosen[first] == rejected[first])
      ++first;
    if (first == 0)
      throw Error("chosen, rejected: both begin with other messages; what they "
                  "have in common is the prompt, or else there is a "
                  "\"prompt\"");
    if (first == chosen.size() || first == rejected.size())
      throw Error("chosen, rejected: one is the beginning of the other, or "
                  "they are the same");
  }
  Preference result;
  const size_t begin = prompt.empty() ? first : 0;
  result.chosen.messages = std::move(chosen);
  finish_conversation(result.chosen, line, first, "chosen", begin);
  result.rejected.messages = std::move(rejected);
  finish_conversation(result.rejected, line, first, "rejected", begin);
  return result;
}

/// Bytes that two texts have in common, up to the beginning of a word's space,
/// or of a character, that they do not.
size_t common_beginning(const std::string &a, const std::string &b) {
  const size_t most = std::min(a.size(), b.size());
  size_t end = static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most),
                    b.begin())
          .first -
      a.begin());
  auto is_inside = [&](const std::string &text) {
    return end < text.size() &&
           (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;
  };
  while (end > 0 && (is_inside(a) || is_inside(b)))
    --end;
  // A space belongs to the word behind it, as most tokenizers have it.
  if (end > 0 && a[end - 1] == ' ')
    --end;
  return end;
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
    if (line.contains("chosen") && line.contains("rejected"))
      throw Error("has \"chosen\" and \"rejected\", a pair of answers, which a "
                  "program compiled with --loss=dpo trains on");
    throw Error("expected \"messages\", \"prompt\" and \"completion\", or "
                "\"text\", one of the three; has " +
                keys_of(line));
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
  finish_conversation(result, line, first, key);
  return result;
}

Preference parse_preference(std::string_view text) {
  const Json line = parse_line(text);
  if (!line.contains("chosen") || !line.contains("rejected"))
    throw Error("expected \"chosen\" and \"rejected\", and the \"prompt\" of "
                "both if they do not begin with it; has " +
                keys_of(line));
  const Json none = Json::array();
  const Json &prompt = line.contains("prompt") ? line["prompt"] : none;
  if (!prompt.is_string() && !prompt.is_array())
    throw Error("prompt: expected a text, or a list of messages");
  const bool has_messages = line["chosen"].is_array();
  if (line["rejected"].is_array() != has_messages)
    throw Error("rejected: expected " +
                std::string(has_messages ? "a list of messages" : "a text") +
                ", as chosen is");
  if (has_messages)
    return conversations_of(line, prompt.is_array() && !prompt.empty()
                                      ? messages_of(line, "prompt")
                                      : none);
  if (prompt.is_array() && !prompt.empty())
    throw Error("chosen: expected a list of messages, as the prompt is");
  Preference result;
  result.chosen.completion = text_of(line, "chosen");
  result.rejected.completion = text_of(line, "rejected");
  if (prompt.is_string()) {
    result.chosen.prompt = result.rejected.prompt = text_of(line, "prompt");
    return result;
  }
  const size_t first =
      common_beginning(result.chosen.completion, result.rejected.completion);
  for (Example *answer : {&result.chosen, &result.rejected}) {
    answer->prompt = answer->completion.substr(0, first);
    answer->completion.erase(0, first);
  }
  return result;
}

} // namespace baton
