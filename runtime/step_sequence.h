//===- step_sequence.h - what a training step is made of ------------------===//
//
// The part of a step that the plan's proof and the runtime have to agree on, of
// training first of all: which buffers the runtime writes before it starts a
// program, and which programs the rank at a place of a pipeline runs, in order.
// event-verify proves just this sequence, the runtime runs it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_STEP_SEQUENCE_H
#define BATON_RUNTIME_STEP_SEQUENCE_H

#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton {

/// Buffers that the runtime writes before each run of a program that trains;
/// the phase that advances the step states it.
inline constexpr std::array<std::string_view, 9> step_inputs = {
    "tokens",          "positions",   "targets",
    "target_weights",  "preferences", "teacher_tokens",
    "teacher_numbers", "accumulate",  "numbers"};
/// What they make for the runtime besides a summary: of programs whose losses
/// are of pairs of answers, what is said of each pair, in its first row.
inline constexpr std::string_view step_pairs = "pairs";

/// The same of a program whose steps are of several sequences.
inline constexpr std::array<std::string_view, 7> batch_step_inputs = {
    "tokens", "positions", "sequences", "slots",
    "pages",  "sampling",  "changes"};
/// And, where its rows have adapters, which ranks are those of each row's.
inline constexpr std::array<std::string_view, 2> batch_adapter_inputs = {
    "adapter_places", "adapter_counts"};
/// And, where steps may compute logits of some tokens alone, of which: how many
/// panels of tokens before each one are wanted.
inline constexpr std::string_view batch_step_wanted = "wanted_panels";
/// What such a program makes for the runtime besides logits.
inline constexpr std::string_view batch_step_draws = "draws";
/// What the runtime makes while a step runs, for a phase of it.
inline constexpr std::string_view batch_step_masks = "masks";
/// And, if it was compiled with --embeddings, of each row: F32, row-major.
inline constexpr std::string_view batch_step_hidden = "hidden_states";

/// The one among those of training that is 0 for a step's first microbatch
/// only.
inline constexpr std::string_view accumulate_input = "accumulate";

/// A program that a rank runs in a step.
struct SequenceEntry {
  /// "forward", "backward", "input", "weight", "norm", "agreement" or "update"
  std::string_view part;
  uint32_t chunk = 0;
  /// None at the step's end, when all microbatches are through.
  std::optional<uint32_t> microbatch;
  /// The place of what is kept for the microbatch.
  uint32_t slot = 0;
};

/// The table of one place, and what all places have in common.
struct SequenceTable {
  /// "F0 F1 B0 W0 B1 W1", of chunks "F0.1"
  std::string steps;
  uint32_t microbatches = 1, chunks = 1;
  /// How many microbatches have a slot.
  uint32_t in_flight = 1;
  /// Both halves of the backward step are one program.
  bool fused = false;
};

/// Throws nothing: `problem` says what is wrong with the table.
struct Sequence {
  std::vector<SequenceEntry> entries;
  std::string problem;
};

inline Sequence sequence_of(const SequenceTable &table) {
  Sequence result;
  // Which microbatch of which chunk has a slot.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> slots;
  std::set<uint32_t> free;
  for (uint32_t slot = 0; slot < table.in_flight; ++slot)
    free.insert(slot);
  std::istringstream words(table.steps);
  for (std::string word; words >> word;) {
    uint32_t microbatch = 0, chunk = 0;
    const char *end = word.data() + word.size();
    auto [rest, wrong] = std::from_chars(word.data() + 1, end, microbatch);
    if (wrong == std::errc() && rest != end && *rest == '.')
      rest = std::from_chars(rest + 1, end, chunk).ptr;
    const char phase = word[0];
    bool known = wrong == std::errc() && rest == end &&
                 std::string_view("FBW").find(phase) != std::string::npos &&
                 chunk < table.chunks && microbatch < table.microbatches;
    const std::pair key(chunk, microbatch);
    if (known && phase == 'F') {
      if (free.empty()) {
        result.problem =
            "more microbatches are in flight than its schedule says";
        return result;
      }
      slots[key] = *free.begin();
      free.erase(free.begin());
    }
    auto slot = slots.find(key);
    if (!known || slot == slots.end()) {
      result.problem = "its schedule has a step " + word;
      return result;
    }
    // Both halves of the backward step are one program, which runs where the
    // first one has its place: what it sends leaves no later than proved.
    if (!table.fused || phase != 'W')
      result.entries.push_back({phase == 'F'   ? "forward"
                                : table.fused  ? "backward"
                                : phase == 'B' ? "input"
                                               : "weight",
                                chunk, microbatch, slot->second});
    if (phase == 'W') {
      free.insert(slot->second);
      slots.erase(slot);
    }
  }
  for (uint32_t chunk = 0; chunk < table.chunks; ++chunk)
    result.entries.push_back({"norm", chunk, {}, 0});
  result.entries.push_back({"agreement", 0, {}, 0});
  for (uint32_t chunk = 0; chunk < table.chunks; ++chunk)
    result.entries.push_back({"update", chunk, {}, 0});
  return result;
}

} // namespace baton

#endif // BATON_RUNTIME_STEP_SEQUENCE_H
