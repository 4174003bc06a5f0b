//===- http_client.cpp - asks a server on this machine --------------------===//

#include "runtime/serve/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace baton {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr unsigned connect_timeout = 10;
/// Servers close what is idle for longer; ours does after 120 s.
constexpr std::chrono::seconds most_idle(60);
constexpr size_t most_idle_connections = 64;

struct ClientConnection {
  explicit ClientConnection(asio::io_context &context) : stream(context) {}

  /// Whether the peer has said nothing, not even that it has closed.
  bool is_quiet() {
    char byte = 0;
    return recv(stream.socket().native_handle(), &byte, 1,
                MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  beast::tcp_stream stream;
  beast::flat_buffer buffer;
  Clock::time_point idle_since;
};

class ClientCall;

/// As a path of a URL (RFC 3986, 3.3).
std::string escape_path(std::string_view path) {
  static constexpr std::string_view plain = "-._~!$&'()*+,;=:@/";
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const unsigned char letter : path) {
    if (std::isalnum(letter) || plain.find(char(letter)) != plain.npos) {
      result += char(letter);
      continue;
    }
    result += '%';
    result += digits[letter / 16];
    result += digits[letter % 16];
  }
  return result;
}

} // namespace

bool is_connection_header(std::string_view name) {
  static constexpr std::array<std::string_view, 12> names = {
      "connection",
      "content-length",
      "expect",
      "host",
      "keep-alive",
      "proxy-authenticate",
      "proxy-authorization",
      "te",
      "trailer",
      "transfer-encoding",
      "upgrade",
      "proxy-connection"};
  return std::ranges::any_of(names, [&](std::string_view own) {
    return std::ranges::equal(name, own, [](unsigned char a, char b) {
      return std::tolower(a) == b;
    });
  });
}

struct HttpClient::Implementation {
  Implementation(asio::io_context &context, uint16_t port)
      : context(context), endpoint(asio::ip::address_v4::loopback(), port) {}

  asio::io_context &context;
  const tcp::endpoint endpoint;
  std::vector<std::unique_ptr<ClientConnection>> idle;
  std::set<ClientCall *> calls;
  bool closed = false;
};

namespace {

/// Lives as long as an operation waits for it, or its caller holds it.
class ClientCall : public HttpCall,
                   public std::enable_shared_from_this<ClientCall> {
public:
  ClientCall(std::shared_ptr<HttpClient::Implementation> client,
             HttpRequest &&request, HttpAnswer &&answer)
      : client(std::move(client)),
        answer(std::make_shared<HttpAnswer>(std::move(answer))) {
    const std::string target =
        escape_path(request.path) +
        (request.query.empty() ? "" : "?" + request.query);
    message.version(11);
    message.method_string(request.method);
    message.target(target);
    for (const auto &[name, value] : request.headers)
      if (!is_connection_header(name))
        message.insert(name, value);
    message.set(http::field::host, "127.0.0.1");
    message.body() = std::move(request.body);
    message.prepare_payload();
    this->client->calls.insert(this);
  }
  ~ClientCall() override { client->calls.erase(this); }

  void start() {
    while (!client->idle.empty()) {
      connection = std::move(client->idle.back());
      client->idle.pop_back();
      if (Clock::now() - connection->idle_since < most_idle &&
          connection->is_quiet()) {
        is_used = true;
        return write();
      }
    }
    connect();
  }

  void cancel() override {
    is_over = true;
    answer = nullptr;
    if (connection) {
      ErrorCode ignored;
      (void)connection->stream.socket().close(ignored);
    }
  }

private:
  template <typename Member> auto then(Member member) {
    return [self = shared_from_this(), member](ErrorCode failure, auto...) {
      if (!self->is_over)
        ((*self).*member)(failure);
    };
  }

  void connect() {
    is_used = false;
    connection = std::make_unique<ClientConnection>(client->context);
    connection->stream.expires_after(std::chrono::seconds(connect_timeout));
    connection->stream.async_connect(client->endpoint,
                                     then(&ClientCall::connected));
  }

  void connected(ErrorCode failure) {
    if (failure)
      return fail(failure);
    ErrorCode ignored;
    (void)connection->stream.socket().set_option(tcp::no_delay(true), ignored);
    write();
  }

  void write() {
    connection->stream.expires_never();
    http::async_write(connection->stream, message, then(&ClientCall::written));
  }

  /// A server may answer, and close, before it has read a body: so what became
  /// of the writing shows in reading.
  void written(ErrorCode) {
    parser.emplace();
    parser->header_limit(1 << 20);
    parser->body_limit(std::numeric_limits<uint64_t>::max());
    http::async_read_header(connection->stream, connection->buffer, *parser,
                            then(&ClientCall::header_read));
  }

  void header_read(ErrorCode failure) {
    // It was closed when nothing was asked: the server has not seen the
    // request.
    if (failure && is_used)
      return connect();
    if (failure)
      return fail(failure);
    HttpAnswer::Head head = {.status = parser->get().result_int(),
                             .chunked = parser->chunked(),
                             .headers = {}};
    for (const auto &field : parser->get())
      head.headers.emplace_back(
          std::string(field.name_string().data(), field.name_string().size()),
          std::string(field.value().data(), field.value().size()));
    const std::shared_ptr<HttpAnswer> own = answer;
    own->begin(std::move(head));
    if (!is_over)
      read();
  }

  void read() {
    if (parser->is_done())
      return finish();
    parser->get().body().data = part.data();
    parser->get().body().size = part.size();
    http::async_read_some(connection->stream, connection->buffer, *parser,
                          then(&ClientCall::part_read));
  }

  void part_read(ErrorCode failure) {
    if (failure && failure != http::error::need_buffer)
      return fail(failure);
    const size_t size = part.size() - parser->get().body().size;
    const std::shared_ptr<HttpAnswer> own = answer;
    if (size > 0)
      own->part({part.data(), size});
    if (!is_over)
      read();
  }

  void finish() {
    is_over = true;
    if (parser->keep_alive() && !client->closed &&
        client->idle.size() < most_idle_connections) {
      connection->idle_since = Clock::now();
      client->idle.push_back(std::move(connection));
    }
    const std::shared_ptr<HttpAnswer> last = std::exchange(answer, nullptr);
    last->end();
  }

  void fail(ErrorCode failure) {
    const std::shared_ptr<HttpAnswer> last = std::exchange(answer, nullptr);
    cancel();
    last->fail(failure.message());
  }

  const std::shared_ptr<HttpClient::Implementation> client;
  /// Whoever is called may cancel, and is not to vanish by that.
  std::shared_ptr<HttpAnswer> answer;
  http::request<http::string_body> message;
  std::unique_ptr<ClientConnection> connection;
  std::optional<http::response_parser<http::buffer_body>> parser;
  std::array<char, 16 << 10> part;
  bool is_used = false, is_over = false;
};

} // namespace

HttpClient::HttpClient(asio::io_context &context, uint16_t port)
    : implementation(std::make_shared<Implementation>(context, port)) {}

HttpClient::~HttpClient() {
  implementation->closed = true;
  implementation->idle.clear();
}

std::shared_ptr<HttpCall> HttpClient::ask(HttpRequest request,
                                          HttpAnswer answer) {
  auto call = std::make_shared<ClientCall>(implementation, std::move(request),
                                           std::move(answer));
  call->start();
  return call;
}

void HttpClient::close() {
  implementation->closed = true;
  implementation->idle.clear();
  const std::set<ClientCall *> all = implementation->calls;
  for (ClientCall *call : all)
    call->cancel();
}

} // namespace baton
