//===- llama_completion.h - continuations as llama.cpp's server has them --===//
//
// POST /completion. Its keys are those of llama.cpp's tools/server/README.md;
// an answer is an object with "content", "stop_type", "timings" and such, or a
// list of them, and a stream is one of such objects.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_LLAMA_COMPLETION_H
#define BATON_RUNTIME_SERVE_LLAMA_COMPLETION_H

#include "runtime/serve/answer.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace baton {

struct LlamaRequest {
  /// One for each prompt.
  std::vector<BatchRequest> requests;
  bool streams = false;
  /// Tokens in an answer that is no stream.
  bool returns_tokens = false;
  /// Log-probabilities as probabilities of what was drawn from.
  bool returns_probabilities = false;
  /// Of streams: how far a prompt is, and times in each part.
  bool shows_progress = false, shows_timings = false;
  /// From so many milliseconds behind the first token on a text ends behind a
  /// line break; 0: never.
  double most_milliseconds = 0;
  /// Of those only the answer consists, "a/b" is b in a; none: of all.
  std::vector<std::string> fields;
  /// What was asked for, with what was not said.
  nlohmann::ordered_json settings;
  std::vector<std::string> ignored_keys;
};

/// Throws Error that begins with the key at fault.
LlamaRequest read_llama_request(const nlohmann::ordered_json &body,
                                const ServedModel &model);

/// Those of a request that says nothing.
nlohmann::ordered_json llama_default_settings(const ServedModel &model);

std::shared_ptr<Answer>
make_llama_answer(std::shared_ptr<HttpExchange> exchange,
                  std::shared_ptr<const ServedModel> model,
                  LlamaRequest &&request);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_LLAMA_COMPLETION_H
