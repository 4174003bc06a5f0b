//===- one_sequence.h - one sequence in a program of many -----------------===//

#ifndef BATON_RUNTIME_EXECUTE_ONE_SEQUENCE_H
#define BATON_RUNTIME_EXECUTE_ONE_SEQUENCE_H

#include "runtime/execute/batch_check.h"
#include "runtime/execute/step_driver.h"

#include <cstdint>
#include <span>
#include <vector>

namespace baton {

/// Runs a driver of one sequence, which counts by past and rows, in steps that
/// may have rows of many: it is the first of them, and has the first pages.
class OneSequence : public StepDriver {
public:
  /// The driver outlives it.
  /// Its rows have the adapter of so many ranks that lies first; 0: none.
  OneSequence(StepDriver &driver, const BatchCapacities &limits,
              const BatchInputs &inputs, uint32_t adapter_ranks = 0)
      : driver(driver), limits(limits), inputs(inputs),
        adapter_ranks(adapter_ranks), check(limits),
        sequence(size_t(limits.max_positions) + 1) {}

  BatonStep begin(std::span<int32_t> tokens) override;
  BatonStep advance(const BatonStep &current, const Logits &logits) override;
  void observe(const BatonStep &step, uint32_t phase, uint32_t iteration,
               void *const *storages) override {
    driver.observe(at_past(step), phase, iteration, storages);
  }
  std::string tell() override { return driver.tell(); }
  void hear(std::span<const std::string> told) override { driver.hear(told); }
  bool needs_logits() const override { return driver.needs_logits(); }
  void finish() noexcept override { driver.finish(); }

private:
  /// Fills in what the step reads.
  BatonStep provide(const BatonStep &step);
  /// What the driver asked for.
  BatonStep at_past(const BatonStep &step) const {
    return {step.rows, past, step.outputs, step.call};
  }

  StepDriver &driver;
  const BatchCapacities limits;
  const BatchInputs inputs;
  const uint32_t adapter_ranks;
  BatchCheck check;
  std::vector<int32_t> sequence;
  uint32_t past = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_ONE_SEQUENCE_H
