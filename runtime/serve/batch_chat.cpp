//===- batch_chat.cpp - conversations in files of requests ----------------===//

#include "runtime/serve/batch_chat.h"

#include "runtime/error.h"
#include "runtime/serve/chat_request.h"
#include "runtime/weights/message.h"

#include <algorithm>
#include <utility>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// Keeps the answer that is written to it.
class KeptExchange : public HttpExchange {
public:
  const HttpRequest &request() const override { return none; }
  void respond(HttpResponse response) override { kept = std::move(response); }
  void begin_stream(std::string, HttpHeaders) override {}
  void write(std::string) override {}
  void end() override {}
  void on_disconnect(std::function<void()>) override {}

  HttpResponse kept;

private:
  const HttpRequest none;
};

/// Plays what a request has come to into the answer that a server would write.
class ServedChatLine : public ChatLine {
public:
  ServedChatLine(std::shared_ptr<const ServedModel> model,
                 ChatRequest &&request)
      : model(std::move(model)), request(std::move(request)) {}

  Json body(const std::string &id, const BatchResult &result) override {
    // Calls have ids, too, that the same results have again.
    request.output.parser.make_id =
        [&id, length = request.output.format.id_length](size_t call) {
          std::string own = "call" + std::to_string(call) + id;
          if (length)
            own.resize(length, '0');
          return own;
        };
    auto exchange = std::make_shared<KeptExchange>();
    ChatAnswer answer(exchange, model, BatchRequest(result.request),
                      request.output, make_openai_chat_writer(*model, request));
    Usage usage;
    usage.prompt = result.prompt_tokens;
    usage.cached = result.cached_tokens;
    for (uint32_t choice = 0; choice < result.choices.size(); ++choice) {
      const BatchChoice &own = result.choices[choice];
      usage.generated += own.tokens.size();
      const size_t each =
          own.tokens.empty() ? 0 : own.logprobs.size() / own.tokens.size();
      for (size_t i = 0; i < own.tokens.size(); ++i)
        answer.on_token(0, choice, own.tokens[i],
                        std::span(own.logprobs).subspan(i * each, each));
    }
    answer.on_result(0, result);
    answer.end(usage);
    Json json = Json::parse(exchange->kept.body);
    json["id"] = "chatcmpl-" + id;
    json["created"] = 0;
    // Files say nothing of when they were made.
    json.erase("timings");
    return json;
  }

private:
  const std::shared_ptr<const ServedModel> model;
  ChatRequest request;
};

class ServedChatLines : public ChatLines {
public:
  explicit ServedChatLines(std::shared_ptr<const ServedModel> model)
      : model(std::move(model)) {}

  std::unique_ptr<ChatLine> read(const Json &body, uint64_t max_new_tokens,
                                 BatchRequest &request) const override {
    Json whole = body;
    for (const char *key : {"stream", "stream_options"})
      if (auto found = whole.find(key);
          found != whole.end() && !found->is_null() && *found != false)
        throw Error(std::string(key) + ": there are no streams in a file");
    if (!whole.contains("max_tokens") &&
        !whole.contains("max_completion_tokens"))
      whole["max_tokens"] = max_new_tokens;
    // The same file has the same results.
    if (!whole.contains("seed"))
      whole["seed"] = 0;
    ChatRequest read = read_chat_request(whole, *model);
    // Nobody would see them in a header.
    if (!read.ignored_keys.empty())
      throw Error("there is no key " + quote_name(read.ignored_keys.front()));
    request = read.request;
    return std::make_unique<ServedChatLine>(model, std::move(read));
  }

private:
  const std::shared_ptr<const ServedModel> model;
};

} // namespace

std::shared_ptr<const ChatLines>
make_chat_lines(std::shared_ptr<const ServedModel> model) {
  return std::make_shared<ServedChatLines>(std::move(model));
}

} // namespace baton
