//===- still_steps.h - steps that change no weight ------------------------===//

#ifndef BATON_RUNTIME_MAIN_STILL_STEPS_H
#define BATON_RUNTIME_MAIN_STILL_STEPS_H

#include "runtime/execute/pipeline.h"
#include "runtime/program.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace baton {

/// Takes microbatches through a program that trains, without an update: one in
/// each step, or, on a stage of a pipeline, as many as its schedule takes
/// through together, in all calls of a step but those that update.
class StillSteps {
public:
  /// `calls`: what a stage runs in a step; they outlive it.
  explicit StillSteps(std::span<const StageCall> calls) {
    auto updates =
        std::ranges::find(calls, StageCall::Kind::Update, &StageCall::kind);
    this->calls = {calls.begin(), updates};
    for (const StageCall &call : this->calls)
      if (call.microbatch)
        together = std::max<uint64_t>(together, *call.microbatch + 1);
  }

  void restart() { first = next = 0; }

  /// The first step after those that took `count` microbatches through has no
  /// rows. `fill` provides a microbatch, which may be none of the `count`: then
  /// its rows have no weight.
  template <typename Fill> BatonStep step(uint64_t count, Fill fill) {
    if (calls.empty())
      return next < count ? fill(next++) : BatonStep{};
    if (next == calls.size()) {
      next = 0;
      first += together;
    }
    if (first >= count)
      return {};
    const StageCall &call = calls[next];
    BatonStep result = {1, 0, 1, 0};
    if (call.microbatch)
      result = fill(first + *call.microbatch);
    result.call = static_cast<uint32_t>(next++);
    return result;
  }

  /// Whether a summary follows this one, of microbatches since the last.
  bool ends(const BatonStep &step) const {
    return calls.empty() || step.call + 1 == calls.size();
  }
  /// The first microbatch of those that are taken through together.
  uint64_t first_together() const { return first; }

private:
  std::span<const StageCall> calls;
  uint64_t together = 1, first = 0;
  /// Of a stage the next call, else the next microbatch.
  uint64_t next = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_STILL_STEPS_H
