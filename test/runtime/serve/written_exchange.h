//===- written_exchange.h - an exchange that keeps what is written --------===//

#ifndef BATON_TEST_RUNTIME_SERVE_WRITTEN_EXCHANGE_H
#define BATON_TEST_RUNTIME_SERVE_WRITTEN_EXCHANGE_H

#include "runtime/error.h"
#include "runtime/serve/http_server.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace baton {

struct WrittenExchange : HttpExchange {
  const HttpRequest &request() const override { return asked; }
  void respond(HttpResponse of) override { response = std::move(of); }
  void begin_stream(std::string type, HttpHeaders) override {
    stream_type = std::move(type);
  }
  void write(std::string part) override { text += part; }
  void end() override { ended = true; }
  void on_disconnect(std::function<void()>) override {}

  /// The data of all events; each begins with the event's name.
  std::vector<nlohmann::ordered_json> events() const {
    std::vector<nlohmann::ordered_json> all;
    for (size_t place = 0; place < text.size();) {
      const size_t line = text.find("\ndata: ", place),
                   end = text.find("\n\n", place);
      if (text.compare(place, 7, "event: ") != 0 || line > end ||
          end == std::string::npos)
        throw Error("no event: " + text.substr(place));
      all.push_back(
          nlohmann::ordered_json::parse(text.substr(line + 7, end - line - 7)));
      if (all.back()["type"] != text.substr(place + 7, line - place - 7))
        throw Error("an event of another name: " + text.substr(place));
      place = end + 2;
    }
    return all;
  }
  /// Their names, with blanks between.
  std::string names() const {
    std::string all;
    for (const nlohmann::ordered_json &event : events())
      all += (all.empty() ? "" : " ") + event["type"].get<std::string>();
    return all;
  }
  nlohmann::ordered_json body() const {
    return nlohmann::ordered_json::parse(response.body);
  }

  HttpRequest asked;
  HttpResponse response = {.status = 0};
  std::string stream_type, text;
  bool ended = false;
};

} // namespace baton

#endif // BATON_TEST_RUNTIME_SERVE_WRITTEN_EXCHANGE_H
