//===- serving_simulator.h - a server's steps, played out -----------------===//
//
// The policy is that of the runtime's BatchDriver
// (runtime/batch/batch_driver.h), call by call: who is admitted, who has rows
// of a step and how many, which pages are found, who has to go. A test makes
// both do the same requests and compares each step. Pages are the runtime's own
// PagePool. What takes time, here takes none: a step lasts as long as a
// StepTimes says.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_PLAN_SERVING_SIMULATOR_H
#define BATON_TOOLS_PLAN_SERVING_SIMULATOR_H

#include "tools/plan/serving_trace.h"
#include "tools/plan/step_times.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace baton::plan {

/// What a program was compiled and started with.
struct EngineLimits {
  int64_t max_sequences = 1, max_rows = 1, max_outputs = 1, max_positions = 1;
  /// Of keys and values, 64 positions each.
  int64_t pages = 1;
  /// Most rows of a step that go to prompts; 0: all that are left.
  int64_t prefill_chunk = 0;
  bool prefix_cache = true;
};

/// A step as the simulator has made it.
struct PlannedStep {
  StepShape shape;
  /// Requests that have rows, by their places in the trace: first those that
  /// are continued, then those with rows of prompts.
  std::vector<size_t> continued, prompts;
  /// When it ends.
  double end = 0;
};

struct SimulationOptions {
  EngineLimits limits;
  /// Beside what the step itself takes.
  double step_overhead = 0;
  /// Most tokens that are guessed of a text in a step (0: none), and the
  /// probability that one is right where those before it are.
  int64_t guesses = 0;
  double acceptance = 0;
  /// Prompts were computed elsewhere: a request comes with their keys and
  /// values and with its first token.
  bool imported = false;
  uint64_t seed = 0;
  std::function<void(const PlannedStep &)> on_step;
};

struct ServedTimes {
  double arrival = 0, first_token = 0, last_token = 0;
  int64_t tokens = 0;

  double to_first() const { return first_token - arrival; }
  /// Between tokens, on average; 0 of one token.
  double between() const {
    return tokens > 1 ? (last_token - first_token) / double(tokens - 1) : 0;
  }
};

struct Simulation {
  /// In the order of the trace.
  std::vector<ServedTimes> requests;
  /// From the first arrival to the last token, and the time in which there was
  /// a step.
  double seconds = 0, busy = 0;
  int64_t steps = 0, rows = 0;
  int64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  int64_t guessed_tokens = 0, right_guesses = 0;
  int64_t preemptions = 0, recomputed = 0;
  /// Texts that run in a step, weighed by its length.
  double mean_running = 0;
};

/// Plays all requests of a trace out, sorted by arrival. Throws Error where one
/// could never run, naming the limit.
Simulation simulate(const Trace &trace, const StepTimes &times,
                    const SimulationOptions &options);

/// The value below which so large a part of them is; linear between two.
double percentile(std::vector<double> values, double part);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_SERVING_SIMULATOR_H
