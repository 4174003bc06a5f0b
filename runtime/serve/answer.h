//===- answer.h - a request to the server that generates text -------------===//

#ifndef BATON_RUNTIME_SERVE_ANSWER_H
#define BATON_RUNTIME_SERVE_ANSWER_H

#include "runtime/batch/batch_request.h"
#include "runtime/serve/api_error.h"
#include "runtime/serve/http_server.h"
#include "runtime/serve/metrics.h"
#include "runtime/serve/served_model.h"
#include "runtime/serve/timings.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace baton {

/// Tokens of an answer, as OpenAI's "usage" has them.
struct Usage {
  uint64_t prompt = 0, cached = 0, generated = 0;
  /// Of the whole, and of nothing without one.
  Timings timings = {};

  nlohmann::ordered_json json() const;
};

/// One answer, made of what the engine says of one request or of several. The
/// server's thread calls it.
class Answer {
public:
  using Clock = std::chrono::steady_clock;

  Answer(std::shared_ptr<HttpExchange> exchange,
         std::shared_ptr<const ServedModel> model,
         std::vector<BatchRequest> requests);
  virtual ~Answer() = default;

  /// To be handed over, once.
  std::vector<BatchRequest> requests;

  /// The engine has all of them; of several calls the first one counts.
  void begin() {
    if (!std::exchange(begun, true))
      on_begin();
  }
  /// Of the prompt of a request.
  virtual void on_prompt(uint32_t, const PromptProgress &) {}
  virtual void on_token(uint32_t part, uint32_t choice, int32_t token,
                        std::span<const TokenLogprob> logprobs) = 0;
  /// A request is done; after the last one comes end().
  virtual void on_result(uint32_t part, const BatchResult &result) = 0;
  virtual void end(const Usage &usage) = 0;
  /// Nothing follows.
  virtual void fail(const ApiError &error) = 0;

  /// Keys that had no effect are named in a header of the answer.
  void ignore(const std::vector<std::string> &keys);

  const std::shared_ptr<HttpExchange> exchange;
  const std::shared_ptr<const ServedModel> model;

  // Of the service.
  std::vector<std::string> ids;
  size_t left = 0;
  Usage usage;
  AnswerClock clock;
  /// Whether what was asked for should come to an end now.
  bool wants_end = false;
  Clock::time_point arrived = Clock::now(), latest_token = {};
  /// Whether the client has left.
  bool gone = false;

protected:
  virtual void on_begin() {}

  HttpHeaders headers;
  bool begun = false;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_ANSWER_H
