//===- request_keys.cpp - what all requests for text say alike ------------===//

#include "runtime/serve/request_keys.h"

#include "runtime/batch/sampling_json.h"
#include "runtime/batch/token_json.h"
#include "runtime/error.h"
#include "runtime/serve/api_error.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

namespace baton {

using Json = nlohmann::ordered_json;

/// What has no effect here, and changes no answer: they are no mistakes.
static constexpr std::array harmless_keys = {
    "user",         "metadata",          "store",      "service_tier",
    "cache_prompt", "safety_identifier", "verbosity",  "prompt_cache_key",
    "id_slot",      "modalities",        "prediction", "timings_per_token",
    "typical_p",    "repeat_last_n",     "n_keep",     "samplers",
    "model"};

std::vector<std::string>
with_common_keys(std::initializer_list<const char *> own) {
  std::vector<std::string> keys(own.begin(), own.end());
  for (const auto *more : {&sampling_keys(), &constraint_keys()})
    keys.insert(keys.end(), more->begin(), more->end());
  keys.insert(keys.end(), harmless_keys.begin(), harmless_keys.end());
  for (const char *key : {"stream", "stream_options", "max_tokens", "priority",
                          "stop_token_ids", "ignore_eos", "repeat_penalty"})
    keys.emplace_back(key);
  return keys;
}

Json complete_body(const Json &body, const ServedModel &model) {
  Json whole = body;
  auto has = [&](const char *key) {
    const auto found = whole.find(key);
    return found != whole.end() && !found->is_null();
  };
  if (has("n_predict") && !has("max_tokens"))
    whole["max_tokens"] = Json(whole["n_predict"]);
  whole.erase("n_predict");
  for (const auto &[key, value] : model.defaults.items())
    if (!has(key.c_str()) &&
        !(key == "max_tokens" && has("max_completion_tokens")))
      whole[key] = value;
  // Variables of the template come from both.
  if (const auto usual = model.defaults.find("chat_template_kwargs");
      usual != model.defaults.end() && usual->is_object() &&
      whole["chat_template_kwargs"].is_object())
    for (const auto &[name, value] : usual->items())
      if (!whole["chat_template_kwargs"].contains(name))
        whole["chat_template_kwargs"][name] = value;
  if (has("top_k") && whole["top_k"] == -1)
    whole["top_k"] = 0U;
  return whole;
}

void expect_positions(const BatchRequest &request, const ServedModel &model,
                      const std::string &prompt_key) {
  const uint64_t size = request.prompt.size();
  const uint32_t positions = model.format.shape.max_positions;
  const uint64_t more = request.is_embedded() ? 0 : 1;
  if (request.is_only_scored() || size + more <= positions)
    return;
  ApiError error = invalid_request(
      prompt_key + ": its " + std::to_string(size) + " tokens " +
      (more ? "and a new one " : "") + "exceed the " +
      std::to_string(positions) +
      " positions of a text; the request exceeds the available context size, "
      "which --max-seq sets when the program is compiled");
  error.type = "exceed_context_size_error";
  error.more = {{"code", "context_length_exceeded"},
                {"n_prompt_tokens", size},
                {"n_ctx", positions}};
  throw error;
}

/// -1 is for all that fit.
static uint64_t read_count(const JsonKeys &keys, const char *key,
                           uint64_t usual, uint64_t least) {
  const Json *value = keys.find(key);
  if (value && value->is_number_integer() && *value == -1)
    return std::numeric_limits<uint64_t>::max();
  const uint64_t count = keys.whole(key, usual);
  if (count < least)
    throw Error(std::string(key) + ": expected at least " +
                std::to_string(least));
  return count;
}

int32_t read_priority(const JsonKeys &keys) {
  const Json *priority = keys.find("priority");
  if (!priority)
    return 0;
  if (!priority->is_number_integer())
    throw Error("priority: expected a whole number; lower ones come first");
  return static_cast<int32_t>(std::clamp<int64_t>(
      priority->get<int64_t>(), std::numeric_limits<int32_t>::min(),
      std::numeric_limits<int32_t>::max()));
}

void read_common_keys(const JsonKeys &keys, const ServedModel &model,
                      uint64_t usual_tokens, BatchRequest &request,
                      uint64_t least_tokens) {
  SamplingOptions usual = model.sampling;
  if (!keys.has("seed"))
    usual.seed = std::random_device{}();
  parse_sampling(keys, model.format, usual, request);
  // llama.cpp's name.
  if (keys.has("repeat_penalty") && !keys.has("repetition_penalty"))
    request.sampling.repetition_penalty = keys.number("repeat_penalty", 1);
  request.max_new_tokens =
      read_count(keys, "max_tokens", usual_tokens, least_tokens);
  request.priority = read_priority(keys);
  request.adapter = model.adapter;
  if (keys.flag("ignore_eos", false))
    request.stop_tokens.clear();
  if (const Json *tokens = keys.find("stop_token_ids"))
    for (int32_t token : parse_tokens("stop_token_ids", *tokens))
      request.stop_tokens.push_back(token);
}

Streaming read_streaming(const JsonKeys &keys) {
  Streaming result;
  result.streams = keys.flag("stream", false);
  if (const Json *options = keys.find("stream_options")) {
    if (!options->is_object())
      throw Error("stream_options: expected an object");
    const auto found = options->find("include_usage");
    result.include_usage = result.streams && found != options->end() &&
                           found->is_boolean() && found->get<bool>();
  }
  return result;
}

} // namespace baton
