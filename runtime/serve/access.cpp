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

HttpHeaders origin_headers(const HttpRequest &request,
                           const std::vector<std::string> &origins) {
  const std::string origin(request.header("Origin"));
  if (origin.empty() || (std::ranges::find(origins, "*") == origins.end() &&
                         std::ranges::find(origins, origin) == origins.end()))
    return {};
  HttpHeaders headers = {{"Access-Control-Allow-Origin", origin},
                         {"Access-Control-Allow-Credentials", "true"},
                         {"Vary", "Origin"}};
  if (request.method == "OPTIONS") {
    headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
    headers.emplace_back("Access-Control-Allow-Headers", "*");
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
