//===- scoring.cpp - the logits at every position of a text --------------===//

#include "runtime/decode/scoring.h"

#include <algorithm>

namespace baton {

Scoring::Scoring(std::vector<int32_t> tokens, uint32_t chunk, NpyWriter &logits,
                 ValueDump *dump)
    : tokens(std::move(tokens)), chunk(chunk), output(logits), dump(dump) {}

BatonStep Scoring::step(uint64_t past) const {
  auto rows =
      static_cast<uint32_t>(std::min<uint64_t>(tokens.size() - past, chunk));
  return {rows, static_cast<uint32_t>(past), rows, 0};
}

BatonStep Scoring::begin(std::span<int32_t> sequence) {
  std::copy(tokens.begin(), tokens.end(), sequence.begin());
  return step(0);
}

BatonStep Scoring::advance(const BatonStep &current, const Logits &logits) {
  if (logits.stride == logits.vocabulary)
    output.append(logits.data, current.outputs);
  else
    for (uint32_t row = 0; row < current.outputs; ++row)
      output.append(logits.row(row).data(), 1);
  return step(uint64_t(current.past) + current.rows);
}

void Scoring::observe(const BatonStep &step, uint32_t phase, uint32_t iteration,
                      void *const *storages) {
  if (dump)
    dump->record(step, phase, iteration, storages);
}

} // namespace baton
