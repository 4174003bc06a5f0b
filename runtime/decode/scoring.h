//===- scoring.h - the logits at every position of a text ----------------===//

#ifndef BATON_RUNTIME_DECODE_SCORING_H
#define BATON_RUNTIME_DECODE_SCORING_H

#include "runtime/execute/npy.h"
#include "runtime/execute/step_driver.h"
#include "runtime/execute/value_dump.h"

#include <cstdint>
#include <vector>

namespace baton {

/// Computes the tokens chunk by chunk, all rows of a chunk being outputs, and
/// appends every row of logits, [vocabulary] floats, to an array.
class Scoring : public StepDriver {
public:
  /// `chunk` is at least 1 and at most max_outputs. The writers outlive this;
  /// `dump` may be null, otherwise the execution is observed.
  Scoring(std::vector<int32_t> tokens, uint32_t chunk, NpyWriter &logits,
          ValueDump *dump);

  BatonStep begin(std::span<int32_t> sequence) override;
  BatonStep advance(const BatonStep &current, const Logits &logits) override;
  void observe(const BatonStep &step, uint32_t phase, uint32_t iteration,
               void *const *storages) override;

private:
  BatonStep step(uint64_t past) const;

  std::vector<int32_t> tokens;
  uint32_t chunk;
  NpyWriter &output;
  ValueDump *dump;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_SCORING_H
