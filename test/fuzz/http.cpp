//===- http.cpp - fuzz: bytes on a connection to the server ---------------===//
//
// Each input is sent over a connection of its own, whole or in two pieces, and
// the client's half is closed. A zero byte at its beginning means that the
// client leaves at once.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/http_server.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace baton;

namespace {

void answer(const std::shared_ptr<HttpExchange> &exchange) {
  const HttpRequest &request = exchange->request();
  const std::string seen = request.method + " " + request.path + " " +
                           std::string(request.parameter("key")) + " " +
                           std::string(request.header("X-Key"));
  exchange->on_disconnect([] {});
  if (request.path.starts_with("/stream")) {
    exchange->begin_stream("text/event-stream");
    for (size_t i = 0; i < 1 + request.body.size() % 5; ++i)
      exchange->write("data: " + std::to_string(i) + "\n\n");
    return exchange->end();
  }
  exchange->respond({.body = seen + std::to_string(request.body.size())});
}

/// A server in a thread that never ends.
HttpServer &server() {
  static HttpServer *const running = [] {
    auto *made = new HttpServer({.max_body = 4096, .max_header = 2048}, answer);
    std::thread([made] { made->run(); }).detach();
    return made;
  }();
  return *running;
}

int connection() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(server().port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (descriptor < 0 ||
      connect(descriptor, reinterpret_cast<sockaddr *>(&address),
              sizeof address) != 0) {
    std::perror("a connection");
    std::abort();
  }
  const timeval limit = {30, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return descriptor;
}

void send_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0)
      return; // It has refused what came before.
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

/// What comes up to the end, which has to come.
std::string receive_all(int descriptor) {
  std::string seen;
  char bytes[4096];
  for (;;) {
    const ssize_t count = recv(descriptor, bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      std::fputs("the server neither answers nor closes\n", stderr);
      std::abort();
    }
    if (count <= 0)
      return seen;
    seen.append(bytes, static_cast<size_t>(count));
  }
}

/// Closed without a wait for what is on its way: thousands of connections would
/// be left.
void leave(int descriptor) {
  const linger at_once = {1, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(descriptor);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const int descriptor = connection();
  const bool leaves = !bytes.empty() && bytes.front() == 0;
  bytes.remove_prefix(leaves);
  if (size % 3 == 0) {
    send_all(descriptor, bytes.substr(0, size / 2));
    bytes.remove_prefix(std::min(bytes.size(), size / 2));
  }
  send_all(descriptor, bytes);
  if (!leaves) {
    shutdown(descriptor, SHUT_WR);
    const std::string seen = receive_all(descriptor);
    if (!seen.empty() && !seen.starts_with("HTTP/1.")) {
      std::fprintf(stderr, "no response: %s\n", seen.c_str());
      std::abort();
    }
    if (seen.starts_with("HTTP/1.1 5"))
      std::abort();
  }
  leave(descriptor);
  // Nobody is in the way of the next one.
  static unsigned turn = 0;
  if (++turn % 64 == 0) {
    const int good = connection();
    send_all(good, "GET /a?key=b HTTP/1.1\r\nConnection: close\r\n\r\n");
    if (receive_all(good).find("GET /a b ") == std::string::npos)
      std::abort();
    leave(good);
  }
  return 0;
}
