//===- score_json.cpp - texts to score as lines of JSON -------------------===//

#include "runtime/batch/score_json.h"

#include "runtime/batch/json_keys.h"
#include "runtime/batch/token_json.h"
#include "runtime/error.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// What is before all continuations of a line.
class Context {
public:
  Context(const JsonKeys &keys, const BatchFormat &format) : format(format) {
    if (keys.has("prompt") == keys.has("tokens"))
      throw Error("give either prompt, a text, or tokens, a list of token ids");
    if (const Json *list = keys.find("tokens")) {
      tokens = parse_tokens("tokens", *list);
      return;
    }
    text = keys.text("prompt");
    const size_t end = text->find_last_not_of(" \t\n\v\f\r") + 1;
    blanks = text->substr(end);
    text->resize(end);
    tokens = encode_text("prompt", *text + blanks, format);
    tokens_of_text =
        blanks.empty() ? tokens : encode_text("prompt", *text, format);
    encoded_text = encode_text("prompt", *text, format, false);
  }

  /// Adds it behind the context's tokens, as what is scored.
  void append(BatchRequest &request, const std::string &key,
              const Json &continuation) const {
    const bool is_text = continuation.is_string();
    if (is_text && !text)
      throw Error(key + ": a text goes behind a prompt; behind tokens give a "
                        "list of token ids");
    request.prompt = is_text ? tokens_of_text : tokens;
    if (request.prompt.empty())
      throw Error("prompt: there is no token; give at least one");
    if (auto fault = find_tokens_fault("prompt", request.prompt, format.shape))
      throw Error(*fault);
    request.score_from = request.prompt.size();
    std::vector<int32_t> more =
        is_text ? encode(key, continuation) : parse_tokens(key, continuation);
    if (more.empty())
      throw Error(key + ": there is no token; give at least one");
    request.prompt.insert(request.prompt.end(), more.begin(), more.end());
  }

private:
  std::vector<int32_t> encode(const std::string &key,
                              const Json &continuation) const {
    const std::string behind = blanks + continuation.get<std::string>();
    std::vector<int32_t> whole =
        encode_text(key, *text + behind, format, false);
    const auto size = static_cast<ptrdiff_t>(encoded_text.size());
    if (std::ranges::equal(encoded_text,
                           std::span(whole).first(
                               std::min(whole.size(), encoded_text.size()))))
      return {whole.begin() + size, whole.end()};
    std::vector<int32_t> apart = encoded_text;
    for (int32_t token : encode_text(key, behind, format, false))
      apart.push_back(token);
    // Some tokenizers put a blank before every text.
    if (format.tokenizer->decode(apart) != format.tokenizer->decode(whole))
      throw Error(key + ": " + quote_name(continuation.get<std::string>()) +
                  " and the end of the prompt are one token; give lists of "
                  "token ids");
    return {apart.begin() + size, apart.end()};
  }

  const BatchFormat &format;
  /// All of them; of a prompt without the blanks at its end, and those without
  /// special ones.
  std::vector<int32_t> tokens, tokens_of_text, encoded_text;
  /// Without those blanks.
  std::optional<std::string> text;
  std::string blanks;
};

/// What a list says: texts, or tokens.
void expect_kinds(const std::string &name, const Json &list, bool choices) {
  const std::string expected =
      name + ": expected a list of " +
      (choices ? "token ids, or of texts of one token each"
               : "texts or of lists of token ids") +
      ", one at least";
  if (!list.is_array() || list.empty())
    throw Error(expected);
  for (const Json &each : list)
    if (!each.is_string() &&
        !(choices ? each.is_number_integer() : each.is_array()))
      throw Error(expected);
    else if (choices && each.is_string() != list.front().is_string())
      // Blanks at the end of a prompt are before the one and not the other.
      throw Error(name + ": expected all of them as texts, or as token ids");
}

Json score_of(const RequestOrigin &origin, const BatchResult &result,
              const BatchFormat &format) {
  // The own log-probability, then that of the most likely token.
  const size_t each = result.scores.size() / result.scored_tokens;
  double sum = 0;
  bool greedy = true;
  for (size_t i = 0; i < result.scores.size(); i += each) {
    sum += double(result.scores[i].logprob);
    greedy &= result.scores[i].token == result.scores[i + 1].token;
  }
  Json json = {
      {"logprob", sum}, {"tokens", result.scored_tokens}, {"greedy", greedy}};
  if (origin.logprobs)
    json["logprobs"] = logprobs_json(result.scores, result.scored_tokens,
                                     *origin.logprobs, origin.text, format);
  return json;
}

