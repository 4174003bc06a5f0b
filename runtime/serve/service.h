//===- service.h - the server's API ---------------------------------------===//
//
// Routes requests. The server's thread answers what is quick and writes
// streams; a few threads read bodies, write prompts, make tokens and compile
// grammars; the engine's workers do the rest.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_SERVICE_H
#define BATON_RUNTIME_SERVE_SERVICE_H

#include "runtime/serve/adapted_models.h"
#include "runtime/serve/answer.h"
#include "runtime/serve/chat_request.h"
#include "runtime/serve/http_server.h"
#include "runtime/serve/metrics.h"
#include "runtime/serve/served_model.h"
#include "runtime/serve/serving_engine.h"
#include "runtime/serve/work_queue.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton {

struct ServiceOptions {
  HttpOptions http;
  /// What requests have to show; without any, none.
  std::vector<std::string> api_keys;
  /// Origins whose pages may use the server, or "*".
  std::vector<std::string> cors_origins;
  /// Most requests that are not finished.
  size_t max_requests = 2048;
  uint32_t prefill_chunk = 0;
  bool prefix_cache = true;
  /// As in BatchOptions.
  uint32_t prompt_lookup = 0;
  /// Seconds that requests have to finish once the server is told to end.
  double drain_seconds = 60;
  /// Whether there is a page at /.
  bool has_page = true;
};

class Service {
public:
  Service(Execution &execution, std::shared_ptr<const ServedModel> model,
          ServiceOptions options);
  ~Service();
  Service(const Service &) = delete;
  Service &operator=(const Service &) = delete;

  uint16_t port() const { return http.port(); }
  /// Serves until a signal comes and what was asked for is answered. Throws
  /// Error when the program fails.
  void run();

  /// Whether there is something at the path, and whether it takes the method.
  struct Takes {
    bool path = false, method = false;
  };
  static Takes takes(std::string_view method, std::string_view path);

private:
  using Exchange = std::shared_ptr<HttpExchange>;
  using Body = nlohmann::ordered_json;
  /// What a request has called by its name.
  using Served = std::shared_ptr<const ServedModel>;
  using Action = void (Service::*)(const Exchange &);
  struct Route {
    const char *method, *path;
    Action action;
    /// Without a key, too.
    bool is_public = false;
  };
  static const std::vector<Route> &routes();

  // The server's thread.
  void handle(const Exchange &exchange);
  void dispatch(const Exchange &exchange);
  void take_events();
  void take(const EngineEvent &event);
  void tell(Answer &answer, uint32_t part, const EngineEvent &event);
  void count(const Answer &answer, const BatchResult &result);
  void leave(const std::shared_ptr<Answer> &answer);
  void on_signal();
  void end_if_drained();

  // Routes.
  void health(const Exchange &exchange);
  void page(const Exchange &exchange);
  void models(const Exchange &exchange);
  void model_of(const Exchange &exchange);
  void show_metrics(const Exchange &exchange);
  void engine_state(const Exchange &exchange);
  void version(const Exchange &exchange);
  void chat_completions(const Exchange &exchange);
  void messages(const Exchange &exchange);
  void count_tokens(const Exchange &exchange);
  void responses(const Exchange &exchange);
  void completions(const Exchange &exchange);
  void embeddings(const Exchange &exchange);
  void llama_embeddings(const Exchange &exchange);
  void score(const Exchange &exchange);
  void rerank(const Exchange &exchange);
  void tokenize(const Exchange &exchange);
  void detokenize(const Exchange &exchange);
  void apply_template(const Exchange &exchange);
  void tokenizer_info(const Exchange &exchange);
  void count_chat_tokens(const Exchange &exchange);
  void count_response_tokens(const Exchange &exchange);
  void llama_completions(const Exchange &exchange);
  void props(const Exchange &exchange);
  void slots(const Exchange &exchange);
  void unsupported(const Exchange &exchange);

  /// Calls `answer` with the body, by one of the other threads; what it throws
  /// becomes the answer.
  void read(const Exchange &exchange,
            std::function<void(const Body &body)> answer);
  using MakeWriter =
      std::function<std::unique_ptr<ChatWriter>(const ChatRequest &request)>;
  /// Answers a request that has become one of chat completions.
  void converse(const Exchange &exchange, const Served &served,
                const Body &chat, const MakeWriter &make_writer);
  /// Answers with what is made of texts' vectors.
  template <typename Request>
  void start_vectors(
      const Exchange &exchange, const Served &served, Request &&request,
      std::shared_ptr<Answer> (*make)(std::shared_ptr<HttpExchange>,
                                      std::shared_ptr<const ServedModel>,
                                      Request &&));
  /// Hands an answer's requests to the engine.
  void start(const std::shared_ptr<Answer> &answer);

  struct Place {
    std::shared_ptr<Answer> answer;
    uint32_t part = 0;
  };

  const std::shared_ptr<const ServedModel> model;
  const AdaptedModels adapted;
  const ServiceOptions options;
  HttpServer http;
  ServerMetrics metrics;
  std::mutex mutex;
  /// By the tags of requests; guarded by it.
  std::unordered_map<uint64_t, Place> places;
  uint64_t next_tag = 1;
  /// What the other threads work on.
  std::atomic<uint64_t> reading = 0;
  bool draining = false;
  std::vector<EngineEvent> events;
  ServingEngine engine;
  WorkQueue workers;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_SERVICE_H
