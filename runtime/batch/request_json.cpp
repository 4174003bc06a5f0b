//===- request_json.cpp - requests and results as lines of JSON ----------===//

#include "runtime/batch/request_json.h"

#include "runtime/batch/json_keys.h"
#include "runtime/batch/sampling_json.h"
#include "runtime/batch/token_json.h"
#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// Of both kinds of requests.
const std::vector<std::string> common_keys = {"prompt", "logprobs"};

std::vector<std::string> with_keys(std::vector<std::string> more) {
  for (const auto *keys : {&sampling_keys(), &common_keys})
    more.insert(more.end(), keys->begin(), keys->end());
  return more;
}

void parse_common(const JsonKeys &keys, const BatchFormat &format,
                  double usual_temperature, BatchRequest &request) {
  const bool draws =
      keys.has("top_k") || keys.has("top_p") || keys.has("min_p");
  parse_sampling(keys, format, {.temperature = draws ? 1 : usual_temperature},
                 request);
  if (keys.has("logprobs"))
    request.logprobs = keys.small("logprobs", 0);
}

BatchRequest parse_own(const Json &line, const BatchFormat &format,
                       RequestOrigin &origin) {
  JsonKeys keys(line, with_keys({"id", "tokens", "max_new_tokens",
                                 "prompt_logprobs", "score_from", "adapter"}));
  if (keys.has("prompt") == keys.has("tokens"))
    throw Error("give either prompt, a text, or tokens, a list of token ids");
  BatchRequest request;
  const Json *tokens = keys.find("tokens");
  request.prompt = tokens ? parse_tokens("tokens", *tokens)
                          : encode_text("prompt", *keys.find("prompt"), format);
  // Bytes stand for tokens where there is text.
  origin.text = format.tokenizer && !(format.bytes && tokens);
  request.max_new_tokens = keys.whole("max_new_tokens", format.max_new_tokens);
  if (keys.has("prompt_logprobs")) {
    request.score_from = keys.whole("score_from", 1);
    request.score_likely = keys.small("prompt_logprobs", 0);
  } else if (keys.has("score_from")) {
    throw Error("score_from: is for prompt_logprobs; give both");
  }
  request.adapter = find_adapter(keys, format);
  parse_common(keys, format, 0, request);
  return request;
}

BatchRequest parse_openai(const Json &line, const BatchFormat &format,
                          RequestOrigin &origin) {
  JsonKeys outer(line, {"custom_id", "method", "url", "body"});
  if (outer.text("method") != "POST")
    throw Error("method: expected \"POST\"");
  const std::string url = outer.text("url");
  const Json *body = outer.find("body");
  if (!body || !body->is_object())
    throw Error("body: expected an object");
  BatchRequest request;
  if (url != "/v1/completions") {
    if (format.api)
      origin.api = format.api->read(url, *body, format.max_new_tokens, request);
    if (!origin.api)
      throw Error("url: expected \"/v1/completions\", "
                  "\"/v1/chat/completions\" or \"/v1/embeddings\"");
    return request;
  }
  JsonKeys keys(*body,
                with_keys({"model", "max_tokens", "user", "stream",
                           "stream_options", "echo", "best_of", "suffix"}));
  origin.model = keys.text("model");
  // Other names are the model's, as there is but one.
  if (format.adapters)
    request.adapter = format.adapters->find(origin.model);
  keys.text("user");
  keys.expect("stream", false);
  keys.expect("stream_options", nullptr);
  keys.expect("echo", false);
  keys.expect("suffix", "");
  const Json *prompt = keys.find("prompt");
  if (!prompt)
    throw Error("prompt: expected a text or a list of token ids");
  const bool tokens = prompt->is_array();
  if (tokens && !prompt->empty() && !prompt->front().is_number())
    throw Error("prompt: expected one text, or one list of token ids; give "
                "each a line of its own");
  request.prompt = tokens ? parse_tokens("prompt", *prompt)
                          : encode_text("prompt", *prompt, format);
  origin.text = format.tokenizer.has_value();
  request.max_new_tokens = keys.whole("max_tokens", format.max_new_tokens);
  parse_common(keys, format, 1, request);
  if (keys.whole("best_of", request.n) != request.n)
    throw Error("best_of: only n is supported");
  return request;
}

/// The text before what ends it.
std::string text_of(const BatchChoice &choice, const BatchRequest &request,
                    const BatchFormat &format) {
  std::string text = format.tokenizer->decode(
      choice.tokens, /*skip_special_tokens=*/true, /*at_start=*/false);
  size_t end = text.size();
  for (const std::string &stop : request.stop_strings)
    end = std::min(end, text.find(stop));
  return text.substr(0, end);
}

Json openai_logprobs(const BatchChoice &choice, const BatchFormat &format) {
  Json json = {{"tokens", Json::array()},
               {"token_logprobs", Json::array()},
               {"top_logprobs", Json::array()},
               {"text_offset", Json::array()}};
  const size_t each = choice.logprobs.size() / choice.tokens.size();
  size_t offset = 0;
  for (size_t i = 0; i < choice.logprobs.size(); i += each) {
    const TokenLogprob &own = choice.logprobs[i];
    const std::string text = token_text(own.token, format);
    json["tokens"].push_back(text);
    json["token_logprobs"].push_back(own.logprob);
    auto top = Json::object();
    for (size_t j = 1; j < each && choice.logprobs[i + j].token >= 0; ++j)
      top[token_text(choice.logprobs[i + j].token, format)] =
          choice.logprobs[i + j].logprob;
    json["top_logprobs"].push_back(std::move(top));
    json["text_offset"].push_back(offset);
    offset += text.size();
  }
  return json;
}

