//===- generation.cpp - continues a prompt, token by token ---------------===//

#include "runtime/decode/generation.h"

#include <algorithm>

namespace baton {

namespace {

double seconds(Generation::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

} // namespace

std::string_view finish_reason_name(FinishReason reason) {
  return reason == FinishReason::Stop ? "stop" : "length";
}

Generation::Generation(GenerationRequest request, GenerationHooks hooks)
    : wanted(std::move(request)), hooks(std::move(hooks)),
      sampler(wanted.sampling) {
  // Workers wait while a token is recorded; growing may not happen then.
  generated.reserve(wanted.max_new_tokens);
  times.reserve(wanted.max_new_tokens);
}

BatonStep Generation::prefill_step(uint64_t past) const {
  uint64_t left = wanted.prompt.size() - past;
  uint64_t rows = std::min<uint64_t>(left, wanted.prefill_chunk);
  return {static_cast<uint32_t>(rows), static_cast<uint32_t>(past),
          rows == left ? 1u : 0u, 0};
}

BatonStep Generation::begin(std::span<int32_t> tokens) {
  sequence = tokens;
  std::copy(wanted.prompt.begin(), wanted.prompt.end(), sequence.begin());
  generated.clear();
  times.clear();
  prefilled_tokens = 0;
  reason = FinishReason::Length;
  start_time = Clock::now();
  return prefill_step(0);
}

BatonStep Generation::advance(const BatonStep &current, const Logits &logits) {
  uint64_t position = uint64_t(current.past) + current.rows;
  computed(position);
  if (position < wanted.prompt.size())
    return prefill_step(position);

  if (hooks.on_logits)
    hooks.on_logits(position, logits.row(0));
  int32_t token = sampler.sample(logits.row(0), sequence.first(position),
                                 wanted.prompt.size());
  sequence[position] = token;
  sampled(token);
  if (reason == FinishReason::Stop || generated.size() >= wanted.max_new_tokens)
    return {};
  return {1, static_cast<uint32_t>(position), 1, 0};
}

/// Unless the driver wants to see the logits itself, or a device knows too
/// little.
const GenerationRequest *Generation::request() const {
  return hooks.on_logits || !wanted.sampling.is_basic() ? nullptr : &wanted;
}

void Generation::computed(uint64_t positions) {
  if (positions <= wanted.prompt.size())
    prefilled_tokens.store(positions, std::memory_order_relaxed);
}

void Generation::sampled(int32_t token) {
  times.push_back(Clock::now());
  generated.push_back(token);
  if (hooks.on_token)
    hooks.on_token(token);
  if (std::find(wanted.stop_tokens.begin(), wanted.stop_tokens.end(), token) !=
      wanted.stop_tokens.end())
    reason = FinishReason::Stop;
}

void Generation::finish() noexcept {
  if (hooks.on_finish)
    hooks.on_finish();
}

double Generation::prefill_seconds() const {
  return times.empty() ? 0 : seconds(times.front() - start_time);
}

double Generation::decode_seconds() const {
  return times.empty() ? 0 : seconds(times.back() - times.front());
}

double Generation::tokens_per_second() const {
  if (times.empty())
    return 0;
  if (times.size() == 1)
    return 1 / std::max(prefill_seconds(), 1e-9);
  return static_cast<double>(times.size() - 1) /
         std::max(decode_seconds(), 1e-9);
}

} // namespace baton
