//===- scoring.h - the logits at positions of texts -----------------------===//

#ifndef BATON_RUNTIME_DECODE_SCORING_H
#define BATON_RUNTIME_DECODE_SCORING_H

#include "runtime/execute/phase_observer.h"
#include "runtime/execute/step_driver.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace baton {

/// Takes the next rows of logits, each [vocabulary] floats, one behind the
/// other. May throw: the program then ends.
using LogitSink = std::function<void(const float *rows, uint64_t count)>;

/// Computes texts one after the other, chunk by chunk, each from position 0 on,
/// and hands on every row of logits from a text's position `first` on.
class Scoring : public StepDriver {
public:
  /// There is a text, and each has more than `first` tokens. A step has `chunk`
  /// rows at most, 1 to max_rows, and `outputs` of them with logits, 1 to
  /// max_outputs. `observer` may be null, otherwise it outlives this, and the
  /// execution is observed.
  Scoring(std::vector<std::vector<int32_t>> texts, uint64_t first,
          uint32_t chunk, uint32_t outputs, LogitSink sink,
          PhaseObserver *observer);

  BatonStep begin(std::span<int32_t> sequence) override;
  BatonStep advance(const BatonStep &current, const Logits &logits) override;
  void observe(const BatonStep &step, uint32_t phase, uint32_t iteration,
               void *const *storages) override;

private:
  BatonStep step(uint64_t past) const;
  /// Begins the text.
  BatonStep start(size_t next);

  std::vector<std::vector<int32_t>> texts;
  uint64_t first;
  uint32_t chunk, outputs;
  LogitSink sink;
  PhaseObserver *observer;
  /// Where the program reads tokens.
  std::span<int32_t> sequence;
  size_t current_text = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_SCORING_H
