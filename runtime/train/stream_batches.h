//===- stream_batches.h - sequences of a stream of tokens -----------------===//
//
// The training sequences of a data set are shuffled anew in every epoch, by a
// permutation that the seed and the epoch's number choose. A batch may end one
// epoch and begin the next.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_STREAM_BATCHES_H
#define BATON_RUNTIME_TRAIN_STREAM_BATCHES_H

#include "runtime/train/batches.h"
#include "runtime/train/dataset.h"

#include <cstdint>

namespace baton {

/// Sequences have all tokens that they can, at positions 0 ... T - 1, and all
/// are targets. Immutable. The data set must outlive it.
class StreamBatches final : public Batches {
public:
  /// Throws Error for shapes that Batches refuses, and for fractions and data
  /// that Dataset::split refuses.
  StreamBatches(const Dataset &dataset, const BatchShape &shape,
                const BatchOrigin &origin, double validation_fraction = 0.1);
  /// All sequences are for validation.
  static StreamBatches all_for_validation(const Dataset &dataset,
                                          const BatchShape &shape);

  const SequenceSplit &split() const { return sequences; }
  /// Epochs that are finished when a step begins, with their fraction.
  double epochs(uint64_t step) const;

  uint64_t tokens(uint64_t) const override {
    return batch.sequences_per_step() * batch.length;
  }
  uint64_t sample() const override;
  void fill(uint64_t step, uint64_t microbatch, int32_t *tokens,
            int32_t *targets, int32_t *positions, float *weights,
            Place part = {}) const override;
  uint64_t validation_batches() const override;
  void fill_validation(uint64_t number, int32_t *tokens, int32_t *targets,
                       int32_t *positions, float *weights,
                       Place part = {}) const override;
  uint64_t validation_targets() const override {
    return sequences.validation * batch.length;
  }

private:
  uint64_t shuffled(uint64_t sequence) const;
  void fill_row(uint64_t row, uint64_t sequence, float weight, int32_t *tokens,
                int32_t *targets, int32_t *positions, float *weights) const;

  const Dataset &dataset;
  SequenceSplit sequences;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STREAM_BATCHES_H
