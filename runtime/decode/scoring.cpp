//===- scoring.cpp - the logits at positions of texts ---------------------===//

#include "runtime/decode/scoring.h"

#include <algorithm>

namespace baton {

Scoring::Scoring(std::vector<std::vector<int32_t>> texts, uint64_t first,
                 uint32_t chunk, uint32_t outputs, LogitSink sink,
                 PhaseObserver *observer)
    : texts(std::move(texts)), first(first), chunk(chunk), outputs(outputs),
      sink(std::move(sink)), observer(observer) {}

BatonStep Scoring::step(uint64_t past) const {
  const uint64_t end =
      std::min<uint64_t>({texts[current_text].size(), past + chunk,
                          std::max(past, first) + outputs});
  const uint64_t scored = end - std::clamp(first, past, end);
  return {static_cast<uint32_t>(end - past), static_cast<uint32_t>(past),
          static_cast<uint32_t>(scored), 0};
}

BatonStep Scoring::start(size_t next) {
  current_text = next;
  std::copy(texts[next].begin(), texts[next].end(), sequence.begin());
  return step(0);
}

BatonStep Scoring::begin(std::span<int32_t> tokens) {
  sequence = tokens;
  return start(0);
}

BatonStep Scoring::advance(const BatonStep &current, const Logits &logits) {
  if (logits.stride == logits.vocabulary && current.outputs)
    sink(logits.data, current.outputs);
  else
    for (uint32_t row = 0; row < current.outputs; ++row)
      sink(logits.row(row).data(), 1);
  const uint64_t past = uint64_t(current.past) + current.rows;
  if (past == texts[current_text].size() && current_text + 1 < texts.size())
    return start(current_text + 1);
  return step(past);
}

void Scoring::observe(const BatonStep &step, uint32_t phase, uint32_t iteration,
                      void *const *storages) {
  if (observer)
    observer->record(step, phase, iteration, storages);
}

} // namespace baton
