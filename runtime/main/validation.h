//===- validation.h - the loss over sequences that nobody trains with ----===//

#ifndef BATON_RUNTIME_MAIN_VALIDATION_H
#define BATON_RUNTIME_MAIN_VALIDATION_H

#include "runtime/execute/execution.h"
#include "runtime/main/still_steps.h"
#include "runtime/train/step_inputs.h"
#include "runtime/train/step_losses.h"

#include <cstdint>

namespace baton {

/// The model's own mean loss over the validation sequences, with the weights as
/// they are: of a mixture of experts without what its routers add.
/// Made of steps that only add to gradients: weights and the optimizer's states
/// stay as they are, and the next step of training begins its gradients anew.
class Validation : public StepDriver {
public:
  /// All but the description outlive it. `calls`: what a stage of a pipeline
  /// runs in a step.
  Validation(const nlohmann::json &description, const Batches &batches,
             const TrainingTensors &tensors, std::span<const StageCall> calls,
             Place part = {}, const Comparison &comparison = {})
      : batches(batches), inputs(tensors, part, comparison), steps(calls),
        losses(description, tensors.find("target_weights").type) {}

  /// Of no meaning when a signal cuts it short.
  double measure(Execution &execution) {
    execution.run(*this);
    return losses.own();
  }

  BatonStep begin(std::span<int32_t>) override {
    steps.restart();
    losses.restart();
    return next();
  }

  BatonStep advance(const BatonStep &step, const Logits &summary) override {
    if (steps.ends(step))
      losses.add(summary.data);
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
  StepLosses losses;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_VALIDATION_H
