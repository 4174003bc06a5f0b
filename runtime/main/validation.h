//===- validation.h - the loss over sequences that nobody trains with ----===//

#ifndef BATON_RUNTIME_MAIN_VALIDATION_H
#define BATON_RUNTIME_MAIN_VALIDATION_H

#include "runtime/execute/execution.h"
#include "runtime/main/still_steps.h"
#include "runtime/train/step_inputs.h"

#include <cstdint>

namespace baton {

/// The mean loss over the validation sequences, with the weights as they are.
/// Made of steps that only add to gradients: weights and the optimizer's states
/// stay as they are, and the next step of training begins its gradients anew.
class Validation : public StepDriver {
public:
  /// All outlive it. `calls`: what a stage of a pipeline runs in a step.
  Validation(const Batches &batches, const TrainingTensors &tensors,
             std::span<const StageCall> calls, Place part = {})
      : batches(batches), inputs(tensors, part), steps(calls),
        type(tensors.find("target_weights").type) {}

  /// Of no meaning when a signal cuts it short.
  double measure(Execution &execution) {
    execution.run(*this);
    return loss;
  }

  BatonStep begin(std::span<int32_t>) override {
    steps.restart();
    loss = 0;
    return next();
  }

  BatonStep advance(const BatonStep &step, const Logits &summary) override {
    if (steps.ends(step))
      loss += real_at(summary.data, type, 0);
    return next();
  }

private:
  BatonStep next() {
    return steps.step(batches.validation_batches(), [&](uint64_t number) {
      return inputs.fill_validation(batches, number);
    });
  }

  const Batches &batches;
  StepInputs inputs;
  StillSteps steps;
  DataType type;
  double loss = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_VALIDATION_H
