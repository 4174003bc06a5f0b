//===- generation.h - continues a prompt, token by token -----------------===//

#ifndef BATON_RUNTIME_DECODE_GENERATION_H
#define BATON_RUNTIME_DECODE_GENERATION_H

#include "runtime/decode/sampler.h"
#include "runtime/execute/metadata.h"
#include "runtime/execute/step_driver.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace baton {

struct GenerationRequest {
  /// At least one token, at most max_seq.
  std::vector<int32_t> prompt;
  /// At least one. The prompt and all new tokens but the last, which is never
  /// computed on, fit into max_seq positions.
  uint64_t max_new_tokens = 1;
  /// Generation ends behind the first of these.
  std::vector<int32_t> stop_tokens;
  /// Most tokens of the prompt in one step, 1 ..= max_rows.
  uint32_t prefill_chunk = 1;
  SamplingOptions sampling;
};

/// What others want to know while it runs; called by workers (see StepDriver).
struct GenerationHooks {
  std::function<void(int32_t token)> on_token = {};
  std::function<void()> on_finish = {};
  /// The logits that the token at `position` is sampled from.
  std::function<void(uint64_t position, std::span<const float> logits)>
      on_logits = {};
};

enum class FinishReason { Length, Stop };
/// "length" or "stop".
std::string_view finish_reason_name(FinishReason reason);

/// Prefills the prompt chunk by chunk, asking for logits in the last one only,
/// then decodes one row a step.
class Generation : public StepDriver {
public:
  using Clock = std::chrono::steady_clock;

  Generation(GenerationRequest request, GenerationHooks hooks = {});

  BatonStep begin(std::span<int32_t> tokens) override;
  BatonStep advance(const BatonStep &current, const Logits &logits) override;
  const GenerationRequest *request() const override;
  void computed(uint64_t positions) override;
  void sampled(int32_t token) override;
  void finish() noexcept override;

  /// Tokens of the prompt computed so far; may be read while it runs.
  uint64_t prefilled() const {
    return prefilled_tokens.load(std::memory_order_relaxed);
  }

  // The rest is for when the program has ended.

  const std::vector<int32_t> &new_tokens() const { return generated; }
  FinishReason finish_reason() const { return reason; }
  /// From the start to the first new token.
  double prefill_seconds() const;
  /// From the first new token to the last one.
  double decode_seconds() const;
  /// New tokens by the second: behind the first one, or that one when it is
  /// alone.
  double tokens_per_second() const;
  /// When each new token was sampled.
  const std::vector<Clock::time_point> &token_times() const { return times; }

private:
  BatonStep prefill_step(uint64_t past) const;

  GenerationRequest wanted;
  GenerationHooks hooks;
  Sampler sampler;
  std::span<int32_t> sequence;
  std::vector<int32_t> generated;
  FinishReason reason = FinishReason::Length;
  std::atomic<uint64_t> prefilled_tokens = 0;
  Clock::time_point start_time;
  std::vector<Clock::time_point> times;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_GENERATION_H
