//===- ModelRouterTest.cpp - several models behind one address ------------===//

#include "runtime/serve/model_router.h"

#include "runtime/error.h"
#include "runtime/serve/http_client.h"
#include "runtime/serve/merged_metrics.h"
#include "runtime/serve/model_folder.h"
#include "runtime/serve/model_process.h"
#include "runtime/serve/proxied_request.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace baton {
namespace {

using namespace std::chrono_literals;
namespace files = std::filesystem;

std::string refusal_of(const std::string &body) {
  try {
    read_model_name(body);
  } catch (const ApiError &error) {
    return error.what();
  }
  return {};
}

TEST(ModelNames, AreThoseOfTheOutermostObject) {
  EXPECT_EQ(read_model_name(R"({"prompt": "x", "model": "a"})"), "a");
  EXPECT_EQ(read_model_name(R"({"options": {"model": "b"}, "list":
                                [{"model": "c"}, 1, null], "model": "a"})"),
            "a");
  EXPECT_EQ(read_model_name(R"({"options": {"model": "b"}})"), std::nullopt);
  // The model's own server says what is wrong behind it.
  EXPECT_EQ(read_model_name(R"({"model": "a", )"), "a");
}

TEST(ModelNames, BodiesWithoutAreRefused) {
  EXPECT_EQ(refusal_of(R"({"model": 3})"), "model: expected a text");
  EXPECT_EQ(refusal_of(R"({"model": {"name": "a"}})"),
            "model: expected a text");
  EXPECT_EQ(refusal_of(R"({"model": null})"), "model: expected a text");
  EXPECT_EQ(refusal_of("[]"), "the body is no JSON object");
  EXPECT_EQ(refusal_of("\"model\""), "the body is no JSON object");
  for (const char *text : {"", "{", "{\"a\": }", "{\"a\": \"\xff\"}"})
    EXPECT_TRUE(refusal_of(text).starts_with("the body is no JSON: ")) << text;
  EXPECT_TRUE(refusal_of("{\"a\": " + std::string(1'000'000, '['))
                  .starts_with("the body is no JSON: "));
}

TEST(MergedMetrics, EachStandsOnceWithAllSamples) {
  const std::vector<std::string> texts = {
      "# HELP a One\n# TYPE a counter\na{m=\"x\"} 1\n"
      "# HELP h Two\n# TYPE h histogram\nh_bucket{m=\"x\",le=\"+Inf\"} 2\n"
      "h_sum{m=\"x\"} 3\n",
      "# HELP h Other\n# TYPE h histogram\nh_bucket{m=\"y\",le=\"+Inf\"} 5\n"
      "# HELP a One\n# TYPE a counter\na{m=\"y\"} 4\n"
      "# HELP z Three\n# TYPE z gauge\nz{m=\"y\"} 6",
      ""};
  EXPECT_EQ(merge_metrics(texts),
            "# HELP a One\n# TYPE a counter\na{m=\"x\"} 1\na{m=\"y\"} 4\n"
            "# HELP h Two\n# TYPE h histogram\nh_bucket{m=\"x\",le=\"+Inf\"} "
            "2\nh_sum{m=\"x\"} 3\nh_bucket{m=\"y\",le=\"+Inf\"} 5\n"
            "# HELP z Three\n# TYPE z gauge\nz{m=\"y\"} 6\n");
}

TEST(Words, BlanksPartAndQuotesJoinThem) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_words("--a 1\n--b=\"x y\"\t\"\"\n"),
            (Words{"--a", "1", "--b=x y", ""}));
  EXPECT_EQ(split_words("# --a\n  # --b\n--c #d\r\n"), (Words{"--c", "#d"}));
  EXPECT_EQ(split_words(""), Words{});
  EXPECT_THROW(split_words("--a \"x"), Error);
}

