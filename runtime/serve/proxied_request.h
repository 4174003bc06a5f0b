//===- proxied_request.h - a request that a model's process answers -------===//

#ifndef BATON_RUNTIME_SERVE_PROXIED_REQUEST_H
#define BATON_RUNTIME_SERVE_PROXIED_REQUEST_H

#include "runtime/serve/http_server.h"
#include "runtime/serve/model_pool.h"

#include <memory>
#include <string>

namespace baton {

/// Waits for the model, passes the request on, and its answer back: streams as
/// they come, other answers as a whole. A client that leaves takes its request
/// along; a model that fails is named in an error, behind what a stream has
/// sent already. Of the server's thread.
void pass_on(std::shared_ptr<HttpExchange> exchange,
             const std::shared_ptr<ModelPool> &pool, const std::string &model);

/// What of a request is passed on: neither who asks, nor the connection.
HttpRequest request_to_pass_on(const HttpRequest &request);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_PROXIED_REQUEST_H
