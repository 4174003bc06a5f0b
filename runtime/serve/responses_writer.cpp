//===- responses_writer.cpp - answers of /v1/responses --------------------===//

#include "runtime/serve/api_json.h"
#include "runtime/serve/dialect_request.h"
#include "runtime/serve/dialects.h"

#include <algorithm>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// One thing of an answer: its reasoning, its text, or a call.
struct OutputItem {
  enum Kind { Reasoning, Message, Call } kind = Message;
  /// The item's own; a call has one more, and a name.
  std::string id, call_id, name;
  /// The text so far, or the arguments.
  std::string text;
  Json logprobs = Json::array();

  static OutputItem make(Kind kind, std::string text = {}) {
    const char *const prefix = kind == Reasoning ? "rs_"
                               : kind == Message ? "msg_"
                                                 : "fc_";
    OutputItem item;
    item.kind = kind;
    item.id = random_id(prefix);
    item.text = std::move(text);
    return item;
  }

  /// The part that has the text; calls have none.
  Json part() const {
    if (kind == Reasoning)
      return {{"type", "reasoning_text"}, {"text", text}};
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", logprobs}};
  }

  /// With its part, once there is one.
  Json json(const char *status, bool with_part = true) const {
    Json content = Json::array();
    if (with_part && kind != Call)
      content.push_back(part());
    if (kind == Reasoning)
      return {{"id", id},
              {"type", "reasoning"},
              {"status", status},
              {"summary", Json::array()},
              {"content", std::move(content)}};
    if (kind == Message)
      return {{"id", id},
              {"type", "message"},
              {"status", status},
              {"role", "assistant"},
              {"content", std::move(content)}};
    return {{"id", id},         {"type", "function_call"},
            {"status", status}, {"call_id", call_id},
            {"name", name},     {"arguments", text}};
  }
};

