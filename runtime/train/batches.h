//===- batches.h - what a training step reads -----------------------------===//
//
// A step reads sequences: of a stream of tokens (stream_batches.h), or of whole
// documents, several in one (runtime/documents/document_batches.h). The k-th
// sequence of a run is a pure function of the data, the seed and k: a run is
// continued exactly by these numbers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_BATCHES_H
#define BATON_RUNTIME_TRAIN_BATCHES_H

#include "runtime/comm/mesh.h"

#include <cstdint>
#include <vector>

namespace baton {

/// A document in a microbatch, or a pair of answers.
struct PlacedDocument {
  /// Its first row; it ends before the next one, or with the last row that has
  /// a weight.
  uint64_t row;
  /// Its number among all documents.
  uint32_t number;
  /// Of a pair of answers in the loss, which is the mean over the pairs of the
  /// step.
  float weight;
};

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
///   positions  places in the sequence, or in the document: attention sees what
///              is before a row, from the last position 0 on
///   weights    of the targets in the loss: the losses of all microbatches of a
///              step, weighted and summed, are the step's mean; of pairs of
///              answers 1 or -1, as an answer is preferred or not
/// Where a microbatch is cut into parts, each of B / parts sequences, it is
/// that part only; weights stay those of the whole. Threads may use one at
/// once.
class Batches {
public:
  /// Throws Error, naming the flag (--batch, --accumulate), for shapes with a
  /// zero, and more targets in a step than there are numbers.
  Batches(const BatchShape &shape, const BatchOrigin &origin);
  virtual ~Batches();

  const BatchShape &shape() const { return batch; }

  /// The number of the sequence that a step reads first, counted over all
  /// epochs: what a checkpoint of the steps before it keeps.
  uint64_t first_sequence(uint64_t step) const {
    return origin.sequence + (step - origin.step) * batch.sequences_per_step();
  }
  /// Rows of a step that hold a token; the others are room that was left.
  virtual uint64_t tokens(uint64_t step) const = 0;

  /// A hash of some of the sequences, all over the data.
  virtual uint64_t sample() const = 0;

  /// `step` is not below the origin's, `microbatch` below the accumulation.
  virtual void fill(uint64_t step, uint64_t microbatch, int32_t *tokens,
                    int32_t *targets, int32_t *positions, float *weights,
                    Place part) const = 0;
  /// Its documents, in the order of their rows; none of a stream.
  virtual std::vector<PlacedDocument> placed(uint64_t step, uint64_t microbatch,
                                             Place part) const {
    return {};
  }

  /// Batches in which all validation sequences fit. They are in order; rows
  /// behind the last one hold zeros and have the weight 0. The losses of all,
  /// weighted and summed, are the mean over the validation sequences.
  virtual uint64_t validation_batches() const = 0;
  virtual void fill_validation(uint64_t number, int32_t *tokens,
                               int32_t *targets, int32_t *positions,
                               float *weights, Place part) const = 0;
  virtual std::vector<PlacedDocument> placed_validation(uint64_t number,
                                                        Place part) const {
    return {};
  }
  /// Targets of all of them.
  virtual uint64_t validation_targets() const = 0;

protected:
  BatchShape batch;
  BatchOrigin origin;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_BATCHES_H
