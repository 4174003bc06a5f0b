//===- token_json.cpp - tokens in requests and results --------------------===//

#include "runtime/batch/token_json.h"

#include "runtime/error.h"

#include <algorithm>

namespace baton {

std::vector<int32_t> parse_tokens(const std::string &key,
                                  const nlohmann::ordered_json &list) {
  std::vector<int32_t> tokens;
  if (list.is_array())
    for (const nlohmann::ordered_json &token : list) {
      if (!token.is_number_integer())
        break;
      // Those out of range are out of the vocabulary, too.
      tokens.push_back(static_cast<int32_t>(std::clamp<int64_t>(
          token.is_number_unsigned() && token.get<uint64_t>() > INT32_MAX
              ? INT32_MAX
              : token.get<int64_t>(),
          -1, INT32_MAX)));
    }
  if (!list.is_array() || tokens.size() != list.size())
    throw Error(key + ": expected a list of token ids");
  return tokens;
}

std::vector<int32_t> encode_text(const std::string &key,
                                 const nlohmann::ordered_json &text,
                                 const BatchFormat &format,
                                 bool special_tokens) {
  if (!text.is_string())
    throw Error(key + ": expected a text");
  if (!format.tokenizer)
    throw Error(key + ": " + format.no_tokenizer);
  const auto &bytes = text.get_ref<const std::string &>();
  if (!format.bytes)
    return format.tokenizer->encode(bytes, special_tokens);
  std::vector<int32_t> tokens;
  for (unsigned char byte : bytes)
    tokens.push_back(byte);
  return tokens;
}

std::string token_text(int32_t token, const BatchFormat &format) {
  return format.tokenizer ? std::string(format.tokenizer->token_bytes(token))
                          : std::to_string(token);
}

nlohmann::ordered_json logprobs_json(std::span<const TokenLogprob> list,
                                     size_t count, size_t shown, bool text,
                                     const BatchFormat &format) {
  auto entry = [&](const TokenLogprob &of) {
    nlohmann::ordered_json json = {{"token", of.token}};
    if (text)
      json["text"] = token_text(of.token, format);
    json["logprob"] = of.logprob;
    return json;
  };
  auto array = nlohmann::ordered_json::array();
  if (count == 0)
    return array;
  const size_t each = list.size() / count;
  for (size_t i = 0; i < list.size(); i += each) {
    nlohmann::ordered_json json = entry(list[i]);
    if (shown) {
      json["top"] = nlohmann::ordered_json::array();
      for (size_t j = 1; j < each && j <= shown && list[i + j].token >= 0; ++j)
        json["top"].push_back(entry(list[i + j]));
    }
    array.push_back(std::move(json));
  }
  return array;
}

std::shared_ptr<ServedAdapter> find_adapter(const JsonKeys &keys,
                                            const BatchFormat &format) {
  if (!keys.has("adapter"))
    return nullptr;
  const std::string name = keys.text("adapter");
  if (!format.adapters)
    throw Error("adapter: there is none; --adapter NAME=DIR names one");
  try {
    return format.adapters->get(name);
  } catch (const Error &failure) {
    throw Error("adapter: " + std::string(failure.what()));
  }
}

} // namespace baton
