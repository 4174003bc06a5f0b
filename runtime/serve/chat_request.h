//===- chat_request.h - requests for an answer in a conversation ----------===//
//
// Requests of all APIs that have conversations become one of
// /v1/chat/completions, and that a request of the engine.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_CHAT_REQUEST_H
#define BATON_RUNTIME_SERVE_CHAT_REQUEST_H

#include "runtime/serve/chat_answer.h"
#include "runtime/serve/served_model.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct ChatRequest {
  BatchRequest request;
  ChatOutput output;
  bool include_usage = false;
  /// Of requests with "verbose": what the messages have become.
  std::optional<std::string> shown_prompt = {};
  std::vector<std::string> ignored_keys;
};

/// Throws Error that begins with the key at fault.
ChatRequest read_chat_request(const nlohmann::ordered_json &body,
                              const ServedModel &model);

/// Writes answers of OpenAI's /v1/chat/completions.
std::unique_ptr<ChatWriter> make_openai_chat_writer(const ServedModel &model,
                                                    const ChatRequest &request);

/// The prompt alone, as /apply-template shows it.
std::string read_chat_prompt(const nlohmann::ordered_json &body,
                             const ServedModel &model);

/// What a request of the API says, as one of chat completions would.
nlohmann::ordered_json chat_of_messages(const nlohmann::ordered_json &body);
nlohmann::ordered_json chat_of_responses(const nlohmann::ordered_json &body);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_CHAT_REQUEST_H
