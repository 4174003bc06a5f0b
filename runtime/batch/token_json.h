//===- token_json.h - tokens in requests and results ----------------------===//

#ifndef BATON_RUNTIME_BATCH_TOKEN_JSON_H
#define BATON_RUNTIME_BATCH_TOKEN_JSON_H

#include "runtime/batch/batch_format.h"
#include "runtime/batch/batch_request.h"
#include "runtime/batch/json_keys.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// A list of token ids. Throws Error that begins with the key.
std::vector<int32_t> parse_tokens(const std::string &key,
                                  const nlohmann::ordered_json &list);
/// The tokens of a text, with those that the tokenizer puts around one if they
/// are wanted. Throws Error that begins with the key.
std::vector<int32_t> encode_text(const std::string &key,
                                 const nlohmann::ordered_json &text,
                                 const BatchFormat &format,
                                 bool special_tokens = true);

std::string token_text(int32_t token, const BatchFormat &format);

/// An object for each of `count` tokens, of which `list` has the own
/// log-probability, then those of likely ones; the first `shown` of these are
/// its "top".
nlohmann::ordered_json logprobs_json(std::span<const TokenLogprob> list,
                                     size_t count, size_t shown, bool text,
                                     const BatchFormat &format);

/// The adapter that "adapter" names, or none. Throws Error for one that there
/// is not.
std::shared_ptr<ServedAdapter> find_adapter(const JsonKeys &keys,
                                            const BatchFormat &format);

} // namespace baton

#endif // BATON_RUNTIME_BATCH_TOKEN_JSON_H
