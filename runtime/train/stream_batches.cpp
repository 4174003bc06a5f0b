//===- batches.cpp - which sequences a training step reads ---------------===//

#include "runtime/train/stream_batches.h"

#include "runtime/train/permutation.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <vector>

namespace baton {

StreamBatches::StreamBatches(const Dataset &dataset, const BatchShape &shape,
                             const BatchOrigin &origin,
                             double validation_fraction)
    : Batches(shape, origin), dataset(dataset),
      sequences(dataset.split(shape.length, validation_fraction)) {}

StreamBatches StreamBatches::all_for_validation(const Dataset &dataset,
                                                const BatchShape &shape) {
  StreamBatches result(dataset, shape, {}, 0);
  result.sequences = {0, result.sequences.training};
  return result;
}

double StreamBatches::epochs(uint64_t step) const {
  return static_cast<double>(first_sequence(step)) /
         static_cast<double>(sequences.training);
}

uint64_t StreamBatches::shuffled(uint64_t sequence) const {
  uint64_t epoch = sequence / sequences.training;
  Permutation permutation(sequences.training, mix(origin.seed) + epoch);
  return permutation(sequence % sequences.training);
}

void StreamBatches::fill_row(uint64_t row, uint64_t sequence, float weight,
                             int32_t *tokens, int32_t *targets,
                             int32_t *positions, float *weights) const {
  uint64_t length = batch.length, begin = row * length;
  // Inputs and targets overlap but for their ends.
  uint64_t first = sequence * (length + 1);
  dataset.read(first, length, tokens + begin);
  std::copy_n(tokens + begin + 1, length - 1, targets + begin);
  dataset.read(first + length, 1, targets + begin + length - 1);
  for (uint64_t i = 0; i < length; ++i)
    positions[begin + i] = static_cast<int32_t>(i);
  std::fill_n(weights + begin, length, weight);
}

uint64_t StreamBatches::sample() const {
  constexpr uint64_t samples = 64;
  uint64_t count = sequences.training + sequences.validation, hash = count;
  std::vector<int32_t> tokens(batch.length + 1);
  for (uint64_t i = 0; i < std::min(count, samples); ++i) {
    uint64_t sequence = i * count / std::min(count, samples);
    dataset.read(sequence * tokens.size(), tokens.size(), tokens.data());
    hash = hash_bytes(tokens.data(), tokens.size() * sizeof(int32_t), hash);
  }
  return hash;
}

void StreamBatches::fill(uint64_t step, uint64_t microbatch, int32_t *tokens,
                         int32_t *targets, int32_t *positions, float *weights,
                         Place part) const {
  uint64_t rows = batch.rows / part.count;
  uint64_t first =
      first_sequence(step) + microbatch * batch.rows + part.index * rows;
  float weight =
      1 / static_cast<float>(batch.sequences_per_step() * batch.length);
  for (uint64_t row = 0; row < rows; ++row)
    fill_row(row, shuffled(first + row), weight, tokens, targets, positions,
             weights);
}

uint64_t StreamBatches::validation_batches() const {
  return (sequences.validation + batch.rows - 1) / batch.rows;
}

void StreamBatches::fill_validation(uint64_t number, int32_t *tokens,
                                    int32_t *targets, int32_t *positions,
                                    float *weights, Place part) const {
  uint64_t rows = batch.rows / part.count;
  uint64_t first = number * batch.rows + part.index * rows;
  // Parts at the end of the last batch may have no sequence.
  uint64_t used = std::min(rows, sequences.validation -
                                     std::min(first, sequences.validation));
  float weight = 1 / static_cast<float>(sequences.validation * batch.length);
  for (uint64_t row = 0; row < used; ++row)
    fill_row(row, sequences.training + first + row, weight, tokens, targets,
             positions, weights);
  for (uint64_t row = used; row < rows; ++row) {
    uint64_t begin = row * batch.length;
    std::fill_n(tokens + begin, batch.length, 0);
    std::fill_n(targets + begin, batch.length, 0);
    for (uint64_t i = 0; i < batch.length; ++i)
      positions[begin + i] = static_cast<int32_t>(i);
    std::fill_n(weights + begin, batch.length, 0.0f);
  }
}

} // namespace baton
