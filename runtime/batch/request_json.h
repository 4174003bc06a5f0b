//===- request_json.h - requests and results as lines of JSON ------------===//
//
// A request is either Baton's own,
//
//   {"id": "a", "prompt": "Once upon", "max_new_tokens": 32}
//
// or a line of OpenAI's batches for /v1/completions, /v1/chat/completions or
// /v1/embeddings,
//
//   {"custom_id": "a", "method": "POST", "url": "/v1/completions",
//    "body": {"model": "m", "prompt": "Once upon", "max_tokens": 32}}
//
// and its result looks accordingly. A key that is not known is an error: one
// that is misspelt would change an answer silently. Texts to score have lines
// of their own (runtime/batch/score_json.h).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_REQUEST_JSON_H
#define BATON_RUNTIME_BATCH_REQUEST_JSON_H

#include "runtime/batch/batch_format.h"
#include "runtime/batch/batch_request.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>

namespace baton {

/// Where a request comes from, which its result shows.
struct RequestOrigin {
  std::string id;
  bool openai = false;
  /// Whether results have text.
  bool text = false;
  std::string model = {};
  /// Of a conversation or an embedding.
  std::shared_ptr<ApiLine> api = {};
  /// Of one that is scored: whether single tokens are compared; else of how
  /// many likely tokens beside each one there are log-probabilities, if of any.
  bool choices = false;
  /// And nothing is said of other tokens.
  bool only_choices = false;
  std::optional<uint32_t> logprobs = {};
};

/// The id of a request, or nothing.
std::optional<std::string> request_id(const nlohmann::ordered_json &line);

/// Reads a line that has an id. Throws Error that names the key.
BatchRequest parse_request(const nlohmann::ordered_json &line,
                           const BatchFormat &format, RequestOrigin &origin);

/// As text. Bytes of tokens need not be text.
std::string line_text(const nlohmann::ordered_json &json);

/// One line, without its end. `place` stands before errors, "IN.jsonl:7: ".
std::string result_line(const RequestOrigin &origin, const BatchResult &result,
                        const BatchFormat &format, const std::string &place);
/// Of a request that could not be taken.
std::string error_line(const RequestOrigin &origin, const std::string &message);
/// Of a line without an id of its own.
std::string error_line(uint64_t line, const std::string &message);

} // namespace baton

#endif // BATON_RUNTIME_BATCH_REQUEST_JSON_H
