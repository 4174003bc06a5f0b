//===- step_inputs.h - where a program expects a microbatch ---------------===//

#ifndef BATON_RUNTIME_TRAIN_STEP_INPUTS_H
#define BATON_RUNTIME_TRAIN_STEP_INPUTS_H

#include "runtime/program.h"
#include "runtime/train/batches.h"
#include "runtime/train/references.h"
#include "runtime/train/teacher.h"
#include "runtime/train/training_tensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace baton {

/// What a loss compares the model with, besides the data: the reference of
/// pairs of answers, or a teacher. What there is outlives those that read it.
struct Comparison {
  const Preferences *preferences = nullptr;
  /// A program that has a teacher's loss and is given none measures the
  /// cross-entropy.
  const Distillation *distillation = nullptr;
};

/// What the runtime provides for each step. The optimizer's numbers, which lie
/// there before, go with it.
class StepInputs {
public:
  /// Throws Error when the program does not train. `tensors` outlives it.
  /// `part`: of each microbatch, what this rank has.
  explicit StepInputs(const TrainingTensors &tensors, Place part = {},
                      const Comparison &comparison = {})
      : tensors(tensors), part(part), preferences(comparison.preferences),
        tokens(tensors.find("tokens").integers()),
        positions(tensors.find("positions").integers()),
        targets(tensors.find("targets").integers()),
        weights(tensors.find("target_weights")),
        numbers(tensors.find("numbers")), row_weights(weights.elements()),
        accumulate(tensors.find("accumulate").integers()),
        pairs(preferences ? &tensors.find("preferences") : nullptr),
        teacher_tokens(tensors.find_if("teacher_tokens")),
        teacher_numbers(tensors.find_if("teacher_numbers")) {
    if (comparison.distillation)
      distillation = *comparison.distillation;
    else
      distillation = {.teacher = nullptr, .kl = 0, .ce = 1, .reverse = false};
  }

  /// The first microbatch of a step begins its gradients anew, others add to
  /// them. `updates`: the parameters change at the step's end. Losses are
  /// multiplied by `scale`.
  BatonStep fill(const Batches &batches, uint64_t step, uint64_t microbatch,
                 bool updates, double scale = 1) {
    batches.fill(step, microbatch, tokens, targets, positions,
                 row_weights.data(), part);
    if (pairs)
      fill_preferences(batches.placed(step, microbatch, part), scale);
    if (teacher_tokens)
      fill_teacher(batches.placed(step, microbatch, part));
    return finish(batches, microbatch, updates, scale);
  }
  /// The same, with validation sequences and without an update. The next step
  /// of training begins its gradients anew.
  BatonStep fill_validation(const Batches &batches, uint64_t number,
                            double scale = 1) {
    batches.fill_validation(number, tokens, targets, positions,
                            row_weights.data(), part);
    if (pairs)
      fill_preferences(batches.placed_validation(number, part), scale);
    if (teacher_tokens)
      fill_teacher(batches.placed_validation(number, part));
    return finish(batches, number, false, scale);
  }
  /// The same for what is said of each pair by itself: all have the weight 1,
  /// and compare with nothing.
  BatonStep fill_pairs(const Batches &batches, uint64_t number) {
    batches.fill_validation(number, tokens, targets, positions,
                            row_weights.data(), part);
    std::vector<PlacedDocument> all = batches.placed_validation(number, part);
    for (PlacedDocument &pair : all)
      pair.weight = 1;
    fill_preferences(all, 1);
    return finish(batches, number, false, 1);
  }

private:
  void fill_preferences(const std::vector<PlacedDocument> &all, double scale) {
    std::fill_n(pairs->data, pairs->bytes(), std::byte{});
    for (const PlacedDocument &pair : all) {
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

  /// Targets are those rows of a document that have a weight, in order.
  void fill_teacher(const std::vector<PlacedDocument> &all) {
    const Teacher *const teacher = distillation.teacher;
    const uint64_t rows = teacher_tokens->shape.front(),
                   most = teacher_tokens->shape.back(),
                   width = teacher_numbers->shape.back();
    const double temperature = teacher ? teacher->temperature() : 1;
    std::fill_n(teacher_tokens->integers(), rows * most,
                std::numeric_limits<int32_t>::max());
    std::fill_n(teacher_numbers->data, teacher_numbers->bytes(), std::byte{});
    auto set = [&](uint64_t row, uint64_t place, double value) {
      set_real(teacher_numbers->data, teacher_numbers->type,
               row * width + place, value);
    };
    for (uint64_t row = 0; row < rows; ++row) {
      set(row, 0, distillation.kl * temperature * temperature);
      set(row, 1, distillation.ce);
      set(row, 2, 1 / temperature);
      set(row, 4, distillation.reverse);
    }
    if (!teacher)
      return;
    logps.resize(teacher->top_k());
    for (size_t i = 0; i < all.size(); ++i) {
      uint64_t target = teacher->first_target(all[i].number);
      const uint64_t last = teacher->first_target(all[i].number + 1);
      for (uint64_t row = all[i].row; target < last; ++row) {
        if (row_weights[row] == 0)
          continue;
        float rest = 0;
        teacher->read(target++,
                      {teacher_tokens->integers() + row * most, logps.size()},
                      logps, rest);
        set(row, 3, rest);
        for (size_t k = 0; k < logps.size(); ++k)
          set(row, first_logp + k, logps[k]);
      }
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
  /// Null where losses have no teacher.
  const TrainingTensor *teacher_tokens, *teacher_numbers;
  Distillation distillation;
  std::vector<float> logps;
  /// Numbers of a row that come before those of its tokens.
  static constexpr uint64_t first_logp = 5;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STEP_INPUTS_H