Json own_choice(const RequestOrigin &origin, const BatchChoice &choice,
                const BatchRequest &request, const BatchFormat &format,
                const std::string &place) {
  Json json = {{"tokens", choice.tokens}, {"text", nullptr}};
  if (origin.text)
    json["text"] = text_of(choice, request, format);
  json["finish_reason"] = batch_finish_name(choice.finish);
  if (request.logprobs)
    json["logprobs"] = logprobs_json(choice.logprobs, choice.tokens.size(),
                                     *request.logprobs, origin.text, format);
  if (choice.finish == BatchFinish::Error)
    json["error"] = {{"message", place + choice.error}};
  return json;
}

Json own_result(const RequestOrigin &origin, const BatchResult &result,
                const BatchFormat &format, const std::string &place) {
  Json json = {{"id", origin.id}};
  auto add_counts = [&] {
    json["prompt_tokens"] = result.prompt_tokens;
    json["cached_tokens"] = result.cached_tokens;
    if (auto from = result.request.score_from)
      json["prompt_logprobs"] =
          logprobs_json(result.scores, result.scored_tokens,
                        result.request.score_likely, origin.text, format);
  };
  if (result.choices.size() > 1) {
    add_counts();
    json["choices"] = Json::array();
    for (const BatchChoice &choice : result.choices)
      json["choices"].push_back(
          own_choice(origin, choice, result.request, format, place));
    return json;
  }
  json.update(own_choice(origin, result.choices.front(), result.request, format,
                         place));
  add_counts();
  return json;
}

Json openai_answer(const RequestOrigin &origin, Json &&body) {
  return {{"id", "batch-" + origin.id},
          {"custom_id", origin.id},
          {"response",
           {{"status_code", 200},
            {"request_id", origin.id},
            {"body", std::move(body)}}},
          {"error", nullptr}};
}

Json openai_result(const RequestOrigin &origin, const BatchResult &result,
                   const BatchFormat &format) {
  if (origin.api)
    return openai_answer(origin, origin.api->body(origin.id, result));
  auto choices = Json::array();
  uint64_t generated = 0;
  for (size_t i = 0; i < result.choices.size(); ++i) {
    const BatchChoice &choice = result.choices[i];
    generated += choice.tokens.size();
    Json json = {{"index", i}, {"text", ""}, {"logprobs", nullptr}};
    if (origin.text)
      json["text"] = text_of(choice, result.request, format);
    if (!choice.logprobs.empty())
      json["logprobs"] = openai_logprobs(choice, format);
    json["finish_reason"] = batch_finish_name(choice.finish);
    choices.push_back(std::move(json));
  }
  const Json usage = {
      {"prompt_tokens", result.prompt_tokens},
      {"completion_tokens", generated},
      {"total_tokens", result.prompt_tokens + generated},
      {"prompt_tokens_details", {{"cached_tokens", result.cached_tokens}}}};
  // Without the time, the same requests have the same results.
  Json body = {{"id", "cmpl-" + origin.id},
               {"object", "text_completion"},
               {"created", 0},
               {"model", origin.model},
               {"choices", std::move(choices)},
               {"usage", usage}};
  return openai_answer(origin, std::move(body));
}

Json openai_error(const RequestOrigin &origin, const char *code,
                  const std::string &message) {
  return {{"id", "batch-" + origin.id},
          {"custom_id", origin.id},
          {"response", nullptr},
          {"error", {{"code", code}, {"message", message}}}};
}

} // namespace

std::optional<std::string> request_id(const nlohmann::ordered_json &line) {
  for (const char *key : {"id", "custom_id"})
    if (auto found = line.find(key); found != line.end()) {
      if (found->is_string())
        return found->get<std::string>();
      if (found->is_number_integer())
        return found->dump();
    }
  return std::nullopt;
}

std::string line_text(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

BatchRequest parse_request(const nlohmann::ordered_json &line,
                           const BatchFormat &format, RequestOrigin &origin) {
  origin.id = request_id(line).value();
  origin.openai = line.contains("custom_id");
  BatchRequest request = origin.openai ? parse_openai(line, format, origin)
                                       : parse_own(line, format, origin);
  request.id = origin.id;
  if (auto fault = find_request_fault(request, format.shape))
    throw Error(*fault);
  return request;
}

std::string result_line(const RequestOrigin &origin, const BatchResult &result,
                        const BatchFormat &format, const std::string &place) {
  if (!origin.openai)
    return line_text(own_result(origin, result, format, place));
  for (const BatchChoice &choice : result.choices)
    if (choice.finish == BatchFinish::Error)
      return line_text(
          openai_error(origin, "server_error", place + choice.error));
  return line_text(openai_result(origin, result, format));
}

std::string error_line(const RequestOrigin &origin,
                       const std::string &message) {
  if (origin.openai)
    return line_text(openai_error(origin, "invalid_request", message));
  return line_text({{"id", origin.id}, {"error", {{"message", message}}}});
}

std::string error_line(uint64_t line, const std::string &message) {
  return line_text({{"id", std::to_string(line)},
                    {"line", line},
                    {"error", {{"message", message}}}});
}

} // namespace baton
