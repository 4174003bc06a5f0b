//===- http_client.h - asks a server on this machine ----------------------===//
//
// In the thread of a server's context, beside its connections.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_HTTP_CLIENT_H
#define BATON_RUNTIME_SERVE_HTTP_CLIENT_H

#include "runtime/serve/http_server.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace baton {

/// What becomes of a request: a beginning, parts and an end, or at any point a
/// failure, behind which there is nothing.
struct HttpAnswer {
  struct Head {
    unsigned status = 0;
    /// Whether it comes in chunks, as a stream does; else it has a length.
    bool chunked = false;
    HttpHeaders headers;
  };
  std::function<void(Head head)> begin;
  std::function<void(std::string_view part)> part;
  std::function<void()> end;
  std::function<void(const std::string &why)> fail;
};

/// A request that was sent. It goes on without anybody who holds it.
class HttpCall {
public:
  virtual ~HttpCall() = default;
  /// Closes the connection; nothing of the answer is called any more.
  virtual void cancel() = 0;
};

/// Asks one server at 127.0.0.1. Connections are used again. Nothing has a
/// limit of time but connecting: an answer may take what it takes, and a peer
/// on the same machine does not vanish without its connections.
class HttpClient {
public:
  HttpClient(boost::asio::io_context &context, uint16_t port);
  /// Calls go on.
  ~HttpClient();
  HttpClient(const HttpClient &) = delete;
  HttpClient &operator=(const HttpClient &) = delete;

  /// Sends method, path, query, headers and body. The headers that make a
  /// message ("Host", "Content-Length", "Connection" ...) are the client's own.
  std::shared_ptr<HttpCall> ask(HttpRequest request, HttpAnswer answer);
  /// Cancels all calls.
  void close();

  struct Implementation;

private:
  std::shared_ptr<Implementation> implementation;
};

/// Whether a header says something of a connection, not of a message: whoever
/// passes a message on leaves it out (RFC 9110, 7.6.1).
bool is_connection_header(std::string_view name);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_HTTP_CLIENT_H
