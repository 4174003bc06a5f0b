//===- HttpServerTest.cpp - HTTP/1.1 for many slow clients ----------------===//

#include "runtime/serve/http_server.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace baton {
namespace {

using namespace std::chrono_literals;

/// A server in a thread of its own.
class RunningServer {
public:
  explicit RunningServer(HttpServer::Handler handler, HttpOptions options = {})
      : server(std::move(options), std::move(handler)),
        thread([this] { server.run(); }) {}
  ~RunningServer() {
    server.stop();
    thread.join();
  }

  HttpServer server;

private:
  std::thread thread;
};

class Client {
public:
  explicit Client(const HttpServer &server)
      : descriptor(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr *>(&address),
                      sizeof address),
              0);
    timeval limit = {20, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  Client(const Client &) = delete;
  ~Client() { leave(); }

  void leave() {
    if (descriptor >= 0)
      close(descriptor);
    descriptor = -1;
  }
  void send(const std::string &text) const {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = ::send(descriptor, text.data() + sent,
                                   text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0)
        return;
      sent += static_cast<size_t>(count);
    }
  }
  /// Up to a text, or the end.
  std::string read_until(const std::string &end) {
    while (end.empty() || seen.find(end) == std::string::npos) {
      char bytes[4096];
      const ssize_t count = recv(descriptor, bytes, sizeof bytes, 0);
      if (count <= 0)
        return seen;
      seen.append(bytes, static_cast<size_t>(count));
    }
    return seen;
  }

private:
  int descriptor;
  std::string seen;
};

bool has(const std::string &text, const std::string &what) {
  return text.find(what) != std::string::npos;
}

bool comes(const std::function<bool()> &condition) {
  for (int turn = 0; turn < 2000 && !condition(); ++turn)
    std::this_thread::sleep_for(5ms);
  return condition();
}

void echo(const std::shared_ptr<HttpExchange> &exchange) {
  const HttpRequest &request = exchange->request();
  exchange->respond({.body = request.method + " " + request.path + " " +
                             std::string(request.parameter("key")) + " " +
                             request.body});
}

