//===- messages_writer.cpp - answers of /v1/messages ----------------------===//

#include "runtime/serve/api_json.h"
#include "runtime/serve/dialects.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// The input of a call. What is not whole, or nested more deeply than any
/// tool's, is {}.
Json call_input(const std::string &arguments) {
  constexpr int deepest = 100;
  bool is_deep = false;
  Json input = Json::parse(
      arguments,
      [&](int depth, Json::parse_event_t, Json &) {
        return !(is_deep |= depth > deepest);
      },
      false);
  return !is_deep && input.is_object() ? input : Json::object();
}

class MessagesWriter : public ChatWriter {
public:
  MessagesWriter(const ServedModel &model, bool streams, uint64_t prompt_tokens)
      : id(random_id("msg_")), model(model.name), streams(streams),
        prompt_tokens(prompt_tokens) {}

  void begin(HttpExchange &exchange, const HttpHeaders &headers) override {
    exchange.begin_stream("text/event-stream", headers);
    write(exchange, "message_start",
          {{"message", message_json(Json::array(), nullptr, nullptr,
                                    {.prompt = prompt_tokens})}});
  }

  void delta(HttpExchange &exchange, uint32_t, const ChatDelta &delta,
             const Json &) override {
    switch (delta.kind) {
    case ChatDelta::Content:
      open(exchange, "text", text_block(""));
      return write_delta(exchange,
                         {{"type", "text_delta"}, {"text", delta.text}});
    case ChatDelta::Reasoning:
      open(exchange, "thinking", thinking_block(""));
      return write_delta(
          exchange, {{"type", "thinking_delta"}, {"thinking", delta.text}});
    case ChatDelta::CallBegin:
      close(exchange);
      return open(exchange, "tool_use",
                  call_block(delta.id, delta.text, Json::object()));
    case ChatDelta::CallArguments:
      return write_delta(exchange, {{"type", "input_json_delta"},
                                    {"partial_json", delta.text}});
    case ChatDelta::CallEnd:
      return close(exchange);
    }
  }

  void finish(HttpExchange &exchange, uint32_t, const ChatChoice &,
              const Json &) override {
    close(exchange);
  }

  void end(HttpExchange &exchange, const HttpHeaders &headers,
           const std::vector<ChatChoice> &choices,
           const Usage &usage) override {
    const ChatChoice &choice = choices.front();
    Json stop = nullptr;
    if (!choice.stop_string.empty())
      stop = choice.stop_string;
    if (!streams)
      return exchange.respond(
          {.body = json_text(message_json(blocks(choice), stop_reason(choice),
                                          std::move(stop), usage)),
           .headers = headers});
    write(exchange, "message_delta",
          {{"delta",
            {{"stop_reason", stop_reason(choice)},
             {"stop_sequence", std::move(stop)}}},
           {"usage", usage_json(usage)}});
    write(exchange, "message_stop", Json::object());
    exchange.end();
  }

  void fail(HttpExchange &exchange, const ApiError &error,
            bool begun) override {
    const Json body = messages_error_json(error);
    if (!begun)
      return exchange.respond(
          {.status = error.status, .body = json_text(body)});
    exchange.write(event_text("error", body));
    exchange.end();
  }

private:
  static Json text_block(const std::string &text) {
    return {{"type", "text"}, {"text", text}};
  }
  /// Nobody has to trust it: what comes back is read as it is.
  static Json thinking_block(const std::string &text) {
    return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
  }
  static Json call_block(const std::string &id, const std::string &name,
                         Json &&input) {
    return {{"type", "tool_use"},
            {"id", id},
            {"name", name},
            {"input", std::move(input)}};
  }

  static Json blocks(const ChatChoice &choice) {
    Json list = Json::array();
    if (!choice.reasoning.empty())
      list.push_back(thinking_block(choice.reasoning));
    if (!choice.content.empty())
      list.push_back(text_block(choice.content));
    for (const ChatChoice::Call &call : choice.calls)
      list.push_back(
          call_block(call.id, call.name, call_input(call.arguments)));
    return list;
  }

  static const char *stop_reason(const ChatChoice &choice) {
    if (choice.finish != BatchFinish::Stop)
      return "max_tokens";
    if (!choice.stop_string.empty())
      return "stop_sequence";
    return choice.calls.empty() ? "end_turn" : "tool_use";
  }

  /// Tokens that were computed before are not among those of the input.
  static Json usage_json(const Usage &usage) {
    return {{"input_tokens", usage.prompt - usage.cached},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", usage.cached},
            {"output_tokens", usage.generated}};
  }

  Json message_json(Json &&content, Json &&stop_reason, Json &&stop_sequence,
                    const Usage &usage) const {
    return {{"id", id},
            {"type", "message"},
            {"role", "assistant"},
            {"model", model},
            {"content", std::move(content)},
            {"stop_reason", std::move(stop_reason)},
            {"stop_sequence", std::move(stop_sequence)},
            {"usage", usage_json(usage)}};
  }

  /// An event's data begins with its name.
  static void write(HttpExchange &exchange, const char *name, Json &&values) {
    Json data = {{"type", name}};
    data.update(values);
    exchange.write(event_text(name, data));
  }

  void write_delta(HttpExchange &exchange, Json &&delta) const {
    write(exchange, "content_block_delta",
          {{"index", index}, {"delta", std::move(delta)}});
  }

  /// Goes on with the block that is open if it is one of those.
  void open(HttpExchange &exchange, std::string_view type, Json &&block) {
    if (open_type == type)
      return;
    close(exchange);
    open_type = type;
    write(exchange, "content_block_start",
          {{"index", index}, {"content_block", std::move(block)}});
  }

  void close(HttpExchange &exchange) {
    if (open_type.empty())
      return;
    open_type = {};
    write(exchange, "content_block_stop", {{"index", index}});
    ++index;
  }

  const std::string id, model;
  const bool streams;
  const uint64_t prompt_tokens;
  /// Of the block that is open, or will be next.
  uint64_t index = 0;
  std::string_view open_type;
};

} // namespace

std::unique_ptr<ChatWriter> make_messages_writer(const ServedModel &model,
                                                 bool streams,
                                                 uint64_t prompt_tokens,
                                                 const Json &) {
  return std::make_unique<MessagesWriter>(model, streams, prompt_tokens);
}

Json messages_error_json(const ApiError &error) {
  // Clients know these.
  static constexpr std::array types = {
      "invalid_request_error", "authentication_error", "permission_error",
      "not_found_error",       "rate_limit_error",     "overloaded_error"};
  std::string type = error.type;
  if (error.status == 413)
    type = "request_too_large";
  else if (std::ranges::find(types, type) == types.end())
    type = error.status >= 500 ? "api_error" : "invalid_request_error";
  return {{"type", "error"},
          {"error", {{"type", type}, {"message", error.what()}}}};
}

} // namespace baton
