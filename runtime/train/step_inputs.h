//===- step_inputs.h - where a program expects a microbatch ---------------===//

#ifndef BATON_RUNTIME_TRAIN_STEP_INPUTS_H
#define BATON_RUNTIME_TRAIN_STEP_INPUTS_H

#include "runtime/program.h"
#include "runtime/train/batches.h"
#include "runtime/train/training_tensors.h"

#include <cstdint>
#include <vector>

namespace baton {

/// What the runtime provides for each step. The optimizer's numbers, which lie
/// there before, go with it.
class StepInputs {
public:
  /// Throws Error when the program does not train. `tensors` outlives it.
  /// `part`: of each microbatch, what this rank has.
  explicit StepInputs(const TrainingTensors &tensors, Place part = {})
      : tensors(tensors), part(part), tokens(tensors.find("tokens").integers()),
        positions(tensors.find("positions").integers()),
        targets(tensors.find("targets").integers()),
        weights(tensors.find("target_weights")),
        numbers(tensors.find("numbers")), row_weights(weights.elements()),
        accumulate(tensors.find("accumulate").integers()) {}

  /// The first microbatch of a step begins its gradients anew, others add to
  /// them. `updates`: the parameters change at the step's end. Losses are
  /// multiplied by `scale`.
  BatonStep fill(const Batches &batches, uint64_t step, uint64_t microbatch,
                 bool updates, double scale = 1) {
    batches.fill(step, microbatch, tokens, targets, positions,
                 row_weights.data(), part);
    return finish(batches, microbatch, updates, scale);
  }
  /// The same, with validation sequences and without an update. The next step
  /// of training begins its gradients anew.
  BatonStep fill_validation(const Batches &batches, uint64_t number,
                            double scale = 1) {
    batches.fill_validation(number, tokens, targets, positions,
                            row_weights.data(), part);
    return finish(batches, number, false, scale);
  }

private:
  BatonStep finish(const Batches &batches, uint64_t number, bool updates,
                   double scale) {
    *accumulate = number != 0;
    const BatchShape &shape = batches.shape();
    // What multiplies losses, and what the step's end divides by.
    set_real(numbers.data, numbers.type, numbers.loss_scale, scale);
    const uint64_t rows = shape.rows / part.count * shape.length;
    for (uint64_t row = 0; row < rows; ++row)
      set_real(weights.data, weights.type, row, row_weights[row] * scale);
    tensors.send("input");
    return {static_cast<uint32_t>(rows), 0, updates, 0};
  }

  const TrainingTensors &tensors;
  const Place part;
  int32_t *tokens, *positions, *targets;
  const TrainingTensor &weights, &numbers;
  std::vector<float> row_weights;
  int32_t *accumulate;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STEP_INPUTS_H
