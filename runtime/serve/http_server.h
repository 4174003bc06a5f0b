//===- http_server.h - HTTP/1.1 for many slow clients ---------------------===//
//
// One thread serves all connections: most are streams that wait for their next
// token, and a thread for each of a thousand would be a thousand stacks.
// Boost's Beast does the protocol. What takes long, such as reading a large
// body's JSON, belongs to other threads, which may call an exchange at any
// time.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_HTTP_SERVER_H
#define BATON_RUNTIME_SERVE_HTTP_SERVER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace baton {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  /// "GET"
  std::string method;
  /// Without the query, and without escapes.
  std::string path;
  std::string query;
  HttpHeaders headers;
  std::string body;

  /// Of the first one with this name, in any case; empty without.
  std::string_view header(std::string_view name) const;
  /// The value of NAME=VALUE in the query; empty without.
  std::string_view parameter(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body = {};
  HttpHeaders headers = {};
};

/// One request and its answer, which is either one response, or a stream that
/// begins, has parts and ends. Once the client is gone nothing of it has an
/// effect. From any thread.
class HttpExchange {
public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest &request() const = 0;
  virtual void respond(HttpResponse response) = 0;
  virtual void begin_stream(std::string type, HttpHeaders headers = {}) = 0;
  virtual void write(std::string part) = 0;
  virtual void end() = 0;
  /// Called once, by the server's thread, if the client leaves before its
  /// answer is there, or does not read it; at once if it has left already.
  virtual void on_disconnect(std::function<void()> callback) = 0;
};

struct HttpOptions {
  /// Addresses to listen at, names or numbers.
  std::vector<std::string> hosts = {"127.0.0.1"};
  /// 0: any that is free.
  uint16_t port = 0;
  /// Bytes of a request's body.
  uint64_t max_body = uint64_t(64) << 20;
  /// Bytes of a request's headers.
  uint32_t max_header = 32 << 10;
  size_t max_connections = 8192;
  /// Seconds without anything: until a request's header is there, between parts
  /// of its body, and until a client reads more of what is written.
  unsigned header_timeout = 30, body_timeout = 60, write_timeout = 120;
  /// Seconds that a connection may wait for its next request.
  unsigned idle_timeout = 120;
};

class HttpServer {
public:
  using Handler = std::function<void(std::shared_ptr<HttpExchange>)>;

  /// Listens. `handler` is called by the server's thread. Throws Error that
  /// names the address.
  HttpServer(HttpOptions options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer &) = delete;
  HttpServer &operator=(const HttpServer &) = delete;

  /// The one that it listens at.
  uint16_t port() const;
  size_t connections() const;

  /// Serves, in this thread, until stop(). Throws what a handler throws.
  void run();
  /// Runs a function in that thread soon. From any thread.
  void post(std::function<void()> function);
  /// The same in so many seconds.
  void post_after(double seconds, std::function<void()> function);
  /// Calls back at each of SIGINT, SIGTERM and SIGHUP, instead of what they do.
  void on_signal(std::function<void(int signal)> callback);
  /// No more connections, and those that wait for a request are closed; others
  /// close behind their answers.
  void drain();
  /// Ends run().
  void stop();
  /// Runs in that thread, too, what else waits for others.
  boost::asio::io_context &context();

  struct Implementation;

private:
  std::shared_ptr<Implementation> implementation;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_HTTP_SERVER_H
