//===- batch_check.cpp - whether a step's arrays may be used -------------===//

#include "runtime/execute/batch_check.h"

#include "runtime/weights/packing.h"

#include <algorithm>
#include <string_view>

namespace baton {

namespace {

std::string element_text(std::string_view table, uint64_t place) {
  return std::string(table) + "[" + std::to_string(place) + "]";
}

/// An element that is not in [0, end).
std::optional<std::string> find_range_fault(std::string_view table,
                                            uint64_t place, int32_t value,
                                            uint64_t end) {
  if (value >= 0 && static_cast<uint64_t>(value) < end)
    return std::nullopt;
  return element_text(table, place) + " is " + std::to_string(value) +
         ", expected 0 to " + std::to_string(end - 1);
}

std::string entry_text(int32_t sequence, int64_t entry) {
  return element_text(element_text("pages", static_cast<uint64_t>(sequence)),
                      static_cast<uint64_t>(entry));
}

} // namespace

BatchCheck::BatchCheck(const BatchCapacities &shape)
    : shape(shape), writers(shape.pages), readers(shape.max_sequences) {
  present.reserve(shape.max_sequences);
}

std::optional<std::string> BatchCheck::find_fault(const BatonStep &step,
                                                  const BatchInputs &inputs) {
  if (step.past != 0)
    return "the step's past is " + std::to_string(step.past) + ", expected 0";
  if (step.rows == 0 || step.rows > shape.max_rows)
    return "the step has " + std::to_string(step.rows) +
           " rows, expected 1 to " + std::to_string(shape.max_rows);
  if (uint32_t most = std::min(step.rows, shape.max_outputs);
      step.outputs > most)
    return "the step has " + std::to_string(step.outputs) +
           " outputs, expected 0 to " + std::to_string(most);
  ++steps;
  present.clear();
  for (uint32_t row = 0; row < step.rows; ++row) {
    if (auto fault = find_row_fault(row, inputs))
      return fault;
    if (auto fault = find_adapter_fault(row, inputs))
      return fault;
  }
  for (int32_t sequence : present)
    if (auto fault = find_page_fault(sequence, inputs))
      return fault;
  for (uint32_t output = 0; output < step.outputs; ++output)
    if (auto fault = find_sampling_fault(output, inputs))
      return fault;
  return find_panels_fault(step.outputs, inputs);
}

std::optional<std::string>
BatchCheck::find_row_fault(uint32_t row, const BatchInputs &inputs) {
  const int32_t position = inputs.positions[row];
  const int32_t sequence = inputs.sequences[row];
  const int32_t slot = inputs.slots[row];
  if (auto fault =
          find_range_fault("tokens", row, inputs.tokens[row], shape.vocabulary))
    return fault;
  if (auto fault =
          find_range_fault("positions", row, position, shape.max_positions))
    return fault;
  if (auto fault =
          find_range_fault("sequences", row, sequence, shape.max_sequences))
    return fault;
  if (auto fault =
          find_range_fault("slots", row, slot, shape.pages * page_positions))
    return fault;

  Reader &reader = readers[static_cast<size_t>(sequence)];
  if (reader.step != steps)
    present.push_back(sequence);
  else if (position <= reader.position)
    return element_text("positions", row) + " is " + std::to_string(position) +
           " and " + element_text("positions", reader.row) + " is " +
           std::to_string(reader.position) +
           ": those of a sequence, here of sequence " +
           std::to_string(sequence) + ", ascend";
  reader = {steps, row, position};

  const int32_t entry = position / int32_t(page_positions);
  const int32_t page =
      inputs.pages[static_cast<size_t>(sequence) * shape.line_entries() +
                   static_cast<size_t>(entry)];
  const int64_t place =
      int64_t(page) * page_positions + position % int32_t(page_positions);
  Writer &writer = writers[static_cast<size_t>(slot) / page_positions];
  const uint64_t bit = uint64_t(1) << (slot % int32_t(page_positions));
  if (writer.step != steps)
    writer = {steps, sequence, entry, 0};
  if (writer.slots & bit) {
    const int32_t *other = std::find(inputs.slots, inputs.slots + row, slot);
    return element_text("slots", row) + " is " + std::to_string(slot) +
           ", as " +
           element_text("slots", static_cast<uint64_t>(other - inputs.slots)) +
           ": rows write different slots";
  }
  writer.slots |= bit;
  if (slot != place)
    return element_text("slots", row) + " is " + std::to_string(slot) +
           ", expected " + std::to_string(place) + ": position " +
           std::to_string(position) + " in page " + std::to_string(page) +
           " of " + entry_text(sequence, entry);
  return std::nullopt;
}

std::optional<std::string>
BatchCheck::find_adapter_fault(uint32_t row, const BatchInputs &inputs) const {
  if (!inputs.adapter_places)
    return std::nullopt;
  constexpr auto unit = int32_t(panel_lanes);
  const int32_t place = inputs.adapter_places[row],
                count = inputs.adapter_counts[row];
  if (auto fault = find_range_fault("adapter_counts", row, count,
                                    shape.most_adapter_ranks + 1))
    return fault;
  if (auto fault = find_range_fault("adapter_places", row, place,
                                    shape.adapter_ranks -
                                        static_cast<uint32_t>(count) + 1))
    return fault;
  if (place % unit || count % unit)
    return element_text("adapter_places", row) + " and its count are " +
           std::to_string(place) + " and " + std::to_string(count) +
           ", expected multiples of " + std::to_string(unit);
  return std::nullopt;
}

std::optional<std::string>
BatchCheck::find_page_fault(int32_t sequence, const BatchInputs &inputs) const {
  const int32_t last =
      readers[static_cast<size_t>(sequence)].position / int32_t(page_positions);
  const int32_t *line =
      inputs.pages + static_cast<size_t>(sequence) * shape.line_entries();
  for (int32_t entry = 0; entry <= last; ++entry) {
    const int32_t page = line[entry];
    if (page < 0 || static_cast<uint64_t>(page) >= shape.pages)
      return find_range_fault(
          element_text("pages", static_cast<uint64_t>(sequence)),
          static_cast<uint64_t>(entry), page, shape.pages);
    const Writer &writer = writers[static_cast<size_t>(page)];
    if (writer.step == steps &&
        (writer.sequence != sequence || writer.entry != entry))
      return entry_text(sequence, entry) + " is " + std::to_string(page) +
             ", as " + entry_text(writer.sequence, writer.entry) +
             ", which this step writes";
  }
  return std::nullopt;
}

/// Tokens of changes are looked at where they are used.
std::optional<std::string>
BatchCheck::find_sampling_fault(uint32_t output,
                                const BatchInputs &inputs) const {
  const BatonSampling &sampling = inputs.sampling[output];
  auto fault = [&](std::string_view member, uint64_t value, uint64_t most) {
    return element_text("sampling", output) + "." + std::string(member) +
           " is " + std::to_string(value) + ", expected 0 to " +
           std::to_string(most);
  };
  if (sampling.wanted > BATON_WANTED_LISTED_ONLY)
    return fault("wanted", sampling.wanted, BATON_WANTED_LISTED_ONLY);
  if (sampling.wanted == BATON_WANTED_SCORE &&
      sampling.given >= shape.vocabulary)
    return fault("given", sampling.given, shape.vocabulary - 1);
  if (sampling.likely > BATON_MOST_LIKELY)
    return fault("likely", sampling.likely, BATON_MOST_LIKELY);
  if (sampling.changes > shape.max_changes)
    return fault("changes", sampling.changes, shape.max_changes);
  if (sampling.line >= shape.max_sequences)
    return fault("line", sampling.line, shape.max_sequences - 1);
  if (sampling.masked > 1)
    return fault("masked", sampling.masked, 1);
  if (sampling.masked && !sampling.make_mask)
    return element_text("sampling", output) +
           " is masked, and nobody makes its mask";
  if (sampling.wanted >= BATON_WANTED_LISTED)
    return find_listed_fault(output, inputs);
  return std::nullopt;
}

/// The sampling of the row is fine otherwise.
std::optional<std::string>
BatchCheck::find_listed_fault(uint32_t output,
                              const BatchInputs &inputs) const {
  const BatonSampling &sampling = inputs.sampling[output];
  if (sampling.changes == 0 || sampling.changes > BATON_MOST_LISTED)
    return element_text("sampling", output) + " lists " +
           std::to_string(sampling.changes) + " tokens, expected 1 to " +
           std::to_string(BATON_MOST_LISTED);
  const BatonChange *listed =
      inputs.changes + size_t(sampling.line) * shape.max_changes;
  for (uint32_t i = 0; i < sampling.changes; ++i)
    if (auto fault = find_range_fault(element_text("changes", sampling.line), i,
                                      listed[i].token, shape.vocabulary))
      return fault;
  return std::nullopt;
}

/// Numbers may only stay as they are or grow by one: a task that has several
/// panels compares those at its ends.
std::optional<std::string>
BatchCheck::find_panels_fault(uint32_t outputs,
                              const BatchInputs &inputs) const {
  const int32_t *wanted = inputs.wanted_panels;
  if (!wanted || outputs == 0)
    return std::nullopt;
  // Compiled to comparisons of whole vectors: there are thousands.
  uint32_t odd = 0, left_out = 0;
  for (uint32_t panel = 0; panel < shape.logit_panels; ++panel) {
    const auto more = static_cast<uint32_t>(wanted[panel + 1]) -
                      static_cast<uint32_t>(wanted[panel]);
    odd |= more & ~1U;
    left_out |= more ^ 1U;
  }
  auto text = [&](uint32_t panel) {
    return element_text("wanted_panels", panel) + " and " +
           element_text("wanted_panels", panel + 1) + " are " +
           std::to_string(wanted[panel]) + " and " +
           std::to_string(wanted[panel + 1]);
  };
  if (wanted[0] != 0)
    return "wanted_panels[0] is " + std::to_string(wanted[0]) + ", expected 0";
  if (odd)
    for (uint32_t panel = 0; panel < shape.logit_panels; ++panel)
      if (wanted[panel + 1] != wanted[panel] &&
          wanted[panel + 1] != wanted[panel] + 1)
        return text(panel) + ", expected the same, or one more";
  if (!left_out)
    return std::nullopt;
  auto is_left_out = [&](uint32_t panel) {
    return wanted[panel] == wanted[panel + 1];
  };
  for (uint32_t output = 0; output < outputs; ++output) {
    const BatonSampling &sampling = inputs.sampling[output];
    if (sampling.wanted != BATON_WANTED_LISTED_ONLY) {
      uint32_t panel = 0;
      while (!is_left_out(panel))
        ++panel;
      return text(panel) + ", but " + element_text("sampling", output) +
             " wants all logits";
    }
    const BatonChange *listed =
        inputs.changes + size_t(sampling.line) * shape.max_changes;
    for (uint32_t i = 0; i < sampling.changes; ++i)
      if (const uint32_t panel =
              shape.panel_of(static_cast<uint64_t>(listed[i].token));
          is_left_out(panel))
        return text(panel) + ", but " + element_text("sampling", output) +
               " wants the logit of token " + std::to_string(listed[i].token);
  }
  return std::nullopt;
}

} // namespace baton
