//===- model_router.cpp - several models behind one address ---------------===//

#include "runtime/serve/model_router.h"

#include "runtime/error.h"
#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/merged_metrics.h"
#include "runtime/serve/page.h"
#include "runtime/serve/proxied_request.h"
#include "runtime/serve/service.h"

#include <algorithm>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view model_path = "/v1/models/";
/// Of a process that has stopped, there are none.
constexpr double metrics_seconds = 5;

/// Stops at the name, wherever that is; what is wrong behind it the model's
/// process says.
class ModelNameReader : public nlohmann::json_sax<Json> {
public:
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_unsigned(number_unsigned_t) override { return other(); }
  bool number_float(number_float_t, const string_t &) override {
    return other();
  }
  bool binary(binary_t &) override { return other(); }
  bool string(string_t &value) override {
    if (!is_name())
      return other();
    name = value;
    return false;
  }
  bool start_object(size_t) override {
    const bool goes_on = depth == 0 || other();
    ++depth;
    return goes_on;
  }
  bool start_array(size_t) override {
    const bool goes_on = other();
    ++depth;
    return goes_on;
  }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t &of) override {
    last_key = of;
    return true;
  }
  bool parse_error(size_t, const std::string &,
                   const Json::exception &failure) override {
    // "[json.exception.parse_error.101] parse error at line 1 ..."
    const std::string what = failure.what();
    const size_t begin = what.find("] ");
    fault = "the body is no JSON: " +
            (begin == std::string::npos ? what : what.substr(begin + 2));
    return false;
  }

  std::optional<std::string> name;
  std::string fault;

private:
  bool is_name() const { return depth == 1 && last_key == "model"; }
  bool end() {
    --depth;
    return true;
  }
  /// A value that is no name.
  bool other() {
    if (depth == 0)
      fault = "the body is no JSON object";
    else if (is_name())
      fault = "model: expected a text";
    return fault.empty();
  }

  size_t depth = 0;
  std::string last_key;
};

std::string names_text(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Asks several, and puts their metrics together when all have answered.
class MetricsQuestion : public std::enable_shared_from_this<MetricsQuestion> {
public:
  MetricsQuestion(std::shared_ptr<HttpExchange> exchange, std::string own)
      : exchange(std::move(exchange)), texts{std::move(own)} {}

  void ask(const std::vector<std::shared_ptr<ModelLease>> &models) {
    left = models.size() + 1;
    texts.resize(left);
    for (size_t place = 1; place < left; ++place) {
      HttpRequest request;
      request.method = "GET";
      request.path = "/metrics";
      calls.push_back(models[place - 1]->ask(
          std::move(request),
          {.begin = [](HttpAnswer::Head) {},
           .part = [self = shared_from_this(), place](
                       std::string_view part) { self->texts[place] += part; },
           .end = [self = shared_from_this()] { self->answered(); },
           .fail =
               [self = shared_from_this(), place](const std::string &) {
                 self->texts[place].clear();
                 self->answered();
               }}));
    }
    answered();
  }

  void give_up() {
    if (left == 0)
      return;
    for (const std::shared_ptr<HttpCall> &call : calls)
      call->cancel();
    left = 1;
    answered();
  }

private:
  void answered() {
    if (--left > 0)
      return;
    exchange->respond({.type = "text/plain; version=0.0.4; charset=utf-8",
                       .body = merge_metrics(texts)});
  }

  const std::shared_ptr<HttpExchange> exchange;
  std::vector<std::string> texts;
  std::vector<std::shared_ptr<HttpCall>> calls;
  size_t left = 0;
};

} // namespace

std::optional<std::string> read_model_name(std::string_view body) {
  ModelNameReader reader;
  Json::sax_parse(body.begin(), body.end(), &reader);
  if (!reader.fault.empty())
    throw invalid_request(reader.fault);
  return reader.name;
}

const std::vector<ModelRouter::Route> &ModelRouter::routes() {
  static const std::vector<Route> all = {
      {"/", &ModelRouter::page, true},
      {"/health", &ModelRouter::health, true},
      {"/v1/health", &ModelRouter::health, true},
      {"/metrics", &ModelRouter::show_metrics},
      {"/engine", &ModelRouter::engine_state},
      {"/v1/models", &ModelRouter::list_models},
      {"/models", &ModelRouter::list_models},
  };
  return all;
}