TEST(HttpServer, RequestsOfAConnectionAreAnsweredInTheirOrder) {
  RunningServer running(echo);
  Client client(running.server);
  client.send("GET /a%20b?x=1&key=two HTTP/1.1\r\nHost: h\r\n\r\n"
              "POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
  const std::string found = client.read_until("POST /c  body");
  EXPECT_TRUE(has(found, "GET /a b two ")) << found;
  EXPECT_LT(found.find("GET /a"), found.find("POST /c")) << found;
}

TEST(HttpServer, HeadHasNoBody) {
  RunningServer running(echo);
  Client client(running.server);
  client.send("HEAD /x HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string found = client.read_until("");
  EXPECT_TRUE(has(found, "Content-Length: 9\r\n")) << found;
  EXPECT_TRUE(found.ends_with("\r\n\r\n")) << found;
}

TEST(HttpServer, OldClientsGetStreamsWithoutChunks) {
  RunningServer running([](const std::shared_ptr<HttpExchange> &exchange) {
    exchange->begin_stream("text/plain");
    exchange->write("one ");
    exchange->write("two");
    exchange->end();
  });
  Client old(running.server), recent(running.server);
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.read_until("").ends_with("\r\n\r\none two"));
  recent.send("GET / HTTP/1.1\r\n\r\n");
  const std::string found = recent.read_until("0\r\n\r\n");
  EXPECT_TRUE(has(found, "Transfer-Encoding: chunked")) << found;
  EXPECT_TRUE(has(found, "4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")) << found;
}

TEST(HttpServer, WhatIsTooLargeOrNoHttpIsRefused) {
  RunningServer running(echo, {.max_body = 10, .max_header = 200});
  for (auto [request, status] :
       {std::pair<std::string, std::string>{"nonsense\r\n\r\n", "400"},
        {"GET / HTTP/1.1\r\nX: " + std::string(500, 'x') + "\r\n\r\n", "431"},
        {"POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n01234567890", "413"}}) {
    Client client(running.server);
    client.send(request);
    const std::string found = client.read_until("");
    EXPECT_TRUE(has(found, "HTTP/1.1 " + status)) << found;
  }
}

TEST(HttpServer, AClientThatLeavesIsNoticed) {
  std::atomic<int> left = 0;
  RunningServer running([&](const std::shared_ptr<HttpExchange> &exchange) {
    if (exchange->request().path == "/stream")
      exchange->begin_stream("text/plain");
    exchange->on_disconnect([&left, exchange] { ++left; });
  });
  for (const char *path : {"/stream", "/answer"}) {
    const int before = left;
    Client client(running.server);
    client.send(std::string("GET ") + path + " HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(comes([&] { return running.server.connections() == 1; }));
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(left, before);
    client.leave();
    EXPECT_TRUE(comes([&] { return left == before + 1; })) << path;
    EXPECT_TRUE(comes([&] { return running.server.connections() == 0; }));
  }
}

TEST(HttpServer, OtherThreadsMayAnswer) {
  std::vector<std::thread> threads;
  RunningServer running([&](const std::shared_ptr<HttpExchange> &exchange) {
    threads.emplace_back([exchange] {
      exchange->begin_stream("text/plain");
      for (int i = 0; i < 100; ++i)
        exchange->write(std::to_string(i) + ";");
      exchange->end();
    });
  });
  Client client(running.server);
  client.send("GET / HTTP/1.0\r\n\r\n");
  std::string expected;
  for (int i = 0; i < 100; ++i)
    expected += std::to_string(i) + ";";
  EXPECT_TRUE(client.read_until("").ends_with("\r\n\r\n" + expected));
  for (std::thread &thread : threads)
    thread.join();
}

/// What it does not read must not be kept for ever, nor keep others waiting.
TEST(HttpServer, AClientThatDoesNotReadIsDropped) {
  std::atomic<bool> left = false;
  RunningServer running([&](const std::shared_ptr<HttpExchange> &exchange) {
    if (exchange->request().path != "/flood")
      return echo(exchange);
    exchange->on_disconnect([&] { left = true; });
    exchange->begin_stream("text/plain");
    for (int i = 0; i < 64; ++i)
      exchange->write(std::string(1 << 20, 'x'));
  });
  Client slow(running.server), other(running.server);
  slow.send("GET /flood HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(comes([&] { return left.load(); }));
  other.send("GET /other HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(has(other.read_until("GET /other"), "200 OK"));
}

TEST(HttpServer, QuietConnectionsEnd) {
  RunningServer running(echo, {.header_timeout = 1});
  Client client(running.server);
  client.send("GET / HT");
  EXPECT_EQ(client.read_until(""), "");
}

TEST(HttpServer, DrainingClosesWhatWaits) {
  std::vector<std::shared_ptr<HttpExchange>> waiting;
  std::atomic<bool> has_one = false;
  RunningServer running([&](const std::shared_ptr<HttpExchange> &exchange) {
    waiting.push_back(exchange);
    has_one = true;
  });
  Client idle(running.server), busy(running.server);
  busy.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(comes([&] { return has_one.load(); }));
  running.server.post([&] { running.server.drain(); });
  EXPECT_EQ(idle.read_until(""), "");
  running.server.post([&] { waiting.front()->respond({.body = "late"}); });
  const std::string found = busy.read_until("");
  EXPECT_TRUE(has(found, "late") && has(found, "Connection: close")) << found;
}

TEST(HttpServer, APortInUseIsNamed) {
  RunningServer running(echo);
  try {
    HttpServer second({.port = running.server.port()}, echo);
    FAIL();
  } catch (const Error &error) {
    EXPECT_TRUE(has(error.what(), "cannot listen at 127.0.0.1:"));
  }
}

} // namespace
} // namespace baton
