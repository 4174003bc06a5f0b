//===- api_error.h - why a request to the server fails --------------------===//

#ifndef BATON_RUNTIME_SERVE_API_ERROR_H
#define BATON_RUNTIME_SERVE_API_ERROR_H

#include "runtime/error.h"

#include <nlohmann/json.hpp>

#include <string>

namespace baton {

/// An error with a status of HTTP, and a type as OpenAI's API names it. The
/// message begins with the key at fault, where there is one: "seed: expected".
struct ApiError : Error {
  ApiError(unsigned status, std::string type, const std::string &message)
      : Error(message), status(status), type(std::move(type)) {}

  unsigned status;
  std::string type;
  /// Further keys of the error; they come instead of others of their name.
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
};

/// What a client has to change.
inline ApiError invalid_request(const std::string &message) {
  return {400, "invalid_request_error", message};
}
inline ApiError not_found(const std::string &message) {
  return {404, "not_found_error", message};
}
/// The client may try again.
inline ApiError overloaded(const std::string &message) {
  return {503, "overloaded_error", message};
}
inline ApiError server_fault(const std::string &message) {
  return {500, "server_error", message};
}

/// What no request of this server gets.
inline ApiError not_supported(const std::string &message) {
  return {501, "not_supported_error", message};
}

/// {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}
nlohmann::ordered_json error_json(const ApiError &error);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_API_ERROR_H
