//===- step_driver.h - who decides what the next step computes -----------===//

#ifndef BATON_RUNTIME_EXECUTE_STEP_DRIVER_H
#define BATON_RUNTIME_EXECUTE_STEP_DRIVER_H

#include "runtime/program.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace baton {

struct GenerationRequest;

/// The logits of a step's output rows; valid during the call that hands them
/// out.
struct Logits {
  const float *data;
  /// Floats from one row to the next.
  int64_t stride;
  int64_t vocabulary;

  std::span<const float> row(uint32_t index) const {
    return {data + index * stride, static_cast<size_t>(vocabulary)};
  }
};

/// Feeds a running program. begin() is called before it starts; the others by
/// one worker at a time, each call after the one before it, while other workers
/// wait: they must return quickly and never wait for the main thread.
class StepDriver {
public:
  virtual ~StepDriver() = default;

  /// Fills in the first tokens and returns the first step.
  virtual BatonStep begin(std::span<int32_t> tokens) = 0;
  /// Takes the logits of `current`, fills in further tokens and returns the
  /// next step; zero rows end the program. May throw: the program then ends and
  /// Execution::wait rethrows.
  virtual BatonStep advance(const BatonStep &current, const Logits &logits) = 0;
  /// Of several ranks: what this one tells all as a step ends, and what all
  /// have told, in their order; both before advance(), and by drivers of one
  /// kind on all ranks. Most have nothing to tell.
  virtual std::string tell() { return {}; }
  virtual void hear(std::span<const std::string> told) {}
  /// Called after each (phase, iteration) of an observed execution, with the
  /// base pointers of the storages. May throw as advance().
  virtual void observe(const BatonStep &step, uint32_t phase,
                       uint32_t iteration, void *const *storages) {}
  /// Whether it fills in which sequences and pages a step's rows are of, where
  /// a program has many; else it has one sequence.
  virtual bool provides_inputs() const { return false; }
  /// Whether it reads the logits that advance() is given; else these may be
  /// none.
  virtual bool needs_logits() const { return true; }
  /// What a device needs to take the driver's decisions itself, or null if only
  /// the driver can. It is then told what came of it, by one thread, in the
  /// place of advance().
  virtual const GenerationRequest *request() const { return nullptr; }
  virtual void computed(uint64_t positions) {}
  virtual void sampled(int32_t token) {}
  /// No other call will follow.
  virtual void finish() noexcept {}
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_STEP_DRIVER_H
