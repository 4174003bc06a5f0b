//===- http_server.cpp - HTTP/1.1 for many slow clients -------------------===//

#include "runtime/serve/http_server.h"

#include "runtime/error.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <sstream>

#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace baton {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

bool is_same_name(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

/// Without escapes such as %20; those that are none stay.
std::string unescape(std::string_view text) {
  auto digit = [](char letter) {
    return std::isdigit(static_cast<unsigned char>(letter)) ? letter - '0'
           : std::isxdigit(static_cast<unsigned char>(letter))
               ? std::tolower(letter) - 'a' + 10
               : -1;
  };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      result += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// As many files as the system lets this process have.
void raise_file_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1 << 16);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

class Connection;

} // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto &[key, value] : headers)
    if (is_same_name(key, name))
      return value;
  return {};
}

std::string_view HttpRequest::parameter(std::string_view name) const {
  for (std::string_view rest = query; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (entry.size() > name.size() && entry.starts_with(name) &&
        entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return {};
}

struct HttpServer::Implementation
    : std::enable_shared_from_this<HttpServer::Implementation> {
  Implementation(HttpOptions wanted, Handler handler)
      : options(std::move(wanted)), handler(std::move(handler)) {}

  void listen();
  void accept(tcp::acceptor &acceptor);
  void wait_for_signal();
  void drain();

  const HttpOptions options;
  const Handler handler;
  // One thread uses all of it.
  asio::io_context context{1};
  std::vector<tcp::acceptor> acceptors;
  asio::signal_set signals{context};
  std::function<void(int)> signal_callback;
  std::set<Connection *> connections;
  std::atomic<size_t> connection_count = 0;
  std::atomic<bool> draining = false;
  /// Whoever owns the server is about to be gone: nobody is called any more.
  bool closed = false;
};

namespace {

using Server = HttpServer::Implementation;

/// Serves one request after the other. Lives as long as an operation waits for
/// it or an exchange holds it.
class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(tcp::socket socket, std::shared_ptr<Server> server)
      : stream(std::move(socket)), server(std::move(server)) {}

  ~Connection() {
    server->connections.erase(this);
    server->connection_count = server->connections.size();
  }

  void start() {
    server->connections.insert(this);
    server->connection_count = server->connections.size();
    ErrorCode ignored;
    (void)stream.socket().set_option(tcp::no_delay(true), ignored);
    (void)stream.socket().set_option(asio::socket_base::keep_alive(true),
                                     ignored);
    // A peer that has vanished is noticed in minutes, not in hours.
    const int descriptor = stream.socket().native_handle();
    for (auto [option, value] :
         {std::pair(TCP_KEEPIDLE, 60), {TCP_KEEPINTVL, 20}, {TCP_KEEPCNT, 3}})
      setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value);
    read_header();
  }

  void close_if_idle() {
    if (state == State::Reading && !parser->is_header_done())
      close();
  }

  // Of the exchange with this number; others are over. In the server's thread.

  void respond(uint64_t number, HttpResponse &&response) {
    if (!is_open(number) || state != State::Answering)
      return;
    auto message = std::make_shared<http::response<http::string_body>>(
        static_cast<http::status>(response.status), version);
    message->set(http::field::content_type, response.type);
    for (const auto &[name, value] : response.headers)
      message->set(name, value);
    message->keep_alive(keep_alive());
    message->body() = std::move(response.body);
    const uint64_t size = message->body().size();
    message->prepare_payload();
    if (is_head) {
      message->body().clear();
      message->content_length(size);
    }
    state = State::Ending;
    expire_after(server->options.write_timeout);
    auto serializer =
        std::make_shared<http::response_serializer<http::string_body>>(
            *message);
    serializer->split(is_head);
    auto finish = [self = shared_from_this(), message, serializer](
                      ErrorCode failure, size_t) { self->written(failure); };
    if (is_head)
      http::async_write_header(stream, *serializer, std::move(finish));
    else
      http::async_write(stream, *serializer, std::move(finish));
  }

  void begin_stream(uint64_t number, const std::string &type,
                    const HttpHeaders &headers) {
    if (!is_open(number) || state != State::Answering)
      return;
    http::response<http::empty_body> message(http::status::ok, version);
    message.set(http::field::content_type, type);
    message.set(http::field::cache_control, "no-cache");
    // Proxies are to pass on what there is.
    message.set("X-Accel-Buffering", "no");
    for (const auto &[name, value] : headers)
      message.set(name, value);
    is_chunked = version >= 11;
    message.keep_alive(is_chunked && keep_alive());
    if (is_chunked)
      message.chunked(true);
    else
      closes = true;
    state = State::Streaming;
    std::ostringstream text;
    text << message.base();
    unsent += text.str();
    flush();
  }

  void write(uint64_t number, const std::string &part) {
    if (!is_open(number) || state != State::Streaming || part.empty())
      return;
    append(part);
    // Who does not read will not read the rest either.
    if (unsent.size() > most_unsent)
      return disconnect();
    flush();
  }

  void end(uint64_t number) {
    if (!is_open(number) || state != State::Streaming)
      return;
    if (is_chunked)
      unsent += "0\r\n\r\n";
    state = State::Ending;
    flush();
  }

  void on_disconnect(uint64_t number, std::function<void()> &&callback) {
    if (!is_open(number)) {
      if (number == current && !server->closed)
        callback();
      return;
    }
    disconnected = std::move(callback);
  }

  void close() {
    state = State::Closed;
    disconnected = nullptr;
    stream.expires_never();
    ErrorCode ignored;
    (void)stream.socket().close(ignored);
    unsent.clear();
  }

private:
  /// Of a client that does not read.
  static constexpr size_t most_unsent = size_t(16) << 20;

  enum class State { Reading, Answering, Streaming, Ending, Closed };

  bool is_open(uint64_t number) const {
    return number == current && state != State::Closed;
  }
  bool keep_alive() const { return !closes && !server->draining; }
  void expire_after(unsigned seconds) {
    stream.expires_after(std::chrono::seconds(seconds));
  }

  void append(std::string_view part) {
    if (!is_chunked) {
      unsent += part;
      return;
    }
    std::ostringstream size;
    size << std::hex << part.size() << "\r\n";
    unsent += size.str();
    unsent += part;
    unsent += "\r\n";
  }

  void flush() {
    if (is_writing)
      return;
    if (unsent.empty()) {
      if (state == State::Ending)
        written({});
      return;
    }
    is_writing = true;
    sending.swap(unsent);
    expire_after(server->options.write_timeout);
    asio::async_write(stream, asio::buffer(sending),
                      [self = shared_from_this()](ErrorCode failure, size_t) {
                        self->is_writing = false;
                        self->sending.clear();
                        self->stream.expires_never();
                        if (failure)
                          return self->disconnect();
                        if (self->state != State::Closed)
                          self->flush();
                      });
  }

  void read_header() {
    state = State::Reading;
    parser.emplace();
    parser->header_limit(server->options.max_header);
    parser->body_limit(server->options.max_body);
    ++current;
    disconnected = nullptr;
    is_chunked = false;
    const bool is_first = current == 1;
    expire_after(is_first ? server->options.header_timeout
                          : server->options.idle_timeout);
    http::async_read_header(
        stream, buffer, *parser,
        [self = shared_from_this()](ErrorCode failure, size_t) {
          self->header_read(failure);
        });
  }

  void header_read(ErrorCode failure) {
    if (failure)
      return refuse(failure);
    const auto &header = parser->get();
    version = header.version();
    closes = !header.keep_alive();
    is_head = header.method() == http::verb::head;
    if (is_same_name({header[http::field::expect].data(),
                      header[http::field::expect].size()},
                     "100-continue")) {
      static const std::string text = "HTTP/1.1 100 Continue\r\n\r\n";
      expire_after(server->options.write_timeout);
      asio::async_write(stream, asio::buffer(text),
                        [self = shared_from_this()](ErrorCode wrong, size_t) {
                          if (wrong)
                            return self->close();
                          self->read_body();
                        });
      return;
    }
    read_body();
  }

  void read_body() {
    if (parser->is_done())
      return handle();
    expire_after(server->options.body_timeout);
    http::async_read_some(
        stream, buffer, *parser,
        [self = shared_from_this()](ErrorCode failure, size_t) {
          if (failure)
            return self->refuse(failure);
          if (!self->parser->is_done())
            return self->read_body();
          self->handle();
        });
  }

  /// What cannot be read; the connection ends.
  void refuse(ErrorCode failure) {
    unsigned status = 0;
    const char *message = "";
    if (failure == http::error::body_limit) {
      status = 413;
      message = "the body is larger than this server takes (--max-body)";
    } else if (failure == http::error::header_limit ||
               failure == http::error::buffer_overflow) {
      status = 431;
      message = "the headers are larger than this server takes";
    } else if (failure == beast::error::timeout) {
      status = 0;
    } else if (failure.category() ==
                   http::make_error_code(http::error::bad_method).category() &&
               failure != http::error::end_of_stream &&
               failure != http::error::partial_message) {
      status = 400;
      message = "this is no HTTP/1.1 request";
    }
    if (status == 0 || state == State::Closed)
      return close();
    closes = true;
    version = 11;
    state = State::Answering;
    respond(current,
            {.status = status,
             .body = std::string("{\"error\":{\"message\":\"") + message +
                     "\",\"type\":\"invalid_request_error\","
                     "\"param\":null,\"code\":" +
                     std::to_string(status) + "}}"});
  }

  void handle();

  /// Notices a client that leaves while its answer is made.
  void watch() {
    if (is_watching)
      return;
    is_watching = true;
    stream.socket().async_wait(
        tcp::socket::wait_read, [self = shared_from_this()](ErrorCode failure) {
          self->is_watching = false;
          if (self->state != State::Answering &&
              self->state != State::Streaming)
            return;
          char byte = 0;
          const ssize_t count = recv(self->stream.socket().native_handle(),
                                     &byte, 1, MSG_PEEK | MSG_DONTWAIT);
          const bool waits = count < 0 && (errno == EAGAIN || errno == EINTR);
          if (failure || count == 0 || (count < 0 && !waits))
            return self->disconnect();
          // The next request is there already: it says nothing more.
          if (waits)
            self->watch();
        });
  }

  void written(ErrorCode failure) {
    stream.expires_never();
    disconnected = nullptr;
    if (failure || closes || server->draining) {
      if (!failure)
        shut_down();
      return close();
    }
    read_header();
  }

  /// A close() with something unread resets the connection, and takes from the
  /// client what it has not read yet.
  void shut_down() {
    ErrorCode ignored;
    (void)stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    char unread[4096];
    const int descriptor = stream.socket().native_handle();
    for (int turn = 0; turn < 64; ++turn)
      if (recv(descriptor, unread, sizeof unread, MSG_DONTWAIT) <= 0)
        break;
  }

  void disconnect() {
    auto callback = std::move(disconnected);
    disconnected = nullptr;
    close();
    if (callback)
      callback();
  }

  beast::tcp_stream stream;
  std::shared_ptr<Server> server;
  beast::flat_buffer buffer;
  std::optional<http::request_parser<http::string_body>> parser;
  State state = State::Reading;
  /// The number of the exchange.
  uint64_t current = 0;
  unsigned version = 11;
  bool closes = false, is_head = false, is_chunked = false;
  bool is_writing = false, is_watching = false;
  std::string unsent, sending;
  std::function<void()> disconnected;
};

class ConnectionExchange : public HttpExchange {
public:
  ConnectionExchange(std::shared_ptr<Connection> connection,
                     std::shared_ptr<Server> server, uint64_t number,
                     HttpRequest &&request)
      : server(std::move(server)), connection(std::move(connection)),
        number(number), own_request(std::move(request)) {}
  ~ConnectionExchange() override {
    // Connections are of the server's thread.
    if (!server->context.get_executor().running_in_this_thread())
      asio::post(server->context, [own = std::move(connection)] {});
  }

  const HttpRequest &request() const override { return own_request; }
  void respond(HttpResponse response) override {
    run([response = std::move(response)](Connection &own, uint64_t at) mutable {
      own.respond(at, std::move(response));
    });
  }
  void begin_stream(std::string type, HttpHeaders headers) override {
    run([type = std::move(type), headers = std::move(headers)](Connection &own,
                                                               uint64_t at) {
      own.begin_stream(at, type, headers);
    });
  }
  void write(std::string part) override {
    run([part = std::move(part)](Connection &own, uint64_t at) {
      own.write(at, part);
    });
  }
  void end() override {
    run([](Connection &own, uint64_t at) { own.end(at); });
  }
  void on_disconnect(std::function<void()> callback) override {
    run([callback = std::move(callback)](Connection &own, uint64_t at) mutable {
      own.on_disconnect(at, std::move(callback));
    });
  }

private:
  template <typename Function> void run(Function function) {
    asio::dispatch(server->context, [own = connection, at = number,
                                     function = std::move(function)]() mutable {
      function(*own, at);
    });
  }

  std::shared_ptr<Server> server;
  std::shared_ptr<Connection> connection;
  const uint64_t number;
  const HttpRequest own_request;
};

void Connection::handle() {
  if (server->closed)
    return close();
  stream.expires_never();
  state = State::Answering;
  http::request<http::string_body> message = parser->release();
  auto text = [](auto view) { return std::string(view.data(), view.size()); };
  HttpRequest request;
  request.method = text(message.method_string());
  const std::string target = text(message.target());
  const size_t query = std::min(target.size(), target.find('?'));
  request.path = unescape(std::string_view(target).substr(0, query));
  if (query < target.size())
    request.query = target.substr(query + 1);
  for (const auto &field : message)
    request.headers.emplace_back(text(field.name_string()),
                                 text(field.value()));
  request.body = std::move(message.body());
  watch();
  server->handler(std::make_shared<ConnectionExchange>(
      shared_from_this(), server, current, std::move(request)));
}

} // namespace

