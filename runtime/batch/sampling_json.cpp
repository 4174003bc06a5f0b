//===- sampling_json.cpp - how tokens are drawn, as requests say it ------===//

#include "runtime/batch/sampling_json.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <charconv>
#include <cstdint>

namespace baton {

using Json = nlohmann::ordered_json;

static std::vector<std::string> parse_stop(const Json &value) {
  const Json list = value.is_array() ? value : Json::array({value});
  std::vector<std::string> texts;
  for (const Json &text : list) {
    if (!text.is_string())
      throw Error("stop: expected a text or a list of texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

static std::vector<SamplingOptions::Bias> parse_bias(const Json &value) {
  std::vector<SamplingOptions::Bias> result;
  if (!value.is_object())
    throw Error("logit_bias: expected an object as in {\"123\": -1.5}");
  for (const auto &[key, bias] : value.items()) {
    int32_t token = 0;
    auto [end, failure] =
        std::from_chars(key.data(), key.data() + key.size(), token);
    if (failure != std::errc() || end != key.data() + key.size())
      throw Error("logit_bias: " + quote_name(key) + " is not a token id");
    if (!bias.is_number())
      throw Error("logit_bias: expected a number for token " + key);
    // "1" and "01" are one token.
    for (const SamplingOptions::Bias &other : result)
      if (other.token == token)
        throw Error("logit_bias: token " + std::to_string(token) +
                    " is there twice");
    result.push_back({token, bias.get<float>()});
  }
  return result;
}

const std::vector<std::string> &sampling_keys() {
  static const std::vector<std::string> keys = {"temperature",
                                                "top_k",
                                                "top_p",
                                                "min_p",
                                                "seed",
                                                "n",
                                                "stop",
                                                "repetition_penalty",
                                                "presence_penalty",
                                                "frequency_penalty",
                                                "logit_bias"};
  return keys;
}

void parse_sampling(const JsonKeys &keys, const BatchFormat &format,
                    const SamplingOptions &usual, BatchRequest &request) {
  SamplingOptions &sampling = request.sampling;
  sampling.temperature = keys.number("temperature", usual.temperature);
  sampling.top_k = keys.whole("top_k", usual.top_k);
  sampling.top_p = keys.number("top_p", usual.top_p);
  sampling.min_p = keys.number("min_p", usual.min_p);
  sampling.seed = usual.seed;
  if (const Json *seed = keys.find("seed")) {
    if (!seed->is_number_integer())
      throw Error("seed: expected a whole number");
    sampling.seed = seed->get<uint64_t>();
  }
  sampling.repetition_penalty =
      keys.number("repetition_penalty", usual.repetition_penalty);
  sampling.presence_penalty =
      keys.number("presence_penalty", usual.presence_penalty);
  sampling.frequency_penalty =
      keys.number("frequency_penalty", usual.frequency_penalty);
  if (const Json *bias = keys.find("logit_bias"))
    sampling.logit_bias = parse_bias(*bias);
  request.n = keys.small("n", 1);
  request.stop_tokens = format.stop_tokens;
  if (const Json *stop = keys.find("stop"))
    request.stop_strings = parse_stop(*stop);
  if (!request.stop_strings.empty() && !format.tokenizer)
    throw Error("stop: " + format.no_tokenizer);
}

} // namespace baton
