//===- validation.h - the loss over sequences that nobody trains with ----===//

#ifndef BATON_RUNTIME_MAIN_VALIDATION_H
#define BATON_RUNTIME_MAIN_VALIDATION_H

#include "runtime/decode/execution.h"
#include "runtime/train/step_inputs.h"

#include <cstdint>

namespace baton {

/// The mean loss over the validation sequences, with the weights as they are.
/// Made of steps that only add to gradients: weights and the optimizer's states
/// stay as they are, and the next step of training begins its gradients anew.
class Validation : public StepDriver {
public:
  /// Both outlive it.
  Validation(const Batches &batches, const TrainingTensors &tensors,
             Place part = {})
      : batches(batches), inputs(tensors, part),
        type(tensors.find("target_weights").type) {}

  /// Of no meaning when a signal cuts it short.
  double measure(Execution &execution) {
    execution.run(*this);
    return loss;
  }

  BatonStep begin(std::span<int32_t>) override {
    number = 0;
    loss = 0;
    return inputs.fill_validation(batches, number);
  }

  BatonStep advance(const BatonStep &, const Logits &summary) override {
    loss += real_at(summary.data, type, 0);
    if (++number == batches.validation_batches())
      return {};
    return inputs.fill_validation(batches, number);
  }

private:
  const Batches &batches;
  StepInputs inputs;
  DataType type;
  uint64_t number = 0;
  double loss = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_VALIDATION_H
