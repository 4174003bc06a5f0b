//===- one_sequence.cpp - one sequence in a program of many ---------------===//

#include "runtime/execute/one_sequence.h"

#include <algorithm>
#include <stdexcept>

namespace baton {

BatonStep OneSequence::begin(std::span<int32_t> /*tokens*/) {
  const size_t count = std::min<uint64_t>(limits.line_entries(), limits.pages);
  for (size_t page = 0; page < count; ++page)
    inputs.pages[page] = static_cast<int32_t>(page);
  // The driver draws for itself.
  std::fill_n(inputs.sampling, limits.max_outputs, BatonSampling{});
  want_all_logits(inputs, limits);
  return provide(driver.begin(sequence));
}

BatonStep OneSequence::advance(const BatonStep &current, const Logits &logits) {
  return provide(driver.advance(at_past(current), logits));
}

BatonStep OneSequence::provide(const BatonStep &step) {
  past = step.past;
  if (uint64_t(past) + step.rows > limits.max_positions ||
      pages_of(uint64_t(past) + step.rows) > limits.pages)
    throw std::logic_error("a step exceeds the program's positions");
  for (uint32_t row = 0; row < step.rows; ++row) {
    const auto position = static_cast<int32_t>(past + row);
    inputs.tokens[row] = sequence[position];
    inputs.positions[row] = position;
    inputs.sequences[row] = 0;
    inputs.slots[row] = position;
    if (inputs.adapter_places) {
      inputs.adapter_places[row] = 0;
      inputs.adapter_counts[row] = static_cast<int32_t>(adapter_ranks);
    }
  }
  const BatonStep provided = {step.rows, 0, step.outputs, step.call};
  if (step.rows)
    if (auto fault = check.find_fault(provided, inputs))
      throw std::logic_error("a step of one sequence: " + *fault);
  return provided;
}

} // namespace baton
