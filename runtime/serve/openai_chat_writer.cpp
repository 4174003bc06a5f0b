//===- openai_chat_writer.cpp - answers of /v1/chat/completions -----------===//

#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/chat_answer.h"
#include "runtime/serve/chat_request.h"

#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

class OpenAIChatWriter : public ChatWriter {
public:
  OpenAIChatWriter(const ServedModel &model, const ChatRequest &request)
      : id(random_id("chatcmpl-")), created(unix_time()), model(model.name),
        fingerprint(model.fingerprint), streams(request.output.streams),
        include_usage(request.include_usage),
        shown_prompt(request.shown_prompt) {}

  void begin(HttpExchange &exchange, const HttpHeaders &headers) override {
    exchange.begin_stream("text/event-stream", headers);
  }

  void prompt(HttpExchange &exchange, const Json &progress) override {
    write(exchange, 0, Json::object(), nullptr, nullptr, progress);
  }

  void delta(HttpExchange &exchange, uint32_t choice, const ChatDelta &delta,
             const Json &logprobs) override {
    Json change;
    switch (delta.kind) {
    case ChatDelta::Content:
      change = {{"content", delta.text}};
      break;
    case ChatDelta::Reasoning:
      change = {{"reasoning_content", delta.text}};
      break;
    case ChatDelta::CallBegin:
      change = {{"tool_calls",
                 Json::array({{{"index", delta.call},
                               {"id", delta.id},
                               {"type", "function"},
                               {"function",
                                {{"name", delta.text}, {"arguments", ""}}}}})}};
      break;
    case ChatDelta::CallArguments:
      change = {{"tool_calls",
                 Json::array({{{"index", delta.call},
                               {"function", {{"arguments", delta.text}}}}})}};
      break;
    case ChatDelta::CallEnd:
      return;
    }
    write(exchange, choice, std::move(change), logprobs, nullptr);
  }

  void finish(HttpExchange &exchange, uint32_t choice, const ChatChoice &whole,
              const Json &logprobs) override {
    write(exchange, choice, Json::object(), logprobs, whole.finish_reason());
  }

  void end(HttpExchange &exchange, const HttpHeaders &headers,
           const std::vector<ChatChoice> &choices,
           const Usage &usage) override {
    if (streams) {
      if (include_usage) {
        Json chunk = base("chat.completion.chunk");
        chunk["choices"] = Json::array();
        chunk["usage"] = usage.json();
        chunk["timings"] = usage.timings.json();
        exchange.write(event_text(chunk));
      }
      exchange.write("data: [DONE]\n\n");
      return exchange.end();
    }
    Json body = base("chat.completion");
    body["choices"] = Json::array();
    for (size_t i = 0; i < choices.size(); ++i)
      body["choices"].push_back(choice_json(i, choices[i]));
    body["usage"] = usage.json();
    body["timings"] = usage.timings.json();
    if (shown_prompt)
      body["__verbose"] = {{"prompt", *shown_prompt}};
    exchange.respond({.body = json_text(body), .headers = headers});
  }

  void fail(HttpExchange &exchange, const ApiError &error,
            bool begun) override {
    end_with_error(exchange, error, begun);
  }

private:
  Json base(const char *object) const {
    return {{"id", id},
            {"object", object},
            {"created", created},
            {"model", model},
            {"system_fingerprint", fingerprint}};
  }

  void write(HttpExchange &exchange, uint32_t choice, Json &&change,
             const Json &logprobs, Json &&finish_reason,
             const Json &progress = nullptr) {
    if (begun.size() <= choice)
      begun.resize(choice + 1);
    std::string text;
    if (!begun[choice]) {
      begun[choice] = true;
      text += event_text(chunk(choice, {{"role", "assistant"}, {"content", ""}},
                               nullptr, nullptr));
    }
    Json own =
        chunk(choice, std::move(change), logprobs, std::move(finish_reason));
    if (timings)
      own["timings"] = timings->json();
    if (!progress.is_null())
      own["prompt_progress"] = progress;
    exchange.write(text + event_text(own));
  }

  Json chunk(uint32_t choice, Json &&change, const Json &logprobs,
             Json &&finish_reason) const {
    Json json = base("chat.completion.chunk");
    Json entry = {{"index", choice}, {"delta", std::move(change)}};
    entry["logprobs"] = nullptr;
    if (!logprobs.empty())
      entry["logprobs"] = {{"content", logprobs}};
    entry["finish_reason"] = std::move(finish_reason);
    json["choices"] = Json::array({std::move(entry)});
    if (include_usage)
      json["usage"] = nullptr;
    return json;
  }

  static Json choice_json(size_t index, const ChatChoice &choice) {
    Json message = {{"role", "assistant"}, {"content", choice.content}};
    if (!choice.reasoning.empty())
      message["reasoning_content"] = choice.reasoning;
    if (!choice.calls.empty()) {
      if (choice.content.empty())
        message["content"] = nullptr;
      message["tool_calls"] = Json::array();
      for (const ChatChoice::Call &call : choice.calls)
        message["tool_calls"].push_back(
            {{"id", call.id},
             {"type", "function"},
             {"function",
              {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    Json json = {{"index", index}, {"message", std::move(message)}};
    json["logprobs"] = nullptr;
    if (!choice.logprobs.is_null())
      json["logprobs"] = {{"content", choice.logprobs}};
    json["finish_reason"] = choice.finish_reason();
    return json;
  }

  const std::string id;
  const int64_t created;
  const std::string model, fingerprint;
  const bool streams, include_usage;
  const std::optional<std::string> shown_prompt;
  /// Which choices have had a first chunk.
  std::vector<bool> begun;
};

} // namespace

std::unique_ptr<ChatWriter>
make_openai_chat_writer(const ServedModel &model, const ChatRequest &request) {
  return std::make_unique<OpenAIChatWriter>(model, request);
}

} // namespace baton
