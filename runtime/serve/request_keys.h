//===- request_keys.h - what all requests for text say alike --------------===//

#ifndef BATON_RUNTIME_SERVE_REQUEST_KEYS_H
#define BATON_RUNTIME_SERVE_REQUEST_KEYS_H

#include "runtime/batch/batch_request.h"
#include "runtime/batch/json_keys.h"
#include "runtime/serve/served_model.h"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <vector>

namespace baton {

/// The keys that requests of every kind may have, with those of its own.
std::vector<std::string>
with_common_keys(std::initializer_list<const char *> own);

/// A body with what `model.defaults` says of keys that it has not, and with
/// llama.cpp's "n_predict" as "max_tokens" and top_k -1 as 0.
nlohmann::ordered_json complete_body(const nlohmann::ordered_json &body,
                                     const ServedModel &model);

/// Throws ApiError, by which clients know that a conversation has become too
/// long, where there is no position left for a new token, or for all of a text
/// that is embedded.
void expect_positions(const BatchRequest &request, const ServedModel &model,
                      const std::string &prompt_key);

/// Lower ones come first; 0 without.
int32_t read_priority(const JsonKeys &keys);

/// Reads those of sampling, "priority", "stop_token_ids", "ignore_eos" and
/// "max_tokens", of which there are `usual_tokens` without, and at least so
/// many. A seed that is not given is random.
void read_common_keys(const JsonKeys &keys, const ServedModel &model,
                      uint64_t usual_tokens, BatchRequest &request,
                      uint64_t least_tokens = 1);

/// Whether the answer is a stream, and whether that ends with its usage.
struct Streaming {
  bool streams = false, include_usage = false;
};
Streaming read_streaming(const JsonKeys &keys);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_REQUEST_KEYS_H