ModelRouter::ModelRouter(std::vector<ModelFiles> models, RouterOptions wanted)
    : options(std::move(wanted)), created(unix_time()),
      http(options.http,
           [this, alive = std::weak_ptr(life)](const Exchange &exchange) {
             if (alive.lock())
               handle(exchange);
           }),
      pool(std::make_shared<ModelPool>(http.context(), std::move(models),
                                       options.pool)),
      responses(std::make_shared<Responses>()), readers(1) {}

ModelRouter::~ModelRouter() { life = nullptr; }

std::function<void()>
ModelRouter::while_alive(std::function<void()> function) const {
  return [alive = std::weak_ptr(life), function = std::move(function)] {
    if (alive.lock())
      function();
  };
}

void ModelRouter::run() {
  http.on_signal([this](int) { on_signal(); });
  http.run();
}

void ModelRouter::on_signal() {
  // Who asks twice does not want to wait.
  if (draining)
    return http.stop();
  draining = true;
  http.drain();
  pool->drain();
  http.post_after(options.drain_seconds, while_alive([this] { http.stop(); }));
  end_if_drained();
}

void ModelRouter::end_if_drained() {
  if (http.connections() == 0 && pool->is_empty())
    return http.stop();
  http.post_after(0.02, while_alive([this] { end_if_drained(); }));
}

void ModelRouter::handle(const Exchange &exchange) {
  const HttpRequest &request = exchange->request();
  // Paths that there are not would be names of metrics without end.
  const std::string path =
      Service::takes("", request.path).path ? request.path : "other";
  dispatch(std::make_shared<MarkedExchange>(
      exchange, origin_headers(request, options.cors_origins),
      [this, counts = responses, path](unsigned status) {
        http.post([counts, path, status] { ++(*counts)[{path, status}]; });
      }));
}

void ModelRouter::dispatch(const Exchange &exchange) {
  const HttpRequest &request = exchange->request();
  if (request.method == "OPTIONS")
    return exchange->respond({.status = 204});
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const Route *own = nullptr;
  static const Route one = {"", &ModelRouter::one_model};
  for (const Route &route : routes())
    if (request.path == route.path)
      own = &route;
  if (!own && request.path.starts_with(model_path))
    own = &one;
  if ((!own || !own->is_public) && !has_key(request, options.api_keys))
    return refuse(*exchange, key_wanted());
  const Service::Takes takes = Service::takes(method, request.path);
  if (!own && !takes.path)
    return refuse(*exchange, not_found("there is no " + request.path));
  if (own ? method != "GET" : !takes.method)
    return refuse(*exchange,
                  {405, "invalid_request_error",
                   request.path + " does not take " + request.method});
  if (draining && !own)
    return refuse(*exchange, overloaded("the server is about to end"));
  if (own)
    return (this->*own->action)(exchange);
  if (method == "POST")
    return route_by_body(exchange);
  const std::string name(request.parameter("model"));
  route(exchange, name.empty() ? std::nullopt : std::optional(name));
}

void ModelRouter::route_by_body(const Exchange &exchange) {
  // A large body would hold up everybody's streams.
  readers.push([this, exchange] {
    try {
      const std::optional<std::string> name =
          read_model_name(exchange->request().body);
      http.post(while_alive([this, exchange, name] { route(exchange, name); }));
    } catch (const ApiError &error) {
      refuse(*exchange, error);
    } catch (const std::exception &error) {
      refuse(*exchange, server_fault(error.what()));
    }
  });
}

void ModelRouter::route(const Exchange &exchange,
                        const std::optional<std::string> &name) {
  const std::vector<std::string> names = pool->names();
  if (!name && names.size() > 1)
    return refuse(*exchange, invalid_request("model: expected one of " +
                                             names_text(names)));
  const std::string &chosen = name ? *name : names.front();
  if (pool->has(chosen))
    return pass_on(exchange, pool, chosen);
  const ApiError error = unknown_model(chosen);
  Json body = refusal_json(exchange->request(), error);
  if (body["error"].contains("code"))
    body["error"]["code"] = "model_not_found";
  respond(*exchange, body, error.status);
}

ApiError ModelRouter::unknown_model(const std::string &name) const {
  return not_found("there is no model " + name + "; there are " +
                   names_text(pool->names()));
}

void ModelRouter::health(const Exchange &exchange) {
  if (draining)
    return refuse(*exchange, overloaded("the server is about to end"));
  respond(*exchange, {{"status", "ok"}});
}

void ModelRouter::page(const Exchange &exchange) {
  if (!options.has_page)
    return refuse(*exchange, not_found("there is no page (--no-page)"));
  exchange->respond(page_response());
}