/// A folder that goes with the test.
class Folder {
public:
  Folder() {
    std::string name =
        (files::temp_directory_path() / "models-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { files::remove_all(path); }
  Folder(const Folder &) = delete;

  files::path write(const std::string &name, const std::string &text) const {
    files::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return path / name;
  }
  files::path script(const std::string &name, const std::string &text) const {
    const files::path file = write(name, "#!/bin/sh\n" + text);
    files::permissions(file, files::perms::owner_all);
    return file;
  }

  files::path path;
};

constexpr const char *info_script =
    "echo '{\"memory\": {\"weights\": 1000, \"activations\": 20, \"kv\": 9}, "
    "\"max_seq\": 130, \"batch\": {\"max_sequences\": 4, \"page_positions\": "
    "64, \"page_bytes\": 100}}'\n";

TEST(ModelFolder, TellsWhatModelsNeed) {
  const Folder folder;
  folder.script("a/program", info_script);
  folder.write("a/weights.gguf", "");
  folder.write("a/flags.txt", "--quiet --kv-memory=5");
  folder.script("b/program", info_script);
  folder.write("b/weights/config.json", "{}");
  std::vector<ModelFiles> models = read_model_folder(
      folder.path, [](const std::string &size) { return std::stoull(size); },
      [](const std::string &name, const std::string &why) {
        ADD_FAILURE() << name << ": " << why;
      });
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[0].fixed_memory, 1020U);
  EXPECT_EQ(models[0].most_kv_memory, 3U * 4 * 100);
  EXPECT_EQ(models[0].kv_memory, 5U);
  EXPECT_EQ(models[0].weights.filename(), "weights.gguf");
  EXPECT_EQ(models[1].kv_memory, std::nullopt);
}

TEST(ModelFolder, SaysWhyModelsAreLeftOut) {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"no_program", "there is no program"},
      {"no_weights", "there is neither"},
      {"one", "compile it with --max-batch"},
      {"other", "does not say what it is"},
      {"fails", "program: out of order"},
      {"silent", "program: it ended with status 3"},
      {"quoted", "flags.txt: a quote"},
      {"taken", "flags.txt: --weights"},
      {"plain", "is a file that is not called .gguf"},
      {"a name", "a name is of letters"}};
  for (const auto &[name, why] : cases) {
    if (name != "no_program")
      folder.script(name + "/program",
                    name == "one"      ? "echo '{\"memory\": {}, \"batch\": "
                                         "null}'"
                    : name == "other"  ? "echo hello"
                    : name == "fails"  ? "echo error: out of order >&2; exit 1"
                    : name == "silent" ? "exit 3"
                                       : info_script);
    if (name == "plain")
      folder.write(name + "/weights", "");
    else if (name != "no_weights")
      folder.write(name + "/weights.gguf", "");
  }
  folder.write("quoted/flags.txt", "\"");
  folder.write("taken/flags.txt", "--weights=x");
  folder.script(".hidden/program", "");
  folder.write("file", "");
  std::vector<std::pair<std::string, std::string>> left_out;
  EXPECT_TRUE(read_model_folder(
                  folder.path, [](const std::string &) { return 0; },
                  [&](const std::string &name, const std::string &why) {
                    left_out.emplace_back(name, why);
                  })
                  .empty());
  EXPECT_EQ(left_out.size(), cases.size());
  for (const auto &[name, why] : cases) {
    auto found = std::ranges::find(left_out, name,
                                   &std::pair<std::string, std::string>::first);
    ASSERT_NE(found, left_out.end()) << name;
    EXPECT_NE(found->second.find(why), std::string::npos) << found->second;
  }
  EXPECT_THROW(read_model_folder(folder.path / "nowhere", {}, {}), Error);
}

