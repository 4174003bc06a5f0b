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

  /// The tokens before a continuation, which is a text or token ids.
  const std::vector<int32_t> &tokens_before(const std::string &key,
                                            bool is_text) const {
    if (is_text && !text)
      throw Error(key + ": a text goes behind a prompt; behind tokens give a "
                        "list of token ids");
    const std::vector<int32_t> &before = is_text ? tokens_of_text : tokens;
    if (before.empty())
      throw Error("prompt: there is no token; give at least one");
    if (auto fault = find_tokens_fault("prompt", before, format.shape))
      throw Error(*fault);
    return before;
  }

  /// Those of a continuation that tokens_before() has allowed.
  std::vector<int32_t> tokens_of(const std::string &key,
                                 const Json &continuation) const {
    std::vector<int32_t> more = continuation.is_string()
                                    ? encode(key, continuation)
                                    : parse_tokens(key, continuation);
    if (more.empty())
      throw Error(key + ": there is no token; give at least one");
    if (auto fault = find_tokens_fault(key, more, format.shape))
      throw Error(*fault);
    return more;
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
  // Of those of equal numbers the one of the lowest id is the most likely.
  TokenLogprob best = {BATON_NOT_DRAWN, -HUGE_VALF};
  std::vector<TokenLogprob> all;
  for (const BatchResult &result : results)
    for (size_t i = 0; i < result.compared.size(); ++i) {
      const TokenLogprob each =
          all.emplace_back(result.request.choices[i], result.compared[i]);
      if (each.logprob > best.logprob ||
          (each.logprob == best.logprob && each.token < best.token))
        best = each;
    }
  auto weight = [&](const TokenLogprob &each) {
    return std::exp(double(each.logprob) - double(best.logprob));
  };
  double sum = 0;
  for (const TokenLogprob &each : all)
    sum += weight(each);
  const int32_t likeliest =
      origin.only_choices ? best.token : results.front().likeliest;
  auto list = Json::array();
  for (const TokenLogprob &each : all) {
    Json json = logprobs_json({&each, 1}, 1, 0, origin.text, format).front();
    if (origin.only_choices) {
      json.erase("logprob");
      json["logit"] = each.logprob;
    }
    json["probability"] = weight(each) / sum;
    json["greedy"] = each.token == likeliest;
    list.push_back(std::move(json));
  }
  return list;
}

BatchRequest request_of(const RequestOrigin &origin,
                        std::vector<BatchRequest> &requests,
                        const std::shared_ptr<ServedAdapter> &adapter) {
  BatchRequest request;
  request.id = origin.id;
  request.max_new_tokens = 0;
  request.adapter = adapter;
  request.part = static_cast<uint32_t>(requests.size());
  return request;
}

/// As few requests as take all of them.
void parse_choices(const Json &list, const Context &context,
                   const BatchFormat &format, const RequestOrigin &origin,
                   const std::shared_ptr<ServedAdapter> &adapter,
                   std::vector<BatchRequest> &requests) {
  const size_t most = std::min(most_choices, format.shape.max_changes);
  for (size_t number = 0; number < list.size(); ++number) {
    const Json &each = list[number];
    const std::string key = "choices[" + std::to_string(number) + "]";
    const std::vector<int32_t> &before =
        context.tokens_before(key, each.is_string());
    const std::vector<int32_t> tokens =
        context.tokens_of(key, each.is_string() ? each : Json::array({each}));
    if (tokens.size() != 1)
      throw Error(key + ": " + quote_name(each.get<std::string>()) + " is " +
                  std::to_string(tokens.size()) +
                  " tokens behind the prompt, expected one; give them as "
                  "continuations");
    if (number % most == 0) {
      BatchRequest request = request_of(origin, requests, adapter);
      request.prompt = before;
      request.only_choices = origin.only_choices;
      requests.push_back(std::move(request));
    }
    requests.back().choices.push_back(tokens.front());
  }
  for (const BatchRequest &request : requests)
    if (auto fault = find_request_fault(request, format.shape))
      throw Error(*fault);
}

void parse_continuations(const Json &list, const Context &context,
                         const BatchFormat &format, const RequestOrigin &origin,
                         const std::shared_ptr<ServedAdapter> &adapter,
                         std::vector<BatchRequest> &requests) {
  for (const Json &each : list) {
    BatchRequest request = request_of(origin, requests, adapter);
    const std::string key =
        "continuations[" + std::to_string(request.part) + "]";
    request.prompt = context.tokens_before(key, each.is_string());
    request.score_from = request.prompt.size();
    // The most likely one says whether another was it.
    request.score_likely = std::max(origin.logprobs.value_or(0), 1u);
    const std::vector<int32_t> more = context.tokens_of(key, each);
    request.prompt.insert(request.prompt.end(), more.begin(), more.end());
    if (auto fault = find_request_fault(request, format.shape,
                                        key + " behind the prompt"))
      throw Error(*fault);
    requests.push_back(std::move(request));
  }
}

} // namespace

std::vector<BatchRequest> parse_scores(const nlohmann::ordered_json &line,
                                       const BatchFormat &format,
                                       RequestOrigin &origin) {
  origin.id = request_id(line).value();
  const JsonKeys keys(line, {"id", "prompt", "tokens", "continuations",
                             "choices", "only", "logprobs", "adapter"});
  origin.choices = keys.has("choices");
  if (origin.choices == keys.has("continuations"))
    throw Error("give either continuations, a list of texts or of lists of "
                "token ids, or choices, a list of single tokens");
  const std::string name = origin.choices ? "choices" : "continuations";
  if (keys.has("only") && !origin.choices)
    throw Error("only: is for choices; continuations have the probability that "
                "they have among all");
  origin.only_choices = keys.flag("only", false);
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
  if (origin.choices)
    parse_choices(list, context, format, origin, adapter, requests);
  else
    parse_continuations(list, context, format, origin, adapter, requests);
  return requests;
}

std::string scores_line(const RequestOrigin &origin,
                        std::span<const BatchResult> results,
                        const BatchFormat &format, const std::string &place) {
  for (const BatchResult &result : results)
    if (const BatchChoice &choice = result.choices.front();
        choice.finish == BatchFinish::Error)
      return error_line(
          origin, place +
                      (origin.choices
                           ? "choices: "
                           : "continuations[" +
                                 std::to_string(result.request.part) + "]: ") +
                      choice.error);
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
