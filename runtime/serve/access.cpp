//===- access.cpp - who may ask, and how all answers are marked -----------===//

#include "runtime/serve/access.h"

#include "runtime/serve/api_json.h"
#include "runtime/serve/dialects.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace baton {

/// Takes the same time for all keys of a length.
static bool is_equal_key(std::string_view left, std::string_view right) {
  unsigned difference = left.size() != right.size();
  for (size_t i = 0; i < left.size() && i < right.size(); ++i)
    difference |= static_cast<unsigned char>(left[i]) ^
                  static_cast<unsigned char>(right[i]);
  return difference == 0;
}

bool has_key(const HttpRequest &request, const std::vector<std::string> &keys) {
  if (keys.empty())
    return true;
  std::string_view key = request.header("Authorization");
  if (constexpr std::string_view scheme = "Bearer "; key.starts_with(scheme))
    key.remove_prefix(scheme.size());
  else
    key = request.header("X-Api-Key");
  bool allowed = false;
  for (const std::string &own : keys)
    allowed |= is_equal_key(own, key);
  return allowed;
}

ApiError key_wanted() {
  return {401, "authentication_error",
          "this server wants a key: Authorization: Bearer KEY"};
}

/// "http://localhost:3000" and such: of this machine, at any port.
static bool is_local(std::string_view origin) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos)
    return false;
  std::string_view host = origin.substr(scheme + 3);
  if (const size_t port = host.rfind(':');
      port != std::string_view::npos && host.find(']', port) == host.npos)
    host = host.substr(0, port);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

HttpHeaders origin_headers(const HttpRequest &request,
                           const std::vector<std::string> &origins) {
  const std::string origin(request.header("Origin"));
  auto allows = [&](const std::string &own) {
    return own == "*" || own == origin ||
           (own == "localhost" && is_local(origin));
  };
  if (origin.empty() || std::ranges::none_of(origins, allows))
    return {};
  HttpHeaders headers = {{"Access-Control-Allow-Origin", origin},
                         {"Access-Control-Allow-Credentials", "true"},
                         {"Vary", "Origin"}};
  if (request.method == "OPTIONS") {
    headers.emplace_back("Access-Control-Allow-Methods",
                         "GET, POST, DELETE, OPTIONS");
    // To a browser "*" is all but Authorization.
    const std::string_view wanted =
        request.header("Access-Control-Request-Headers");
    headers.emplace_back("Access-Control-Allow-Headers",
                         wanted.empty() ? "*" : std::string(wanted));
  }
  return headers;
}

void respond(HttpExchange &exchange, const nlohmann::ordered_json &json,
             unsigned status) {
  exchange.respond({.status = status, .body = json_text(json)});
}

nlohmann::ordered_json refusal_json(const HttpRequest &request,
                                    const ApiError &error) {
  return request.path.starts_with("/v1/messages") ? messages_error_json(error)
                                                  : error_json(error);
}

void refuse(HttpExchange &exchange, const ApiError &error) {
  HttpHeaders headers;
  if (error.status == 503)
    headers.emplace_back("Retry-After", "1");
  if (error.status == 401)
    headers.emplace_back("WWW-Authenticate", "Bearer");
  exchange.respond({.status = error.status,
                    .body = json_text(refusal_json(exchange.request(), error)),
                    .headers = std::move(headers)});
}

void end_with_error(HttpExchange &exchange, const ApiError &error,
                    bool has_begun) {
  if (!has_begun)
    return respond(exchange, error_json(error), error.status);
  exchange.write(event_text(error_json(error)));
  exchange.end();
}

void MarkedExchange::respond(HttpResponse response) {
  answered(response.status);
  response.headers.insert(response.headers.end(), headers.begin(),
                          headers.end());
  exchange->respond(std::move(response));
}

void MarkedExchange::begin_stream(std::string type, HttpHeaders more) {
  answered(200);
  more.insert(more.end(), headers.begin(), headers.end());
  exchange->begin_stream(std::move(type), std::move(more));
}

} // namespace baton
