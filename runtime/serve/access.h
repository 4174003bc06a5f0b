//===- access.h - who may ask, and how all answers are marked -------------===//

#ifndef BATON_RUNTIME_SERVE_ACCESS_H
#define BATON_RUNTIME_SERVE_ACCESS_H

#include "runtime/serve/api_error.h"
#include "runtime/serve/http_server.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace baton {

/// Whether the request shows one of the keys: "Authorization: Bearer KEY", or
/// "X-Api-Key: KEY". Without keys everybody may ask.
bool has_key(const HttpRequest &request, const std::vector<std::string> &keys);
/// What one without is told.
ApiError key_wanted();

/// What lets a page of one of the origins read the answer (CORS); "*" is all,
/// "localhost" those of this machine, at any port.
HttpHeaders origin_headers(const HttpRequest &request,
                           const std::vector<std::string> &origins);

void respond(HttpExchange &exchange, const nlohmann::ordered_json &json,
             unsigned status = 200);
/// In the words of the API that was asked.
nlohmann::ordered_json refusal_json(const HttpRequest &request,
                                    const ApiError &error);
void refuse(HttpExchange &exchange, const ApiError &error);
/// Ends an answer in OpenAI's form; a stream that has begun, with an event.
void end_with_error(HttpExchange &exchange, const ApiError &error,
                    bool has_begun);

/// Adds headers to answers, and says how they turn out.
class MarkedExchange : public HttpExchange {
public:
  MarkedExchange(std::shared_ptr<HttpExchange> exchange, HttpHeaders headers,
                 std::function<void(unsigned status)> answered)
      : exchange(std::move(exchange)), headers(std::move(headers)),
        answered(std::move(answered)) {}

  const HttpRequest &request() const override { return exchange->request(); }
  void respond(HttpResponse response) override;
  void begin_stream(std::string type, HttpHeaders more) override;
  void write(std::string part) override { exchange->write(std::move(part)); }
  void end() override { exchange->end(); }
  void on_disconnect(std::function<void()> callback) override {
    exchange->on_disconnect(std::move(callback));
  }

private:
  const std::shared_ptr<HttpExchange> exchange;
  const HttpHeaders headers;
  const std::function<void(unsigned status)> answered;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_ACCESS_H
