//===- reference_pass.h - what the model says of pairs before training ----===//

#ifndef BATON_RUNTIME_MAIN_REFERENCE_PASS_H
#define BATON_RUNTIME_MAIN_REFERENCE_PASS_H

#include "runtime/comm/communicator.h"
#include "runtime/execute/execution.h"
#include "runtime/main/training_data.h"
#include "runtime/train/references.h"
#include "runtime/train/step_inputs.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace baton {

/// Takes all pairs once through a program as it is, by steps that only add to
/// gradients: weights and the optimizer's states stay as they are.
class ReferencePass : public StepDriver {
public:
  using Say = std::function<void(uint64_t done, uint64_t total)>;

  /// All outlive it. `parts`: all pairs of the data, each once.
  ReferencePass(std::span<const TrainingData::Part> parts,
                const TrainingTensors &tensors, Place place, Say say);

  /// What all ranks together have found, on each of them. Throws Error for what
  /// is not finite; of no meaning when a signal cuts it short.
  References measure(Execution &execution, Communicator *communicator);

  BatonStep begin(std::span<int32_t>) override;
  BatonStep advance(const BatonStep &step, const Logits &summary) override;

private:
  BatonStep next();
  std::vector<PlacedDocument> pairs() const;

  std::span<const TrainingData::Part> parts;
  const TrainingTensors &tensors;
  const TrainingTensor &made;
  const Place place;
  Say say;
  const Preferences none;
  StepInputs inputs;
  References found;
  /// Pairs that this rank has seen.
  std::vector<uint32_t> seen;
  /// The part and its batch that run, and how many have run.
  size_t part = 0;
  uint64_t number = 0, done = 0, total = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_REFERENCE_PASS_H
