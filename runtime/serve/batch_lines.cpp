//===- batch_lines.cpp - conversations in files of requests ---------------===//

#include "runtime/serve/batch_lines.h"
#include "runtime/serve/adapted_models.h"

#include "runtime/error.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/embedding_answer.h"
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
class ConversationLine : public ApiLine {
public:
  ConversationLine(std::shared_ptr<const ServedModel> model,
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

class EmbeddingLine : public ApiLine {
public:
  EmbeddingLine(std::shared_ptr<const ServedModel> model,
                EmbeddingRequest &&request)
      : model(std::move(model)), request(std::move(request)) {}

  Json body(const std::string &, const BatchResult &result) override {
    auto exchange = std::make_shared<KeptExchange>();
    auto answer =
        make_embedding_answer(exchange, model, EmbeddingRequest(request));
    Usage usage;
    usage.prompt = result.prompt_tokens;
    usage.cached = result.cached_tokens;
    answer->on_result(0, result);
    answer->end(usage);
    return Json::parse(exchange->kept.body);
  }

private:
  const std::shared_ptr<const ServedModel> model;
  const EmbeddingRequest request;
};

/// Nobody would see them in a header.
void expect_none_ignored(const std::vector<std::string> &keys) {
  if (!keys.empty())
    throw Error("there is no key " + quote_name(keys.front()));
}

class ServedLines : public ApiLines {
public:
  explicit ServedLines(std::shared_ptr<const ServedModel> model)
      : models(std::move(model)) {}

  std::unique_ptr<ApiLine> read(const std::string &path, const Json &body,
                                uint64_t max_new_tokens,
                                BatchRequest &request) const override {
    if (path == "/v1/chat/completions")
      return read_conversation(body, max_new_tokens, request);
    if (path == "/v1/embeddings")
      return read_embedding(body, request);
    return nullptr;
  }

private:
  std::unique_ptr<ApiLine> read_conversation(const Json &body,
                                             uint64_t max_new_tokens,
                                             BatchRequest &request) const {
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
    const auto &model = models.of(body);
    ChatRequest read = read_chat_request(whole, *model);
    expect_none_ignored(read.ignored_keys);
    request = read.request;
    return std::make_unique<ConversationLine>(model, std::move(read));
  }

  std::unique_ptr<ApiLine> read_embedding(const Json &body,
                                          BatchRequest &request) const {
    const auto &model = models.of(body);
    EmbeddingRequest read = read_embedding_request(body, *model);
    expect_none_ignored(read.ignored_keys);
    if (read.requests.size() != 1)
      throw Error("input: expected one text; give each a line of its own");
    request = read.requests.front();
    request.adapter = model->adapter;
    return std::make_unique<EmbeddingLine>(model, std::move(read));
  }

  const AdaptedModels models;
};

} // namespace

std::shared_ptr<const ApiLines>
make_api_lines(std::shared_ptr<const ServedModel> model) {
  return std::make_shared<ServedLines>(std::move(model));
}

} // namespace baton
