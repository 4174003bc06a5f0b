//===- batches.h - which sequences a training step reads -----------------===//
//
// The training sequences of a data set are shuffled anew in every epoch, by a
// permutation that the seed and the epoch's number choose. So the k-th sequence
// of a run is a pure function of (seed, k): a run is continued exactly by these
// two numbers. A batch may end one epoch and begin the next.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_BATCHES_H
#define BATON_RUNTIME_TRAIN_BATCHES_H

#include "runtime/comm/mesh.h"
#include "runtime/train/dataset.h"

#include <cstdint>

namespace baton {

struct BatchShape {
  /// Sequences of a microbatch, B.
  uint64_t rows = 1;
  /// Tokens of a sequence, T.
  uint64_t length = 1;
  /// Microbatches whose gradients make one step.
  uint64_t accumulation = 1;

  uint64_t sequences_per_step() const { return rows * accumulation; }
};

/// Where a run begins: step `step` reads sequence `sequence` first. A new run
/// begins with zeros.
struct BatchOrigin {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t sequence = 0;
};

/// Fills arrays of B * T elements each, row-major:
///   tokens     inputs
///   targets    for each input the token that follows it
///   positions  0 ... T - 1 in every row
///   weights    of the targets in the loss: the losses of all microbatches of a
///              step, weighted and summed, are the step's mean
/// Where a microbatch is cut into parts, each of B / parts sequences, it is
/// that part only; weights stay those of the whole. Immutable; threads may use
/// one at once. The data set must outlive it.
class Batches {
public:
  /// Throws Error, naming the flag (--batch, --accumulate, and those of
  /// Dataset::split), for shapes with a zero, more targets in a step than there
  /// are numbers, and fractions and data that Dataset::split refuses.
  Batches(const Dataset &dataset, const BatchShape &shape,
          const BatchOrigin &origin, double validation_fraction = 0.1);

  const BatchShape &shape() const { return batch; }
  const SequenceSplit &split() const { return sequences; }

  /// The number of the sequence that a step reads first, counted over all
  /// epochs: what a checkpoint of the steps before it keeps.
  uint64_t first_sequence(uint64_t step) const;
  /// Epochs that are finished when a step begins, with their fraction.
  double epochs(uint64_t step) const;

  /// A hash of some of the sequences, all over the data.
  uint64_t sample() const;

  /// `step` is not below the origin's, `microbatch` below the accumulation.
  void fill(uint64_t step, uint64_t microbatch, int32_t *tokens,
            int32_t *targets, int32_t *positions, float *weights,
            Place part = {}) const;

  /// Batches in which all validation sequences fit. They are in order; rows
  /// behind the last one hold zeros and have the weight 0. The losses of all,
  /// weighted and summed, are the mean over the validation sequences.
  uint64_t validation_batches() const;
  void fill_validation(uint64_t number, int32_t *tokens, int32_t *targets,
                       int32_t *positions, float *weights,
                       Place part = {}) const;

private:
  uint64_t shuffled(uint64_t sequence) const;
  void fill_row(uint64_t row, uint64_t sequence, float weight, int32_t *tokens,
                int32_t *targets, int32_t *positions, float *weights) const;

  const Dataset &dataset;
  BatchShape batch;
  BatchOrigin origin;
  SequenceSplit sequences;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_BATCHES_H