Json ModelRouter::model_json(const std::string &name) const {
  return {{"id", name},
          {"object", "model"},
          {"created", created},
          {"owned_by", "baton"},
          {"loaded", pool->state(name).loaded}};
}

void ModelRouter::list_models(const Exchange &exchange) {
  Json list = Json::array();
  for (const std::string &name : pool->names())
    list.push_back(model_json(name));
  respond(*exchange, {{"object", "list"}, {"data", std::move(list)}});
}

void ModelRouter::one_model(const Exchange &exchange) {
  const std::string name = exchange->request().path.substr(model_path.size());
  if (!pool->has(name))
    return refuse(*exchange, unknown_model(name));
  respond(*exchange, model_json(name));
}

/// What is asked without a name is about the model that was used last.
void ModelRouter::engine_state(const Exchange &exchange) {
  std::string name(exchange->request().parameter("model"));
  if (name.empty())
    for (const std::string &other : pool->names())
      if (name.empty() || pool->state(other).used > pool->state(name).used)
        name = other;
  if (!pool->has(name))
    return refuse(*exchange, unknown_model(name));
  const ModelPool::State state = pool->state(name);
  const Json not_loaded = {
      {"model", name}, {"loaded", false},          {"loading", state.loading},
      {"running", 0},  {"waiting", state.waiting}, {"timeline", nullptr}};
  const std::shared_ptr<ModelLease> lease = pool->look(name);
  if (!lease)
    return respond(*exchange, not_loaded);
  auto answer = std::make_shared<HttpResponse>();
  // The lease is none that counts, so the process may end meanwhile.
  const std::shared_ptr<HttpCall> call = lease->ask(
      request_to_pass_on(exchange->request()),
      {.begin =
           [answer](const HttpAnswer::Head &head) {
             answer->status = head.status;
           },
       .part = [answer](std::string_view part) { answer->body += part; },
       .end = [answer, exchange] { exchange->respond(std::move(*answer)); },
       .fail = [exchange, not_loaded](
                   const std::string &) { respond(*exchange, not_loaded); }});
  exchange->on_disconnect([call] { call->cancel(); });
}

void ModelRouter::show_metrics(const Exchange &exchange) {
  std::vector<std::shared_ptr<ModelLease>> leases;
  for (const std::string &name : pool->names())
    if (std::shared_ptr<ModelLease> lease = pool->look(name))
      leases.push_back(std::move(lease));
  auto question = std::make_shared<MetricsQuestion>(exchange, own_metrics());
  question->ask(leases);
  http.post_after(metrics_seconds, [weak = std::weak_ptr(question)] {
    if (const std::shared_ptr<MetricsQuestion> own = weak.lock())
      own->give_up();
  });
}

std::string ModelRouter::own_metrics() const {
  std::string text;
  auto metric = [&](const std::string &name, const std::string &kind,
                    const std::string &help, auto value_of) {
    text += "# HELP baton:router_" + name + " " + help +
            "\n# TYPE baton:router_" + name + " " + kind + "\n";
    // Names of models need no escapes.
    for (const std::string &model : pool->names())
      text += "baton:router_" + name + "{model_name=\"" + model + "\"} " +
              std::to_string(value_of(pool->state(model))) + "\n";
  };
  using State = ModelPool::State;
  metric("loaded", "gauge", "Whether the model is loaded",
         [](const State &state) { return unsigned(state.loaded); });
  metric("requests_running", "gauge", "Requests that the model answers",
         [](const State &state) { return state.running; });
  metric("requests_waiting", "gauge", "Requests that wait for the model",
         [](const State &state) { return state.waiting; });
  metric("memory_bytes", "gauge", "What the model takes when it is loaded",
         [](const State &state) { return state.memory; });
  metric("loads_total", "counter", "How often the model was loaded",
         [](const State &state) { return state.loads; });
  metric("unloads_total", "counter", "How often the model made room",
         [](const State &state) { return state.unloads; });
  metric("failures_total", "counter", "How often the model's process failed",
         [](const State &state) { return state.failures; });
  text += "# HELP baton:router_connections Open connections\n# TYPE "
          "baton:router_connections gauge\nbaton:router_connections " +
          std::to_string(http.connections()) +
          "\n# HELP baton:router_http_responses_total Answers by path and "
          "status\n# TYPE baton:router_http_responses_total counter\n";
  for (const auto &[key, count] : *responses)
    text += "baton:router_http_responses_total{path=\"" + key.first +
            "\",status=\"" + std::to_string(key.second) + "\"} " +
            std::to_string(count) + "\n";
  return text;
}

} // namespace baton
