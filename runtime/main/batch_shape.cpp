//===- batch_shape.cpp - what of the data a step takes --------------------===//

#include "runtime/main/batch_shape.h"

#include "runtime/comm/mesh.h"
#include "runtime/error.h"
#include "runtime/execute/pipeline.h"
#include "runtime/train/training_tensors.h"

#include <algorithm>
#include <optional>
#include <string>

namespace baton {

/// Those of a step, which the schedule of a pipeline says.
static uint64_t microbatches(const Metadata &metadata, uint64_t accumulate) {
  std::optional<Pipeline> pipeline = Pipeline::parse(metadata.json);
  if (!pipeline)
    return accumulate;
  if (accumulate != 1 && accumulate != pipeline->microbatches)
    throw Error("--accumulate " + std::to_string(accumulate) +
                ": the schedule " + pipeline->schedule + " is compiled for " +
                std::to_string(pipeline->microbatches) +
                " microbatches a step; batonc --microbatches says how many");
  return pipeline->microbatches;
}

BatchShape batch_shape(const Metadata &metadata, uint64_t batch,
                       uint64_t sequence, uint64_t accumulate) {
  uint64_t longest = longest_sequence(metadata);
  uint64_t length = sequence
                        ? sequence
                        : std::min<uint64_t>({longest, 256, metadata.max_rows});
  if (length > longest)
    throw Error("--seq " + std::to_string(length) +
                ": the model takes sequences of at most " +
                std::to_string(longest) + " tokens");
  // Each rank of a batch's axes takes as many of its sequences.
  uint64_t parts = Mesh::parse(metadata.json).batch_place(0).count;
  if (batch % parts)
    throw Error("--batch " + std::to_string(batch) +
                ": its sequences do not divide by the " +
                std::to_string(parts) + " ranks that each have a part of them");
  if (batch / parts > metadata.max_rows / length)
    throw Error("--batch " + std::to_string(batch) + " with --seq " +
                std::to_string(length) + ": a step takes at most " +
                std::to_string(parts * metadata.max_rows) +
                " tokens; --accumulate makes one of several");
  return {batch, length, microbatches(metadata, accumulate)};
}

} // namespace baton