void HttpServer::Implementation::listen() {
  raise_file_limit();
  tcp::resolver resolver(context);
  uint16_t port = options.port;
  for (const std::string &host : options.hosts) {
    const std::string name = host + ":" + std::to_string(port);
    ErrorCode failure;
    auto found = resolver.resolve(host, std::to_string(port),
                                  tcp::resolver::passive, failure);
    if (failure)
      throw Error("--host: " + host +
                  " is no address of this machine: " + failure.message());
    const tcp::endpoint endpoint = found.begin()->endpoint();
    tcp::acceptor acceptor(context);
    (void)acceptor.open(endpoint.protocol(), failure);
    if (!failure)
      (void)acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
    if (!failure && endpoint.protocol() == tcp::v6())
      (void)acceptor.set_option(asio::ip::v6_only(true), failure);
    if (!failure)
      (void)acceptor.bind(endpoint, failure);
    if (!failure)
      (void)acceptor.listen(asio::socket_base::max_listen_connections, failure);
    if (failure)
      throw Error("--port: cannot listen at " + name + ": " +
                  failure.message());
    // All hosts have the same.
    port = acceptor.local_endpoint().port();
    acceptors.push_back(std::move(acceptor));
  }
  for (tcp::acceptor &acceptor : acceptors)
    accept(acceptor);
}

