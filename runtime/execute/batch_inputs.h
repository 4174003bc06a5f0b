//===- batch_inputs.h - what a step over many sequences reads ------------===//
//
// A batch program's step has rows of any sequences; its past is always 0. Where
// a row stands in its sequence, and where the keys and values of that lie, are
// arrays in the program's own memory that the driver fills before each step.
//
// Keys and values lie in pages of 64 positions. All rows of a step write theirs
// first. Then each row sees positions 0 to its own of its own sequence. From
// rows with logits the step draws tokens.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_BATCH_INPUTS_H
#define BATON_RUNTIME_EXECUTE_BATCH_INPUTS_H

#include "runtime/execute/metadata.h"
#include "runtime/step_sampling.h"
#include "runtime/weights/packing.h"

#include <cstddef>
#include <cstdint>

namespace baton {

/// Positions of one page.
inline constexpr uint32_t page_positions = 64;

/// Pages that so many positions take.
constexpr uint64_t pages_of(uint64_t positions) {
  return (positions + page_positions - 1) / page_positions;
}

struct BatchInputs {
  /// [max_rows] The token of each row.
  int32_t *tokens;
  /// [max_rows] The row's position in its sequence.
  int32_t *positions;
  /// [max_rows] Which line of `pages` the row's sequence has.
  int32_t *sequences;
  /// [max_rows] Where the row's keys and values go:
  /// page * page_positions + position % page_positions.
  int32_t *slots;
  /// [max_sequences][pages_of(max_positions)] Line s, entry b: the page with
  /// positions [64 b, 64 b + 64) of a sequence.
  int32_t *pages;
  /// [max_outputs] What is wanted of each row with logits.
  BatonSampling *sampling;
  /// [max_sequences][max_changes] Lines of changes of logits.
  BatonChange *changes;
  /// [max_outputs][mask_words()] Of each row with logits that is masked a bit
  /// for each token: those that it may draw. 16 KiB a row for 131,072 tokens.
  /// Written while the step runs, by what `sampling` says.
  uint32_t *masks;
  /// [max_outputs] What the step has drawn; the program writes it.
  const BatonDraw *draws;
  /// [max_rows][hidden_width] The last hidden state of each row; null in a
  /// program without. The program writes it.
  const float *hidden_states = nullptr;
  /// [max_rows] The first rank of the row's adapter, and how many it has, 0
  /// without one; null in a program without adapters.
  int32_t *adapter_places = nullptr, *adapter_counts = nullptr;
  /// [logit_panels + 1] Of a step whose rows want logits of some tokens only:
  /// how many of the panels before each one have such tokens, and at the end of
  /// all. Where neighbours are equal the panel between them is not computed.
  /// Null in a program that computes all logits in every step.
  int32_t *wanted_panels = nullptr;
};

/// The capacities of a batch program.
struct BatchCapacities {
  uint32_t max_rows;
  uint32_t max_outputs;
  uint32_t max_sequences;
  uint32_t max_positions;
  /// Of a line of BatchInputs::changes.
  uint32_t max_changes;
  uint64_t pages;
  uint64_t vocabulary;
  /// Elements of a hidden state; 0 in a program without.
  uint32_t hidden_width = 0;
  /// Ranks of adapters that there is room for, and the most of one; 0 in a
  /// program without.
  uint32_t adapter_ranks = 0, most_adapter_ranks = 0;
  /// Panels of 16 tokens of which a step may compute the logits of some alone;
  /// 0 in a program that computes all logits in every step.
  uint32_t logit_panels = 0;

  /// Which of the panels has a token.
  static uint32_t panel_of(uint64_t token) {
    return static_cast<uint32_t>(token / panel_lanes);
  }
  /// Entries of one line of BatchInputs::pages.
  size_t line_entries() const {
    return static_cast<size_t>(pages_of(max_positions));
  }
  /// Words of one row of BatchInputs::masks.
  size_t mask_words() const {
    return static_cast<size_t>((vocabulary + 31) / 32);
  }
};

/// Those of a program with so many pages.
inline BatchCapacities batch_capacities(const Metadata &metadata,
                                        uint64_t pages) {
  return {metadata.max_rows,
          metadata.max_outputs,
          metadata.batch->max_sequences,
          metadata.batch->max_positions,
          metadata.batch->max_changes,
          pages,
          metadata.vocabulary,
          metadata.batch->hidden_width,
          metadata.batch->adapters ? metadata.batch->adapters->ranks : 0,
          metadata.batch->adapters ? metadata.batch->adapters->most : 0,
          metadata.batch->wanted_panels
              ? static_cast<uint32_t>(
                    panel_count(metadata.vocabulary, /*interleave=*/false))
              : 0};
}

/// Has a step compute all logits.
inline void want_all_logits(const BatchInputs &inputs,
                            const BatchCapacities &shape) {
  if (inputs.wanted_panels)
    for (uint32_t panel = 0; panel <= shape.logit_panels; ++panel)
      inputs.wanted_panels[panel] = static_cast<int32_t>(panel);
}

/// Where a program with these storages reads them.
inline BatchInputs batch_inputs(const BatchDescription &batch,
                                void *const *storages) {
  auto at = [&]<typename T>(size_t storage, T *&place) {
    place = static_cast<T *>(storages[storage]);
  };
  BatchInputs inputs;
  at(batch.tokens, inputs.tokens);
  at(batch.positions, inputs.positions);
  at(batch.sequences, inputs.sequences);
  at(batch.slots, inputs.slots);
  at(batch.pages, inputs.pages);
  at(batch.sampling, inputs.sampling);
  at(batch.changes, inputs.changes);
  at(batch.masks, inputs.masks);
  at(batch.draws, inputs.draws);
  if (batch.hidden_states)
    at(*batch.hidden_states, inputs.hidden_states);
  if (batch.adapters) {
    at(batch.adapters->places, inputs.adapter_places);
    at(batch.adapters->counts, inputs.adapter_counts);
  }
  if (batch.wanted_panels)
    at(*batch.wanted_panels, inputs.wanted_panels);
  return inputs;
}

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_BATCH_INPUTS_H
