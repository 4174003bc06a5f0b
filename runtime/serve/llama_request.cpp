//===- llama_request.cpp - what llama.cpp's server is asked ---------------===//

#include "runtime/batch/token_json.h"
#include "runtime/error.h"
#include "runtime/serve/llama_completion.h"
#include "runtime/serve/prompt_json.h"
#include "runtime/serve/request_keys.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// What keeps a token from being drawn.
constexpr float never = -1e9F;
/// llama.cpp's for a seed that is random.
constexpr uint64_t random_seed = 0xffffffff;

/// Those that change what llama.cpp's server draws, and nothing here: an answer
/// names them.
constexpr std::array unsupported_keys = {"adaptive_decay",
                                         "adaptive_target",
                                         "dry_base",
                                         "dry_allowed_length",
                                         "dry_multiplier",
                                         "dry_penalty_last_n",
                                         "dynatemp_range",
                                         "dry_sequence_breakers",
                                         "grammar_lazy",
                                         "dynatemp_exponent",
                                         "lora",
                                         "grammar_triggers",
                                         "mirostat",
                                         "mirostat_eta",
                                         "mirostat_tau",
                                         "preserved_tokens",
                                         "top_n_sigma",
                                         "t_max_prompt_ms",
                                         "xtc_probability",
                                         "xtc_threshold"};
/// Those that change no answer.
constexpr std::array without_effect = {
    "backend_sampling", "chat_format", "image_data",
    "min_keep",         "n_discard",   "n_indent",
    "reasoning_format", "speculative", "penalty_prompt"};

std::vector<std::vector<int32_t>> read_prompts(const JsonKeys &keys,
                                               const ServedModel &model) {
  const Json *prompt = keys.find("prompt");
  if (!prompt)
    throw Error("prompt: expected a text, a list of token ids and texts, or a "
                "list of these");
  return read_texts("prompt", *prompt, model.format);
}

/// What is added to the logits of one token, or to those of all tokens of a
/// text; of a token that is there twice, both.
void add_bias(const Json &of, const Json &value, const ServedModel &model,
              std::map<int32_t, float> &biases) {
  if (!value.is_number() && value != false)
    throw Error("logit_bias: expected a number, or false for never");
  const float bias = value == false ? never : value.get<float>();
  std::vector<int32_t> tokens;
  int32_t token = 0;
  if (of.is_string()) {
    const auto &text = of.get_ref<const std::string &>();
    auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), token);
    if (failure == std::errc() && end == text.data() + text.size())
      tokens = {token};
    else
      tokens = encode_text("logit_bias", of, model.format, false);
  } else {
    tokens = parse_tokens("logit_bias", Json::array({of}));
  }
  for (int32_t own : tokens)
    biases[own] += bias;
}

/// As in {"15": -1}, {"a text": -1}, [[15, -1], ["a text", false]] and
/// [{"token": 15, "bias": -1}].
std::map<int32_t, float> read_biases(const Json &value,
                                     const ServedModel &model) {
  std::map<int32_t, float> biases;
  if (value.is_object())
    for (const auto &[key, bias] : value.items())
      add_bias(key, bias, model, biases);
  else if (!value.is_array())
    throw Error("logit_bias: expected an object or a list");
  else
    for (const Json &pair : value) {
      if (pair.is_array() && pair.size() == 2)
        add_bias(pair[0], pair[1], model, biases);
      else if (pair.is_object() && pair.contains("token") &&
               pair.contains("bias"))
        add_bias(pair["token"], pair["bias"], model, biases);
      else
        throw Error("logit_bias: expected pairs of a token and its bias");
    }
  return biases;
}

/// The body in the words that all requests share.
Json shared_body(const Json &body, const ServedModel &model) {
  Json whole = complete_body(body, model);
  auto is_negative = [&](const char *key) {
    const auto found = whole.find(key);
    return found != whole.end() && found->is_number() && *found < 0;
  };
  if (is_negative("seed"))
    whole.erase("seed");
  for (const char *key : {"temperature", "top_k"})
    if (is_negative(key))
      whole[key] = 0U;
  if (const auto biases = whole.find("logit_bias");
      biases != whole.end() && !biases->is_null()) {
    Json plain = Json::object();
    for (const auto &[token, bias] : read_biases(*biases, model))
      plain[std::to_string(token)] = bias;
    *biases = std::move(plain);
  }
  return whole;
}