void HttpServer::Implementation::accept(tcp::acceptor &acceptor) {
  acceptor.async_accept([self = shared_from_this(),
                         &acceptor](ErrorCode failure, tcp::socket socket) {
    if (!acceptor.is_open())
      return;
    if (failure == asio::error::no_descriptors ||
        failure == asio::error::no_buffer_space ||
        failure == asio::error::no_memory) {
      // Some have to leave first; not to ask again at once leaves time for it.
      auto timer = std::make_shared<asio::steady_timer>(
          self->context, std::chrono::milliseconds(100));
      timer->async_wait([self, timer, &acceptor](ErrorCode) {
        if (acceptor.is_open())
          self->accept(acceptor);
      });
      return;
    }
    // One more than there may be goes away without a word.
    if (!failure && self->connections.size() < self->options.max_connections)
      std::make_shared<Connection>(std::move(socket), self)->start();
    self->accept(acceptor);
  });
}

void HttpServer::Implementation::wait_for_signal() {
  signals.async_wait(
      [self = shared_from_this()](ErrorCode failure, int signal) {
        if (failure)
          return;
        self->signal_callback(signal);
        self->wait_for_signal();
      });
}

void HttpServer::Implementation::drain() {
  draining = true;
  for (tcp::acceptor &acceptor : acceptors) {
    ErrorCode ignored;
    (void)acceptor.close(ignored);
  }
  const std::set<Connection *> all = connections;
  for (Connection *connection : all)
    connection->close_if_idle();
}

