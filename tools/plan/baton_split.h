//===- baton_split.h - how batonc is told to split a training step --------===//

#ifndef BATON_TOOLS_PLAN_BATON_SPLIT_H
#define BATON_TOOLS_PLAN_BATON_SPLIT_H

#include "tools/plan/decoder.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace baton::plan {

/// A flag and its value, which is empty for a flag without one.
using Flags = std::vector<std::pair<std::string, std::string>>;

/// "--mode=train --mesh=dp=2 --sequence-parallel"
std::string text_of(const Flags &flags);

/// What batonc and its program's train need to know of a step. `recompute`
/// names batonc's modes, of which selective is another choice than
/// Megatron-LM's.
struct BatonSplit {
  int64_t data = 1, tensor = 1, pipeline = 1;
  /// "gpipe", "1f1b", "interleaved", "zb-h1" or "zb-h2"; of pipelines only.
  std::string schedule = "1f1b";
  /// Parts of each stage of the interleaved schedule.
  int64_t chunks = 1;
  /// Of a step, and sequences that each data parallel rank has of one.
  int64_t microbatches = 1, sequences = 1;
  /// Tokens of a sequence.
  int64_t length = 1;
  Recompute recompute = Recompute::none;
  int64_t zero = 0;
  bool sequence_parallel = false;

  int64_t ranks() const { return data * tensor * pipeline; }
  int64_t global_batch() const { return data * microbatches * sequences; }

  /// What batonc takes for it.
  Flags compile_flags() const;
  /// What the program's train takes.
  Flags train_flags() const;
  /// "interleaved:2"
  std::string schedule_text() const;
  /// "tp=2 pp=4 dp=8"
  std::string mesh() const;
};

struct BatonSpace {
  Decoder decoder;
  int64_t devices = 1, global_batch = 1, length = 1;
  /// Ranks that meet in each layer share a node.
  int64_t devices_per_node = 1;
  /// Rows that a rank's step has room for.
  int64_t most_rows = 4096;
};

/// Every split that the sizes allow: data, tensor and pipeline degree, each
/// schedule, microbatches, ZeRO's stages, rows cut along tensor parallel ranks
/// or not, and each mode of recomputing. What else batonc refuses it says
/// itself. Throws Error where there is none, naming what binds.
std::vector<BatonSplit> all_splits(const BatonSpace &space);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_BATON_SPLIT_H
