//===- dialects.h - APIs beside OpenAI's chat completions -----------------===//
//
// Anthropic's /v1/messages and OpenAI's /v1/responses. Their requests become
// chat completions (chat_request.h), and their answers are written here.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_DIALECTS_H
#define BATON_RUNTIME_SERVE_DIALECTS_H

#include "runtime/serve/api_error.h"
#include "runtime/serve/chat_answer.h"
#include "runtime/serve/served_model.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>

namespace baton {

/// That of /v1/messages. `model` has to outlive it; `prompt_tokens` is what the
/// beginning of a stream says of its usage.
///
/// The input of a call whose arguments are not a whole JSON object, as where
/// the answer reached max_tokens within them, is {}: a tool refuses that, but
/// might carry out half of what was asked. A stream has had the text by then.
std::unique_ptr<ChatWriter>
make_messages_writer(const ServedModel &model, bool streams,
                     uint64_t prompt_tokens,
                     const nlohmann::ordered_json &body);

/// {"type": "error", "error": {"type": ..., "message": ...}}
nlohmann::ordered_json messages_error_json(const ApiError &error);

/// That of /v1/responses, which say again what their request, `body`, said.
/// `model` has to outlive it. Reasoning tokens of its usage are those of the
/// reasoning's text. Log-probabilities of a whole response are those of all of
/// its tokens; of a stream, those behind each delta of the text.
std::unique_ptr<ChatWriter>
make_responses_writer(const ServedModel &model, bool streams,
                      uint64_t prompt_tokens,
                      const nlohmann::ordered_json &body);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_DIALECTS_H