HttpServer::HttpServer(HttpOptions options, Handler handler)
    : implementation(std::make_shared<Implementation>(std::move(options),
                                                      std::move(handler))) {
  implementation->listen();
}

HttpServer::~HttpServer() {
  // What waits holds the implementation, and would for ever.
  implementation->closed = true;
  implementation->drain();
  ErrorCode ignored;
  (void)implementation->signals.cancel(ignored);
  const std::set<Connection *> all = implementation->connections;
  for (Connection *connection : all)
    connection->close();
  implementation->context.restart();
  implementation->context.poll();
}

uint16_t HttpServer::port() const {
  return implementation->acceptors.front().local_endpoint().port();
}

size_t HttpServer::connections() const {
  return implementation->connection_count;
}

void HttpServer::run() {
  auto work = asio::make_work_guard(implementation->context);
  implementation->context.run();
}

void HttpServer::post(std::function<void()> function) {
  asio::post(implementation->context,
             [own = implementation, function = std::move(function)] {
               if (!own->closed)
                 function();
             });
}

void HttpServer::post_after(double seconds, std::function<void()> function) {
  auto timer = std::make_shared<asio::steady_timer>(
      implementation->context,
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(seconds)));
  timer->async_wait([timer, own = implementation,
                     function = std::move(function)](ErrorCode failure) {
    if (!failure && !own->closed)
      function();
  });
}

void HttpServer::on_signal(std::function<void(int signal)> callback) {
  implementation->signal_callback = std::move(callback);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    implementation->signals.add(signal);
  implementation->wait_for_signal();
}

void HttpServer::drain() { implementation->drain(); }

void HttpServer::stop() { implementation->context.stop(); }

asio::io_context &HttpServer::context() { return implementation->context; }

} // namespace baton