Json choices_of(const RequestOrigin &origin,
                std::span<const BatchResult> results,
                const BatchFormat &format) {
  double largest = -HUGE_VAL, sum = 0;
  for (const BatchResult &result : results)
    largest = std::max(largest, double(result.scores.front().logprob));
  auto weight = [&](const BatchResult &result) {
    return std::exp(double(result.scores.front().logprob) - largest);
  };
  for (const BatchResult &result : results)
    sum += weight(result);
  auto list = Json::array();
  for (const BatchResult &result : results) {
    Json json = logprobs_json(result.scores, 1, 0, origin.text, format).front();
    json["probability"] = weight(result) / sum;
    list.push_back(std::move(json));
  }
  return list;
}

} // namespace

std::vector<BatchRequest> parse_scores(const nlohmann::ordered_json &line,
                                       const BatchFormat &format,
                                       RequestOrigin &origin) {
  origin.id = request_id(line).value();
  const JsonKeys keys(line, {"id", "prompt", "tokens", "continuations",
                             "choices", "logprobs", "adapter"});
  origin.choices = keys.has("choices");
  if (origin.choices == keys.has("continuations"))
    throw Error("give either continuations, a list of texts or of lists of "
                "token ids, or choices, a list of single tokens");
  const std::string name = origin.choices ? "choices" : "continuations";
  if (keys.has("logprobs"))
    origin.logprobs = keys.small("logprobs", 0);
  if (origin.logprobs && origin.choices)
    throw Error("logprobs: is for continuations; choices have their own");
  if (origin.logprobs.value_or(0) > most_logprobs)
    throw Error("logprobs: expected 0 to " + std::to_string(most_logprobs));
  // Bytes stand for tokens where there is text.
  origin.text = format.tokenizer && !(format.bytes && keys.has("tokens"));
  const Json &list = *keys.find(name.c_str());
  expect_kinds(name, list, origin.choices);
  const Context context(keys, format);
  const auto adapter = find_adapter(keys, format);
  std::vector<BatchRequest> requests;
  for (const Json &each : list) {
    const std::string key = name + "[" + std::to_string(requests.size()) + "]";
    BatchRequest request;
    request.id = origin.id;
    request.max_new_tokens = 0;
    request.adapter = adapter;
    // The most likely one says whether another was it.
    request.score_likely = std::max(origin.logprobs.value_or(0), 1u);
    request.part = static_cast<uint32_t>(requests.size());
    const bool is_id = each.is_number_integer();
    context.append(request, key, is_id ? Json::array({each}) : each);
    const std::span<const int32_t> scored =
        std::span(request.prompt).subspan(*request.score_from);
    if (origin.choices && scored.size() != 1)
      throw Error(key + ": " + quote_name(each.get<std::string>()) + " is " +
                  std::to_string(scored.size()) +
                  " tokens behind the prompt, expected one; give them as "
                  "continuations");
    if (auto fault = find_tokens_fault(key, scored, format.shape))
      throw Error(*fault);
    if (auto fault = find_request_fault(request, format.shape,
                                        key + " behind the prompt"))
      throw Error(*fault);
    requests.push_back(std::move(request));
  }
  return requests;
}

std::string scores_line(const RequestOrigin &origin,
                        std::span<const BatchResult> results,
                        const BatchFormat &format, const std::string &place) {
  for (const BatchResult &result : results)
    if (const BatchChoice &choice = result.choices.front();
        choice.finish == BatchFinish::Error)
      return error_line(
          origin, place + (origin.choices ? "choices[" : "continuations[") +
                      std::to_string(result.request.part) +
                      "]: " + choice.error);
  Json json = {{"id", origin.id}};
  if (origin.choices) {
    json["scores"] = choices_of(origin, results, format);
  } else {
    json["scores"] = Json::array();
    for (const BatchResult &result : results)
      json["scores"].push_back(score_of(origin, result, format));
  }
  uint64_t tokens = 0, cached = 0;
  for (const BatchResult &result : results) {
    tokens += result.prompt_tokens;
    cached += result.cached_tokens;
  }
  json["prompt_tokens"] = tokens;
  json["cached_tokens"] = cached;
  return line_text(json);
}

} // namespace baton
