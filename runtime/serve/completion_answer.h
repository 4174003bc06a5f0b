//===- completion_answer.h - continuations of texts -----------------------===//
//
// Answers of OpenAI's /v1/completions: of one prompt or of several, each with a
// number of continuations.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_COMPLETION_ANSWER_H
#define BATON_RUNTIME_SERVE_COMPLETION_ANSWER_H

#include "runtime/serve/answer.h"
#include "runtime/serve/text_stream.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct CompletionRequest {
  /// One for each prompt.
  std::vector<BatchRequest> requests;
  /// The answer has the prompt before the text.
  bool echo = false;
  bool streams = false, include_usage = false;
  /// Log-probabilities, and of how many likely tokens beside each.
  std::optional<uint32_t> logprobs;
  std::vector<std::string> ignored_keys;
};

/// Throws Error that begins with the key at fault.
CompletionRequest read_completion_request(const nlohmann::ordered_json &body,
                                          const ServedModel &model);

std::shared_ptr<Answer>
make_completion_answer(std::shared_ptr<HttpExchange> exchange,
                       std::shared_ptr<const ServedModel> model,
                       CompletionRequest &&request);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_COMPLETION_ANSWER_H