class ResponsesWriter : public ChatWriter {
public:
  ResponsesWriter(const ServedModel &model, bool streams, const Json &body)
      : model(model), streams(streams) {
    base = {{"id", random_id("resp_")},
            {"object", "response"},
            {"created_at", unix_time()},
            {"status", "in_progress"},
            {"error", nullptr},
            {"incomplete_details", nullptr},
            {"model", model.name},
            {"output", Json::array()},
            {"usage", nullptr},
            // What is kept nowhere.
            {"background", false},
            {"previous_response_id", nullptr},
            {"store", false},
            {"truncation", "disabled"}};
    const std::pair<const char *, Json> said[] = {
        {"instructions", nullptr},
        {"max_output_tokens", nullptr},
        {"metadata", Json::object()},
        {"parallel_tool_calls", true},
        {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
        {"temperature", model.sampling.temperature},
        {"text", {{"format", {{"type", "text"}}}}},
        {"tool_choice", "auto"},
        {"tools", Json::array()},
        {"top_logprobs", 0},
        {"top_p", model.sampling.top_p},
        {"user", nullptr}};
    for (const auto &[key, usual] : said) {
      const Json *const value = find_value(body, key);
      base[key] = value ? *value : usual;
    }
  }

  void begin(HttpExchange &exchange, const HttpHeaders &headers) override {
    exchange.begin_stream("text/event-stream", headers);
    write(exchange, "response.created", {{"response", base}});
    write(exchange, "response.in_progress", {{"response", base}});
  }

  void prompt(HttpExchange &exchange, const Json &progress) override {
    write(exchange, "response.in_progress",
          {{"response", base}, {"prompt_progress", progress}});
  }

  void delta(HttpExchange &exchange, uint32_t, const ChatDelta &delta,
             const Json &logprobs) override {
    switch (delta.kind) {
    case ChatDelta::Content:
      take_text(OutputItem::Message, exchange);
      add_logprobs(logprobs);
      open.text += delta.text;
      return write_part(
          exchange, "response.output_text.delta",
          {{"delta", delta.text},
           {"logprobs", logprobs.is_null() ? Json::array() : logprobs}});
    case ChatDelta::Reasoning:
      take_text(OutputItem::Reasoning, exchange);
      open.text += delta.text;
      return write_part(exchange, "response.reasoning_text.delta",
                        {{"delta", delta.text}});
    case ChatDelta::CallBegin:
      close(exchange, "completed");
      open = OutputItem::make(OutputItem::Call);
      open.call_id = delta.id;
      open.name = delta.text;
      return begin_item(exchange);
    case ChatDelta::CallArguments:
      open.text += delta.text;
      return write_item(exchange, "response.function_call_arguments.delta",
                        {{"delta", delta.text}});
    case ChatDelta::CallEnd:
      return close(exchange, delta.complete ? "completed" : "incomplete");
    }
  }

  void finish(HttpExchange &exchange, uint32_t, const ChatChoice &whole,
              const Json &logprobs) override {
    if (is_open && open.kind == OutputItem::Message)
      add_logprobs(logprobs);
    close(exchange, status_of(whole));
  }

  void end(HttpExchange &exchange, const HttpHeaders &headers,
           const std::vector<ChatChoice> &choices,
           const Usage &usage) override {
    const ChatChoice &choice = choices.front();
    const std::string status = status_of(choice);
    if (!streams)
      base["output"] = items(choice);
    base["status"] = status;
    if (status == "incomplete")
      base["incomplete_details"] = {{"reason", "max_output_tokens"}};
    base["usage"] = usage_json(usage, choice);
    if (!streams)
      return exchange.respond({.body = json_text(base), .headers = headers});
    if (timings)
      timings = usage.timings;
    write(exchange, "response." + status, {{"response", base}});
    exchange.end();
  }

  void fail(HttpExchange &exchange, const ApiError &error,
            bool begun) override {
    if (!begun)
      return exchange.respond(
          {.status = error.status, .body = json_text(error_json(error))});
    base["status"] = "failed";
    base["error"] = {{"code", error.type}, {"message", error.what()}};
    write(exchange, "response.failed", {{"response", base}});
    exchange.end();
  }

private:
  static const char *status_of(const ChatChoice &choice) {
    return choice.finish == BatchFinish::Stop ? "completed" : "incomplete";
  }

  /// Of a response as a whole: what ends too early is the last one.
  static Json items(const ChatChoice &choice) {
    std::vector<OutputItem> all;
    if (!choice.reasoning.empty())
      all.push_back(OutputItem::make(OutputItem::Reasoning, choice.reasoning));
    if (!choice.content.empty()) {
      all.push_back(OutputItem::make(OutputItem::Message, choice.content));
      if (!choice.logprobs.is_null())
        all.back().logprobs = choice.logprobs;
    }
    for (const ChatChoice::Call &call : choice.calls) {
      all.push_back(OutputItem::make(OutputItem::Call, call.arguments));
      all.back().call_id = call.id;
      all.back().name = call.name;
    }
    Json list = Json::array();
    for (size_t i = 0; i < all.size(); ++i)
      list.push_back(
          all[i].json(i + 1 == all.size() ? status_of(choice) : "completed"));
    return list;
  }

  Json usage_json(const Usage &usage, const ChatChoice &choice) const {
    uint64_t reasoning = 0;
    if (!choice.reasoning.empty() && model.format.tokenizer)
      reasoning = std::min<uint64_t>(
          model.format.tokenizer->encode(choice.reasoning, false).size(),
          usage.generated);
    return {{"input_tokens", usage.prompt},
            {"input_tokens_details", {{"cached_tokens", usage.cached}}},
            {"output_tokens", usage.generated},
            {"output_tokens_details", {{"reasoning_tokens", reasoning}}},
            {"total_tokens", usage.prompt + usage.generated}};
  }

  void add_logprobs(const Json &logprobs) {
    for (const Json &token : logprobs)
      open.logprobs.push_back(token);
  }

  void write(HttpExchange &exchange, const std::string &name, Json &&values) {
    Json data = {{"type", name}, {"sequence_number", sequence_number++}};
    data.update(values);
    if (timings)
      data["timings"] = timings->json();
    exchange.write(event_text(name, data));
  }

  /// Of the item that is open.
  void write_item(HttpExchange &exchange, const std::string &name,
                  Json &&values) {
    Json all = {{"item_id", open.id}, {"output_index", base["output"].size()}};
    all.update(values);
    write(exchange, name, std::move(all));
  }

  /// Of its part.
  void write_part(HttpExchange &exchange, const std::string &name,
                  Json &&values) {
    Json all = {{"content_index", 0}};
    all.update(values);
    write_item(exchange, name, std::move(all));
  }

  /// Text goes on with the open item if that is one of its kind.
  void take_text(OutputItem::Kind kind, HttpExchange &exchange) {
    if (is_open && open.kind == kind)
      return;
    close(exchange, "completed");
    open = OutputItem::make(kind);
    begin_item(exchange);
  }

  void begin_item(HttpExchange &exchange) {
    is_open = true;
    write(exchange, "response.output_item.added",
          {{"output_index", base["output"].size()},
           {"item", open.json("in_progress", false)}});
    if (open.kind != OutputItem::Call)
      write_part(exchange, "response.content_part.added",
                 {{"part", open.part()}});
  }

  void close(HttpExchange &exchange, const char *status) {
    if (!is_open)
      return;
    is_open = false;
    if (open.kind == OutputItem::Call) {
      write_item(exchange, "response.function_call_arguments.done",
                 {{"name", open.name}, {"arguments", open.text}});
    } else if (open.kind == OutputItem::Reasoning) {
      write_part(exchange, "response.reasoning_text.done",
                 {{"text", open.text}});
    } else {
      write_part(exchange, "response.output_text.done",
                 {{"text", open.text}, {"logprobs", open.logprobs}});
    }
    if (open.kind != OutputItem::Call)
      write_part(exchange, "response.content_part.done",
                 {{"part", open.part()}});
    const Json whole = open.json(status);
    write(exchange, "response.output_item.done",
          {{"output_index", base["output"].size()}, {"item", whole}});
    base["output"].push_back(whole);
  }

  const ServedModel &model;
  const bool streams;
  /// The response, but for what is not known yet.
  Json base;
  uint64_t sequence_number = 0;
  bool is_open = false;
  /// Nothing of it is in the response yet.
  OutputItem open;
};

} // namespace

std::unique_ptr<ChatWriter> make_responses_writer(const ServedModel &model,
                                                  bool streams, uint64_t,
                                                  const Json &body) {
  return std::make_unique<ResponsesWriter>(model, streams, body);
}

} // namespace baton
