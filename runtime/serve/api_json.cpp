//===- api_json.cpp - JSON between clients and the server -----------------===//

#include "runtime/serve/api_json.h"

#include "runtime/batch/token_json.h"
#include "runtime/serve/api_error.h"

#include <cctype>
#include <chrono>
#include <random>

namespace baton {

using Json = nlohmann::ordered_json;

/// What is nested deeper would be worked on by functions that call themselves.
static constexpr int deepest_json = 128;

Json error_json(const ApiError &error) {
  const std::string message = error.what();
  // "messages[0].content: expected a text"
  Json key = nullptr;
  const size_t colon = message.find(": ");
  if (colon != std::string::npos && error.status == 400 &&
      message.find_first_of(" \"") > colon)
    key = message.substr(0, colon);
  Json json = {{"message", message},
               {"type", error.type},
               {"param", key},
               {"code", error.status}};
  json.update(error.more);
  return {{"error", std::move(json)}};
}

Json parse_body(std::string_view text) {
  bool too_deep = false;
  Json json;
  try {
    json = Json::parse(text, [&](int depth, Json::parse_event_t, Json &) {
      too_deep |= depth > deepest_json;
      return !too_deep;
    });
  } catch (const Json::exception &failure) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ..."
    const std::string what = failure.what();
    const size_t end = what.find("] ");
    throw invalid_request(
        "the body is no JSON: " +
        (end == std::string::npos ? what : what.substr(end + 2)));
  }
  if (too_deep)
    throw invalid_request("the body is nested more than " +
                          std::to_string(deepest_json) + " levels deep");
  if (!json.is_object())
    throw invalid_request("the body is no JSON object");
  return json;
}

std::string json_text(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string event_text(const Json &json) {
  return "data: " + json_text(json) + "\n\n";
}

std::string event_text(std::string_view name, const Json &json) {
  return "event: " + std::string(name) + "\n" + event_text(json);
}

Json chat_logprob_json(std::span<const TokenLogprob> list,
                       const BatchFormat &format) {
  auto entry = [&](const TokenLogprob &of) {
    const std::string text = token_text(of.token, format);
    auto bytes = Json::array();
    for (unsigned char byte : text)
      bytes.push_back(byte);
    return Json{
        {"token", text}, {"logprob", of.logprob}, {"bytes", std::move(bytes)}};
  };
  Json json = entry(list.front());
  json["top_logprobs"] = Json::array();
  for (const TokenLogprob &likely : list.subspan(1))
    if (likely.token >= 0)
      json["top_logprobs"].push_back(entry(likely));
  return json;
}

std::string random_id(std::string_view prefix, size_t length) {
  static constexpr std::string_view letters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::uniform_int_distribution<size_t> choose(0, letters.size() - 1);
  std::string id(prefix);
  while (length-- > 0)
    id += letters[choose(random)];
  return id;
}

int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

} // namespace baton
