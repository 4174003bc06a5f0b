//===- step_inputs.h - where a program expects a microbatch ---------------===//

#ifndef BATON_RUNTIME_TRAIN_STEP_INPUTS_H
#define BATON_RUNTIME_TRAIN_STEP_INPUTS_H

#include "runtime/program.h"
#include "runtime/train/batches.h"
#include "runtime/train/training_tensors.h"

#include <cstdint>

namespace baton {

/// What the runtime provides for each step. The optimizer's numbers, which lie
/// there before, go with it.
class StepInputs {
public:
  /// Throws Error when the program does not train. `tensors` outlives it.
  explicit StepInputs(const TrainingTensors &tensors)
      : tensors(tensors), tokens(tensors.find("tokens").integers()),
        positions(tensors.find("positions").integers()),
        targets(tensors.find("targets").integers()),
        weights(tensors.find("target_weights").floats()),
        accumulate(tensors.find("accumulate").integers()) {}

  /// The first microbatch of a step begins its gradients anew, others add to
  /// them. `updates`: the parameters change at the step's end.
  BatonStep fill(const Batches &batches, uint64_t step, uint64_t microbatch,
                 bool updates) {
    batches.fill(step, microbatch, tokens, targets, positions, weights);
    return finish(batches, microbatch, updates);
  }
  /// The same, with validation sequences and without an update. The next step
  /// of training begins its gradients anew.
  BatonStep fill_validation(const Batches &batches, uint64_t number) {
    batches.fill_validation(number, tokens, targets, positions, weights);
    return finish(batches, number, false);
  }

private:
  BatonStep finish(const Batches &batches, uint64_t number, bool updates) {
    *accumulate = number != 0;
    tensors.send("input");
    const BatchShape &shape = batches.shape();
    return {static_cast<uint32_t>(shape.rows * shape.length), 0, updates, 0};
  }

  const TrainingTensors &tensors;
  int32_t *tokens, *positions, *targets;
  float *weights;
  int32_t *accumulate;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STEP_INPUTS_H