TEST(ModelProcess, AProgramHasAsLongAsItHas) {
  const Folder folder;
  const files::path slow = folder.script("slow", "exec sleep 60\n");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(output_of(slow, {}, 0.2), Error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  const files::path echo = folder.script("echo", "echo \"$1 $2\"\n");
  EXPECT_EQ(output_of(echo, {"a b", "c"}, 20), "a b c\n");
}

struct Watched {
  std::vector<std::string> events;
};

ModelProcess::Events watch(Watched &watched) {
  return {
      .ready =
          [&](uint16_t port) {
            watched.events.push_back(std::to_string(port));
          },
      .ended = [&](const std::string &why) { watched.events.push_back(why); }};
}

std::vector<std::string> run_script(const std::string &text, size_t event_count,
                                    bool ends_it = false) {
  const Folder folder;
  boost::asio::io_context context;
  ModelProcesses processes(context);
  Watched watched;
  auto process =
      processes.start({.name = "test",
                       .program = folder.script("program", text),
                       .arguments = {"one"},
                       .environment = {{"BATON_TEST_KEY", "secret"}}},
                      watch(watched));
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  bool told = false;
  while (watched.events.size() < event_count &&
         std::chrono::steady_clock::now() < deadline) {
    context.run_for(10ms);
    context.restart();
    if (ends_it && watched.events.size() == 1 && !std::exchange(told, true))
      process->end();
  }
  return watched.events;
}

TEST(ModelProcess, SaysWhereItServesAndHowItEnds) {
  using Events = std::vector<std::string>;
  EXPECT_EQ(run_script("echo http://127.0.0.1:81\necho http://127.0.0.1:82\n"
                       "exec sleep 60\n",
                       2, true),
            (Events{"81", "it was ended by signal 15"}));
  EXPECT_EQ(run_script("echo http://127.0.0.1:x\nprintf 'a\\nerror: no' >&2\n"
                       "exit 1\n",
                       1),
            (Events{"no"}));
  EXPECT_EQ(run_script("echo 'note: a' >&2; exit 4", 1),
            (Events{"it ended with status 4"}));
  EXPECT_EQ(run_script("echo \"error: $1 $BATON_TEST_KEY\" >&2; exit 1", 1),
            (Events{"one secret"}));
}

TEST(ModelProcess, EndsWithWhoStartedIt) {
  const Folder folder;
  const auto begin = std::chrono::steady_clock::now();
  {
    boost::asio::io_context context;
    ModelProcesses processes(context);
    Watched watched;
    processes.start({.name = "test",
                     .program = folder.script(
                         "program", "trap '' TERM\necho http://127.0.0.1:81\n"
                                    "while :; do sleep 0.05; done\n"),
                     .arguments = {},
                     .environment = {}},
                    watch(watched));
    while (watched.events.empty() &&
           std::chrono::steady_clock::now() - begin < 20s) {
      context.run_for(10ms);
      context.restart();
    }
    EXPECT_EQ(watched.events, std::vector<std::string>{"81"});
  }
  // Its end was waited for.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

/// A server in a thread of its own.
class Answering {
public:
  explicit Answering(HttpServer::Handler handler, HttpOptions options = {})
      : server(std::move(options), std::move(handler)),
        thread([this] { server.run(); }) {}
  ~Answering() {
    server.stop();
    thread.join();
  }

  HttpServer server;

private:
  std::thread thread;
};

struct Told {
  HttpAnswer::Head head;
  std::string body, fault;
  size_t parts = 0;
  bool ended = false;
};

HttpAnswer tell(Told &told) {
  return {.begin = [&](HttpAnswer::Head head) { told.head = std::move(head); },
          .part =
              [&](std::string_view part) {
                told.body += part;
                ++told.parts;
              },
          .end = [&] { told.ended = true; },
          .fail = [&](const std::string &why) { told.fault = why; }};
}

template <typename Condition>
void run_until(boost::asio::io_context &context, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!condition() && std::chrono::steady_clock::now() < deadline) {
    context.run_for(10ms);
    context.restart();
  }
}

HttpRequest post(const std::string &path, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.headers = {{"X-Own", "1"}, {"Content-Length", "7"}, {"Host", "x"}};
  request.body = std::move(body);
  return request;
}

TEST(HttpClient, AnswersComeAsTheyWereGiven) {
  size_t connections = 0;
  Answering answering([&](const std::shared_ptr<HttpExchange> &exchange) {
    const HttpRequest &request = exchange->request();
    connections = std::max(connections, answering.server.connections());
    if (request.path == "/stream") {
      exchange->begin_stream("text/plain");
      for (char letter : request.body)
        exchange->write(std::string(1, letter));
      return exchange->end();
    }
    exchange->respond({.status = 418,
                       .type = "text/plain",
                       .body = request.path + request.body +
                               std::string(request.header("x-own")),
                       .headers = {{"X-Back", "2"}}});
  });
  boost::asio::io_context context;
  HttpClient client(context, answering.server.port());
  const std::string large(3'000'000, 'y');
  for (int turn = 0; turn < 3; ++turn) {
    Told told;
    client.ask(post("/a b%", large), tell(told));
    run_until(context, [&] { return told.ended; });
    EXPECT_EQ(told.head.status, 418U);
    EXPECT_FALSE(told.head.chunked);
    EXPECT_EQ(told.body, "/a b%" + large + "1");
    EXPECT_NE(
        std::ranges::find(told.head.headers,
                          std::pair<std::string, std::string>("X-Back", "2")),
        told.head.headers.end());
    Told streamed;
    client.ask(post("/stream", "abc"), tell(streamed));
    run_until(context, [&] { return streamed.ended; });
    EXPECT_EQ(streamed.body, "abc");
    EXPECT_TRUE(streamed.head.chunked);
  }
  // One after the other, by the same connection.
  EXPECT_EQ(connections, 1U);
}

TEST(HttpClient, ConnectionsThatWereClosedAreMadeAgain) {
  HttpOptions options;
  options.idle_timeout = 1;
  Answering answering(
      [](const std::shared_ptr<HttpExchange> &exchange) {
        exchange->respond({.body = "x"});
      },
      options);
  boost::asio::io_context context;
  HttpClient client(context, answering.server.port());
  for (int turn = 0; turn < 2; ++turn) {
    Told told;
    client.ask(post("/", ""), tell(told));
    run_until(context, [&] { return told.ended || !told.fault.empty(); });
    EXPECT_EQ(told.body, "x") << told.fault;
    run_until(context, [&] { return answering.server.connections() == 0; });
  }
}

TEST(HttpClient, SaysWhatFails) {
  uint16_t port = 0;
  boost::asio::io_context context;
  Told broken, refused;
  {
    Answering answering([&](const std::shared_ptr<HttpExchange> &exchange) {
      exchange->begin_stream("text/plain");
      exchange->write("half");
      answering.server.post_after(0.05, [&] { answering.server.stop(); });
    });
    port = answering.server.port();
    HttpClient client(context, port);
    client.ask(post("/", ""), tell(broken));
    run_until(context, [&] { return !broken.body.empty(); });
  }
  run_until(context, [&] { return !broken.fault.empty(); });
  EXPECT_EQ(broken.body, "half");
  EXPECT_FALSE(broken.ended);
  EXPECT_NE(broken.fault, "");
  HttpClient client(context, port);
  client.ask(post("/", ""), tell(refused));
  run_until(context, [&] { return !refused.fault.empty(); });
  EXPECT_NE(refused.fault, "");
}

TEST(HttpClient, WhoCancelsHearsNothingAndIsNoticed) {
  std::promise<void> left;
  Answering answering([&](const std::shared_ptr<HttpExchange> &exchange) {
    exchange->on_disconnect([&left] { left.set_value(); });
    exchange->begin_stream("text/plain");
    exchange->write("first");
  });
  boost::asio::io_context context;
  HttpClient client(context, answering.server.port());
  Told told;
  std::shared_ptr<HttpCall> call;
  HttpAnswer answer = tell(told);
  // From within what it calls.
  answer.part = [&told, &call](std::string_view part) {
    told.body += part;
    call->cancel();
    told.body += "!";
  };
  call = client.ask(post("/", ""), std::move(answer));
  run_until(context, [&] { return !told.body.empty(); });
  EXPECT_EQ(left.get_future().wait_for(20s), std::future_status::ready);
  context.run_for(20ms);
  EXPECT_EQ(told.body, "first!");
  EXPECT_TRUE(told.fault.empty() && !told.ended);
}

TEST(ProxiedRequests, LeaveOutWhoAsks) {
  HttpRequest request = post("/x", "body");
  request.method = "HEAD";
  request.query = "a=b";
  request.headers = {{"authorization", "Bearer a"},
                     {"X-API-Key", "a"},
                     {"Cookie", "a"},
                     {"Connection", "close"},
                     {"Content-Type", "text/plain"}};
  const HttpRequest found = request_to_pass_on(request);
  EXPECT_EQ(found.method, "GET");
  EXPECT_EQ(found.query, "a=b");
  EXPECT_EQ(found.body, "body");
  EXPECT_EQ(found.headers, (HttpHeaders{{"Content-Type", "text/plain"}}));
}

} // namespace
} // namespace baton
