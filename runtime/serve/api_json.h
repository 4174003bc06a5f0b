//===- api_json.h - JSON between clients and the server -------------------===//

#ifndef BATON_RUNTIME_SERVE_API_JSON_H
#define BATON_RUNTIME_SERVE_API_JSON_H

#include "runtime/batch/batch_format.h"
#include "runtime/batch/batch_request.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace baton {

/// Reads an object. Throws ApiError for what is none, is no UTF-8 or is nested
/// too deeply to be worked on.
nlohmann::ordered_json parse_body(std::string_view text);

/// As text; what is no UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json &json);

/// A server-sent event.
std::string event_text(const nlohmann::ordered_json &json);
std::string event_text(std::string_view name,
                       const nlohmann::ordered_json &json);

/// A token with its log-probability, then likely ones, as chat completions
/// have it: {"token": ..., "logprob": ..., "bytes": ..., "top_logprobs":
/// [...]}.
nlohmann::ordered_json chat_logprob_json(std::span<const TokenLogprob> list,
                                         const BatchFormat &format);

/// "chatcmpl-" and such, with random letters and digits.
std::string random_id(std::string_view prefix, size_t length = 24);

/// Seconds since 1970.
int64_t unix_time();

} // namespace baton

#endif // BATON_RUNTIME_SERVE_API_JSON_H
