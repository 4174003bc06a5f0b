//===- merge.h - an adapter and its model as one checkpoint ---------------===//

#ifndef BATON_TOOLS_MERGE_MERGE_H
#define BATON_TOOLS_MERGE_MERGE_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace baton {

struct MergeOptions {
  /// A PEFT folder.
  std::filesystem::path adapter;
  /// The model beside which it was trained; without, the one that the adapter
  /// names.
  std::optional<std::filesystem::path> model;
  /// A folder that there is not yet.
  std::filesystem::path output;
  /// Called as bytes of weights are written; an exception ends the merge.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

/// What a merge has changed.
struct MergeSummary {
  std::filesystem::path model;
  uint64_t tensors = 0, adapted = 0;
};

/// Writes a checkpoint of floating-point weights W + factor B A, each computed
/// in F32, the products in ascending order of the rank, and rounded once to the
/// type that it is stored in; and copies the model's other files. Throws Error
/// for pairs without a weight, or of another shape than it, and quantised
/// weights. What there is of the folder is removed when it fails.
MergeSummary merge(const MergeOptions &options);

} // namespace baton

#endif // BATON_TOOLS_MERGE_MERGE_H
