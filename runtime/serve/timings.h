//===- timings.h - how long an answer has taken ---------------------------===//

#ifndef BATON_RUNTIME_SERVE_TIMINGS_H
#define BATON_RUNTIME_SERVE_TIMINGS_H

#include "runtime/batch/batch_request.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace baton {

struct Timings {
  /// Tokens of the prompt that were computed, and that were found.
  uint64_t prompt = 0, cached = 0;
  uint64_t generated = 0;
  /// From the beginning of the prompt to the first token, and from that one to
  /// the last: its rate is that of the tokens behind the first.
  double prompt_ms = 0, generated_ms = 0;

  /// As llama.cpp's server has them: "prompt_n", "predicted_ms" and such.
  nlohmann::ordered_json json() const;
};

/// Told when something happens, says how long it took.
class AnswerClock {
public:
  void on_prompt(const PromptProgress &progress);
  void on_token();

  Timings timings() const;
  /// {"total", "cache", "processed", "time_ms"}, as llama.cpp's server has it.
  nlohmann::ordered_json progress_json() const;
  /// Milliseconds since the first token; 0 before it.
  double since_first_token() const;

private:
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> begun, first;
  Clock::time_point latest_prompt = {}, latest_token = {};
  PromptProgress progress;
  uint64_t generated = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_TIMINGS_H
