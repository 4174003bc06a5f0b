//===- logit_changes.h - what bias and penalties change -------------------===//
//
// The tokens of a sequence whose logits are not taken as they are: those with a
// bias, and, with penalties, those that the prompt or the text behind it has.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_LOGIT_CHANGES_H
#define BATON_RUNTIME_BATCH_LOGIT_CHANGES_H

#include "runtime/decode/sampler.h"
#include "runtime/step_sampling.h"

#include <cstdint>
#include <span>
#include <vector>

namespace baton {

class LogitChanges {
public:
  LogitChanges() = default;
  /// No logit changes: a row's logits of these tokens are wanted.
  explicit LogitChanges(std::span<const int32_t> listed);
  /// Of a sequence that grows to at most so many tokens. Allocates all that it
  /// will need.
  LogitChanges(const SamplingOptions &options, std::span<const int32_t> prompt,
               uint64_t most_tokens);

  /// Whether there are penalties: all() changes with each token.
  bool follow_text() const { return counts; }
  std::span<const BatonChange> all() const { return changes; }
  /// The text has one more token; which entry of all() that changes, or none
  /// where there are no penalties.
  std::span<const BatonChange> generated(int32_t token);

private:
  BatonChange &at(int32_t token);

  bool counts = false;
  std::vector<BatonChange> changes;
  /// Places in `changes`, plus 1, by hashes of tokens; a power of two of them,
  /// half of which are empty.
  std::vector<uint32_t> places;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_LOGIT_CHANGES_H
