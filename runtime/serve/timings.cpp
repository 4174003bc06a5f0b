//===- timings.cpp - how long an answer has taken -------------------------===//

#include "runtime/serve/timings.h"

namespace baton {

using TimingsJson = nlohmann::ordered_json;

/// 0 where nothing took any time.
static double ratio(double of, double by) { return by > 0 ? of / by : 0; }

TimingsJson Timings::json() const {
  const double steps = generated > 1 ? double(generated - 1) : 0;
  return {{"cache_n", cached},
          {"prompt_n", prompt},
          {"prompt_ms", prompt_ms},
          {"prompt_per_token_ms", ratio(prompt_ms, double(prompt))},
          {"prompt_per_second", ratio(1e3, prompt_ms) * double(prompt)},
          {"predicted_n", generated},
          {"predicted_ms", generated_ms},
          {"predicted_per_token_ms", ratio(generated_ms, steps)},
          {"predicted_per_second", ratio(1e3, generated_ms) * steps}};
}

static double milliseconds_between(std::chrono::steady_clock::time_point begin,
                                   std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

void AnswerClock::on_prompt(const PromptProgress &now) {
  latest_prompt = Clock::now();
  if (!begun)
    begun = latest_prompt;
  progress = now;
}

void AnswerClock::on_token() {
  latest_token = Clock::now();
  if (!first)
    first = latest_token;
  ++generated;
}

Timings AnswerClock::timings() const {
  Timings result = {.prompt = progress.done - progress.cached,
                    .cached = progress.cached,
                    .generated = generated};
  if (begun && result.prompt > 0)
    result.prompt_ms =
        milliseconds_between(*begun, first ? *first : latest_prompt);
  if (first)
    result.generated_ms = milliseconds_between(*first, latest_token);
  return result;
}

TimingsJson AnswerClock::progress_json() const {
  return {{"total", progress.tokens},
          {"cache", progress.cached},
          {"processed", progress.done},
          {"time_ms", begun ? milliseconds_between(*begun, latest_prompt) : 0}};
}

double AnswerClock::since_first_token() const {
  return first ? milliseconds_between(*first, Clock::now()) : 0;
}

} // namespace baton