/// What a request says, as an answer says it again; and that what llama.cpp's
/// server has beside it is off.
Json settings_json(const BatchRequest &request, const JsonKeys &keys) {
  const SamplingOptions &sampling = request.sampling;
  const bool is_limited =
      request.max_new_tokens <= std::numeric_limits<uint32_t>::max();
  const Json most = is_limited ? Json(request.max_new_tokens) : Json(-1);
  Json biases = Json::array();
  for (const SamplingOptions::Bias &bias : sampling.logit_bias) {
    Json value = nullptr;
    if (bias.bias > never)
      value = bias.bias;
    biases.push_back({{"token", bias.token}, {"bias", std::move(value)}});
  }
  return {{"seed", keys.has("seed") ? sampling.seed : random_seed},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"stop", request.stop_strings},
          {"n_predict", most},
          {"max_tokens", most},
          {"ignore_eos", keys.flag("ignore_eos", false)},
          {"stream", keys.flag("stream", false)},
          {"n_probs", keys.small("n_probs", 0)},
          {"logit_bias", std::move(biases)},
          {"grammar", keys.has("grammar") ? *keys.find("grammar") : Json("")},
          {"typical_p", 1.0},
          {"top_n_sigma", -1.0},
          {"xtc_probability", 0.0},
          {"dynatemp_range", 0.0},
          {"dry_multiplier", 0.0},
          {"mirostat", 0},
          {"adaptive_target", -1.0},
          {"adaptive_decay", 0.0}};
}

/// Log-probabilities are behind bias and constraint and before temperature.
void expect_plain_draws(const SamplingOptions &sampling) {
  if (sampling.temperature != 1 || sampling.top_k != 0 || sampling.top_p != 1 ||
      sampling.min_p != 0)
    throw Error("post_sampling_probs: only of temperature 1 without top_k, "
                "top_p and min_p are these known");
}

std::vector<std::string> read_fields(const JsonKeys &keys) {
  std::vector<std::string> fields;
  const Json *list = keys.find("response_fields");
  if (!list)
    return fields;
  if (!list->is_array())
    throw Error("response_fields: expected a list of texts");
  for (const Json &field : *list) {
    if (!field.is_string())
      throw Error("response_fields: expected a list of texts");
    fields.push_back(field.get<std::string>());
  }
  return fields;
}

std::vector<std::string> llama_keys() {
  std::vector<std::string> names = with_common_keys(
      {"prompt", "n_probs", "post_sampling_probs", "return_tokens",
       "response_fields", "return_progress", "t_max_predict_ms"});
  names.insert(names.end(), unsupported_keys.begin(), unsupported_keys.end());
  names.insert(names.end(), without_effect.begin(), without_effect.end());
  return names;
}

} // namespace

LlamaRequest read_llama_request(const Json &body, const ServedModel &model) {
  LlamaRequest result;
  const Json whole = shared_body(body, model);
  const JsonKeys keys(whole, llama_keys(), result.ignored_keys);
  for (const char *key : unsupported_keys)
    if (keys.has(key))
      result.ignored_keys.emplace_back(key);
  result.streams = read_streaming(keys).streams;
  result.returns_tokens = keys.flag("return_tokens", false);
  result.shows_progress = keys.flag("return_progress", false);
  result.shows_timings = keys.flag("timings_per_token", false);
  result.most_milliseconds = keys.number("t_max_predict_ms", 0);
  result.fields = read_fields(keys);

  BatchRequest request;
  read_common_keys(keys, model, std::numeric_limits<uint64_t>::max(), request);
  if (const uint32_t likely = keys.small("n_probs", 0)) {
    request.logprobs = likely;
    result.returns_probabilities = keys.flag("post_sampling_probs", false);
    if (result.returns_probabilities)
      expect_plain_draws(request.sampling);
  }
  // Here these tokens are not drawn, rather than that nothing ends with them.
  if (keys.flag("ignore_eos", false))
    for (int32_t token : model.format.stop_tokens) {
      auto &biases = request.sampling.logit_bias;
      std::erase_if(biases,
                    [&](const auto &other) { return other.token == token; });
      biases.push_back({token, never});
    }
  if (auto grammar = find_output_grammar(keys))
    request.constraint = model.constraints->find(grammar->key, grammar->make);
  for (std::vector<int32_t> &tokens : read_prompts(keys, model)) {
    result.requests.push_back(request);
    result.requests.back().prompt = std::move(tokens);
  }
  result.settings = settings_json(request, keys);
  return result;
}

Json llama_default_settings(const ServedModel &model) {
  const Json whole = shared_body(Json::object(), model);
  std::vector<std::string> ignored;
  const JsonKeys keys(whole, llama_keys(), ignored);
  BatchRequest request;
  read_common_keys(keys, model, std::numeric_limits<uint64_t>::max(), request);
  return settings_json(request, keys);
}

} // namespace baton
