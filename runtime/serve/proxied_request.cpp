//===- proxied_request.cpp - a request that a model's process answers -----===//

#include "runtime/serve/proxied_request.h"

#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace baton {

namespace {

bool is_header(std::string_view name, std::string_view lower_case) {
  return std::ranges::equal(name, lower_case, [](unsigned char a, char b) {
    return std::tolower(a) == b;
  });
}

class ProxiedRequest : public std::enable_shared_from_this<ProxiedRequest> {
public:
  ProxiedRequest(std::shared_ptr<HttpExchange> exchange,
                 const std::shared_ptr<ModelPool> &pool, std::string model)
      : exchange(std::move(exchange)), pool(pool), model(std::move(model)) {}

  void start() {
    const std::shared_ptr<ProxiedRequest> self = shared_from_this();
    ticket = std::make_shared<ModelPool::Ticket>();
    ticket->granted = [self](std::shared_ptr<ModelLease> own) {
      self->send(std::move(own));
    };
    ticket->refused = [self](const ApiError &error) { self->refuse(error); };
    exchange->on_disconnect([weak = weak_from_this()] {
      if (const std::shared_ptr<ProxiedRequest> own = weak.lock())
        own->leave();
    });
    // Its functions are not to vanish while they run.
    const std::shared_ptr<ModelPool::Ticket> held = ticket;
    if (const std::shared_ptr<ModelPool> own = pool.lock(); own && !is_over)
      own->want(model, held);
  }

private:
  void send(std::shared_ptr<ModelLease> own) {
    if (is_over)
      return;
    lease = std::move(own);
    ticket = nullptr;
    const std::shared_ptr<ProxiedRequest> self = shared_from_this();
    call = lease->ask(
        request_to_pass_on(exchange->request()),
        {.begin =
             [self](HttpAnswer::Head head) { self->begin(std::move(head)); },
         .part = [self](std::string_view part) { self->take(part); },
         .end = [self] { self->end(); },
         .fail = [self](const std::string &) { self->fail(); }});
  }

  void begin(HttpAnswer::Head &&head) {
    HttpHeaders headers;
    std::string type;
    for (auto &[name, value] : head.headers)
      if (is_header(name, "content-type"))
        type = std::move(value);
      else if (!is_connection_header(name))
        headers.emplace_back(std::move(name), std::move(value));
    is_stream = head.chunked && head.status == 200;
    if (is_stream)
      return exchange->begin_stream(std::move(type), std::move(headers));
    whole = {.status = head.status,
             .type = std::move(type),
             .body = {},
             .headers = std::move(headers)};
  }

  void take(std::string_view part) {
    if (is_stream)
      exchange->write(std::string(part));
    else
      whole.body += part;
  }

  void end() {
    if (is_stream)
      exchange->end();
    else
      exchange->respond(std::move(whole));
    finish();
  }

  /// The process is gone, or about to be.
  void fail() {
    lease = nullptr;
    const std::shared_ptr<ModelPool> own = pool.lock();
    if (!own)
      return finish();
    own->ask_fault(model, [self = shared_from_this()](const std::string &why) {
      self->refuse({502, "server_error",
                    "the model " + self->model + " has failed" +
                        (why.empty() ? "" : ": " + why)});
    });
  }

  void refuse(const ApiError &error) {
    if (is_over)
      return;
    if (is_stream) {
      const nlohmann::ordered_json body =
          refusal_json(exchange->request(), error);
      const bool is_named =
          exchange->request().path.starts_with("/v1/messages");
      exchange->write(is_named ? event_text("error", body) : event_text(body));
      exchange->end();
    } else {
      baton::refuse(*exchange, error);
    }
    finish();
  }

  void leave() {
    if (ticket)
      ticket->gone = true;
    if (call)
      call->cancel();
    finish();
  }

  /// Nothing is held by what held it.
  void finish() {
    is_over = true;
    call = nullptr;
    lease = nullptr;
    if (const auto own = std::exchange(ticket, nullptr))
      own->gone = true;
  }

  const std::shared_ptr<HttpExchange> exchange;
  const std::weak_ptr<ModelPool> pool;
  const std::string model;
  std::shared_ptr<ModelPool::Ticket> ticket;
  std::shared_ptr<ModelLease> lease;
  std::shared_ptr<HttpCall> call;
  HttpResponse whole;
  bool is_stream = false, is_over = false;
};

} // namespace

HttpRequest request_to_pass_on(const HttpRequest &request) {
  static constexpr std::array<std::string_view, 5> own = {
      "authorization", "x-api-key", "origin", "cookie", "accept-encoding"};
  HttpRequest result = {.method =
                            request.method == "HEAD" ? "GET" : request.method,
                        .path = request.path,
                        .query = request.query,
                        .headers = {},
                        .body = request.body};
  for (const auto &[name, value] : request.headers)
    if (!is_connection_header(name) &&
        std::ranges::none_of(own, [&](std::string_view other) {
          return is_header(name, other);
        }))
      result.headers.emplace_back(name, value);
  return result;
}

void pass_on(std::shared_ptr<HttpExchange> exchange,
             const std::shared_ptr<ModelPool> &pool, const std::string &model) {
  std::make_shared<ProxiedRequest>(std::move(exchange), pool, model)->start();
}

} // namespace baton
