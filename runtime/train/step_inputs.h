//===- step_inputs.h - where a program expects a microbatch ---------------===//

#ifndef BATON_RUNTIME_TRAIN_STEP_INPUTS_H
#define BATON_RUNTIME_TRAIN_STEP_INPUTS_H

#include "runtime/program.h"
#include "runtime/train/batches.h"
#include "runtime/train/references.h"
#include "runtime/train/training_tensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace baton {

/// What the runtime provides for each step. The optimizer's numbers, which lie
/// there before, go with it.
class StepInputs {
public:
  /// Throws Error when the program does not train. `tensors` outlives it, and
  /// so do `preferences`, which a program trains with whose losses are of
  /// pairs. `part`: of each microbatch, what this rank has.
  explicit StepInputs(const TrainingTensors &tensors, Place part = {},
                      const Preferences *preferences = nullptr)
      : tensors(tensors), part(part), preferences(preferences),
        tokens(tensors.find("tokens").integers()),
        positions(tensors.find("positions").integers()),
        targets(tensors.find("targets").integers()),
        weights(tensors.find("target_weights")),
        numbers(tensors.find("numbers")), row_weights(weights.elements()),
        accumulate(tensors.find("accumulate").integers()),
        pairs(preferences ? &tensors.find("preferences") : nullptr) {}

  /// The first microbatch of a step begins its gradients anew, others add to
  /// them. `updates`: the parameters change at the step's end. Losses are
  /// multiplied by `scale`.
  BatonStep fill(const Batches &batches, uint64_t step, uint64_t microbatch,
                 bool updates, double scale = 1) {
    batches.fill(step, microbatch, tokens, targets, positions,
                 row_weights.data(), part);
    if (pairs)
      fill_preferences(batches.pairs(step, microbatch, part), scale);
    return finish(batches, microbatch, updates, scale);
  }
  /// The same, with validation sequences and without an update. The next step
  /// of training begins its gradients anew.
  BatonStep fill_validation(const Batches &batches, uint64_t number,
                            double scale = 1) {
    batches.fill_validation(number, tokens, targets, positions,
                            row_weights.data(), part);
    if (pairs)
      fill_preferences(batches.validation_pairs(number, part), scale);
    return finish(batches, number, false, scale);
  }
  /// The same for what is said of each pair by itself: all have the weight 1,
  /// and compare with nothing.
  BatonStep fill_pairs(const Batches &batches, uint64_t number) {
    batches.fill_validation(number, tokens, targets, positions,
                            row_weights.data(), part);
    std::vector<PairOfBatch> all = batches.validation_pairs(number, part);
    for (PairOfBatch &pair : all)
      pair.weight = 1;
    fill_preferences(all, 1);
    return finish(batches, number, false, 1);
  }

private:
  void fill_preferences(const std::vector<PairOfBatch> &all, double scale) {
    std::fill_n(pairs->data, pairs->bytes(), std::byte{});
    for (const PairOfBatch &pair : all) {
      const std::array<double, 2> reference =
          preferences->references.empty()
              ? std::array<double, 2>{}
              : preferences->references.at(pair.number);
      uint64_t place = pair.row * pairs->shape.back();
      for (double value :
           {pair.weight * scale, preferences->beta, reference[0], reference[1]})
        set_real(pairs->data, pairs->type, place++, value);
    }
  }

  BatonStep finish(const Batches &batches, uint64_t number, bool updates,
                   double scale) {
    *accumulate = number != 0;
    const BatchShape &shape = batches.shape();
    // What multiplies losses, and what the step's end divides by.
    set_real(numbers.data, numbers.type, numbers.loss_scale, scale);
    const uint64_t rows = shape.rows / part.count * shape.length;
    // Of pairs these only say which answer a row is of.
    const double factor = pairs ? 1 : scale;
    for (uint64_t row = 0; row < rows; ++row)
      set_real(weights.data, weights.type, row, row_weights[row] * factor);
    tensors.send("input");
    return {static_cast<uint32_t>(rows), 0, updates, 0};
  }

  const TrainingTensors &tensors;
  const Place part;
  const Preferences *preferences;
  int32_t *tokens, *positions, *targets;
  const TrainingTensor &weights, &numbers;
  std::vector<float> row_weights;
  int32_t *accumulate;
  /// Null where losses are not of pairs.
  const TrainingTensor *pairs;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STEP_INPUTS_H
