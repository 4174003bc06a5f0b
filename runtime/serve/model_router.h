//===- model_router.h - several models behind one address -----------------===//
//
// Loads nothing itself: each model is served by a process of its own, which the
// router starts when it is wanted, and whose answers it passes on.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_MODEL_ROUTER_H
#define BATON_RUNTIME_SERVE_MODEL_ROUTER_H

#include "runtime/serve/http_server.h"
#include "runtime/serve/model_pool.h"
#include "runtime/serve/work_queue.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton {

struct RouterOptions {
  HttpOptions http;
  /// What requests have to show; without any, none.
  std::vector<std::string> api_keys;
  /// Origins whose pages may use the server, or "*".
  std::vector<std::string> cors_origins;
  /// Seconds that requests have to finish once the server is told to end.
  double drain_seconds = 60;
  /// Whether there is a page at /.
  bool has_page = true;
  ModelPoolOptions pool;
};

/// The text at "model" in a request's body, or nothing. Throws ApiError for a
/// body that is no JSON object, as far as it is read, or has something else
/// there.
std::optional<std::string> read_model_name(std::string_view body);

class ModelRouter {
public:
  /// Listens. There is at least one model.
  ModelRouter(std::vector<ModelFiles> models, RouterOptions options);
  ~ModelRouter();
  ModelRouter(const ModelRouter &) = delete;
  ModelRouter &operator=(const ModelRouter &) = delete;

  uint16_t port() const { return http.port(); }
  /// Serves until a signal comes and what was asked for is answered. Belongs to
  /// the thread that the program ends with.
  void run();

private:
  using Exchange = std::shared_ptr<HttpExchange>;
  using Action = void (ModelRouter::*)(const Exchange &);
  struct Route {
    const char *path;
    Action action;
    /// Without a key, too.
    bool is_public = false;
  };
  static const std::vector<Route> &routes();

  void handle(const Exchange &exchange);
  void dispatch(const Exchange &exchange);
  void route_by_body(const Exchange &exchange);
  /// To the model of this name, or the only one.
  void route(const Exchange &exchange, const std::optional<std::string> &name);
  void on_signal();
  void end_if_drained();
  ApiError unknown_model(const std::string &name) const;

  // Routes of GET that are its own.
  void health(const Exchange &exchange);
  void page(const Exchange &exchange);
  void list_models(const Exchange &exchange);
  void one_model(const Exchange &exchange);
  void show_metrics(const Exchange &exchange);
  void engine_state(const Exchange &exchange);

  /// What does nothing once the router is gone: its server has functions left
  /// that it was given.
  std::function<void()> while_alive(std::function<void()> function) const;
  nlohmann::ordered_json model_json(const std::string &name) const;
  std::string own_metrics() const;

  using Responses = std::map<std::pair<std::string, unsigned>, uint64_t>;

  const RouterOptions options;
  const int64_t created;
  std::shared_ptr<bool> life = std::make_shared<bool>();
  HttpServer http;
  const std::shared_ptr<ModelPool> pool;
  /// Answers by path and status.
  const std::shared_ptr<Responses> responses;
  bool draining = false;
  WorkQueue readers;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_MODEL_ROUTER_H
