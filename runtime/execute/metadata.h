//===- metadata.h - what a compiled program says about itself ------------===//
//
// The JSON behind `baton_metadata` (runtime/program.h), read and checked once.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_METADATA_H
#define BATON_RUNTIME_EXECUTE_METADATA_H

#include "runtime/program.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// Memory that one or more buffers live in.
struct StorageDescription {
  std::string name;
  uint64_t bytes;
  /// Keeps its values from step to step (keys and values of past tokens).
  bool state;
  /// The same, of a program that trains (weights, gradients, an optimizer's
  /// states, and what each step is provided with).
  bool persistent = false;
  /// Has as many times its bytes as there are pages.
  bool paged = false;

  /// With so many; the most that there can be, if they are more.
  uint64_t bytes_of(uint64_t pages) const;
};

/// How far one dimension of a buffer reaches in a given step.
struct Extent {
  /// Other: an expression of step_expression.h.
  enum class Kind { Number, Rows, PastAndRows, Outputs, Other };
  Kind kind;
  /// For Kind::Number.
  int64_t number;
  /// For Kind::Other.
  nlohmann::json expression = {};

  int64_t evaluate(const BatonStep &step) const;
};

/// A buffer that a phase writes. Element `i` of layer `l` lies
/// `offset + l * layer_stride + sum(i * strides)` elements into its storage;
/// runs of `interleave` indices of dimension 0 lie next to one another, for
/// every `interleave_columns` indices of the last dimension (event.buffer). Of
/// a ring, layer `l` has copy `l mod layers`.
struct WrittenBuffer {
  std::string buffer;
  /// "f32", "bf16", "f16", "f64", "i32" or "i64".
  std::string element;
  /// Index into Metadata::storages.
  size_t storage;
  int64_t offset;
  std::vector<int64_t> strides;
  std::vector<int64_t> capacity;
  int64_t layers;
  int64_t layer_stride;
  bool ring = false;
  int64_t interleave;
  int64_t interleave_columns;
  std::vector<Extent> extents;
};

/// What a phase multiplies by weights.
struct Product {
  std::string parameter;
  /// Where its inputs are; nothing of those that its tasks compute by
  /// themselves.
  std::optional<WrittenBuffer> inputs;
};

/// A task that brings what a layer has of tensors into memory, or lets it go
/// (dialects/Event/Tiers.h).
struct TierDescription {
  std::string name;
  /// The number of its phase.
  uint32_t phase = 0;
  bool fetches = false;
  /// Iterations begin with the last layer.
  bool reverse = false;
  uint32_t layers = 1;
  /// Layers that may be in memory at once.
  uint32_t slots = 1;
  /// Buffers of so many layers.
  std::vector<WrittenBuffer> tensors = {};
};

/// A grid of tasks; the phases of one segment run in order, `repeat` times.
struct PhaseDescription {
  std::string name;
  std::string segment;
  int64_t repeat;
  std::vector<WrittenBuffer> writes;
  /// Iterations begin with the last layer.
  bool reverse = false;
  /// An iteration works on what the next one has, and the last one on nothing.
  bool ahead = false;
  /// Tables that its task writes.
  std::vector<std::string> tables = {};
  std::vector<Product> products = {};
  /// Expressions of step_expression.h: how many tasks there are along each of
  /// the grid's dimensions. Empty where the description does not say.
  std::vector<nlohmann::json> grid = {};

  /// Tasks of one iteration.
  uint64_t tasks(const BatonStep &step) const;

  /// Whose copies of parameters and buffers an iteration works on, or what is
  /// ahead has worked on last.
  uint32_t layer(uint32_t iteration) const {
    if (ahead && iteration + 1 < repeat)
      ++iteration;
    return reverse ? static_cast<uint32_t>(repeat) - 1 - iteration : iteration;
  }
};

/// Attention of one row to one of the positions that it sees, the last `window`
/// or, with 0, all.
struct AttentionCost {
  uint64_t window;
  double flops_per_position;
};

/// Weights of experts, of which each token goes to some.
struct ExpertCost {
  double of_token, experts;
  double bytes_per_token;
};

/// What a step costs, as the compiler counts it: operations of linears and of
/// fused attention.
struct Costs {
  double flops_per_token;
  /// The part of it that only rows with logits need.
  double flops_per_output;
  double weight_bytes_per_token;
  /// Read for each position that a token attends to.
  double kv_bytes_per_position;
  std::vector<AttentionCost> attention;
  std::vector<ExpertCost> experts;

  /// What a step of so many tokens reads of weights, on average over routers
  /// that send each to any experts with equal probability.
  double weight_bytes(double tokens) const;
  /// Operations of a prompt of so many tokens, of which only the last one gets
  /// logits.
  double prompt_flops(uint64_t tokens) const;
};

/// Where the logits of a step lie: row-major F32.
struct LogitsPlace {
  /// Index into Metadata::storages.
  size_t storage;
  /// In elements, as the stride of a row is.
  int64_t offset;
  int64_t stride;
  /// Elements of a row.
  int64_t vocabulary;
};

/// Of a program whose rows have low-rank adapters of their own.
struct AdapterCapacity {
  /// Ranks of all that are there at once, and the most of one: multiples of 16.
  uint32_t ranks, most;
  /// Which storage begins with the first rank of each row's, and with how many
  /// it has.
  size_t places, counts;
};

/// Of a program whose steps have rows of several sequences, and whose states
/// lie in pages of 64 positions.
struct BatchDescription {
  /// Most sequences of a step, and most positions of one.
  uint32_t max_sequences;
  uint32_t max_positions;
  /// Most changes of logits of a sequence.
  uint32_t max_changes;
  /// Which storage begins with each of a step's inputs, with its masks, and
  /// with what it draws (execute/batch_inputs.h).
  size_t tokens, positions, sequences, slots, pages, sampling, changes, masks,
      draws;
  /// Of a page of all states.
  uint64_t page_bytes;
  /// Which storage begins with each row's last hidden state, where a program
  /// gives them; and how many elements one has.
  std::optional<size_t> hidden_states = {};
  uint32_t hidden_width = 0;
  std::optional<AdapterCapacity> adapters = {};
  /// Which storage begins with what says which logits a step computes, in a
  /// program that may leave some out.
  std::optional<size_t> wanted_panels = {};

  /// Whether the runtime reads or writes it, between two steps or, as masks,
  /// beside one.
  bool shares(size_t storage) const {
    if (storage == hidden_states)
      return true;
    if (adapters &&
        (storage == adapters->places || storage == adapters->counts))
      return true;
    if (storage == wanted_panels)
      return true;
    for (size_t shared : {tokens, positions, sequences, slots, pages, sampling,
                          changes, masks, draws})
      if (storage == shared)
        return true;
    return false;
  }
};

/// One of an executable's programs: phases `first_phase` to `first_phase` +
/// `phases`. A step is of the one with the fewest `max_rows` that suffice.
struct ProgramDescription {
  uint32_t max_rows;
  uint32_t first_phase;
  uint32_t phases;
  std::optional<LogitsPlace> logits;
};

struct Metadata {
  /// Reads a program's description. Throws Error when it is not one.
  static Metadata parse(std::string_view text);

  /// Whether the program trains. Its logits are then one row in every step:
  /// what the step comes to.
  bool trains() const { return json.contains("training"); }

  uint64_t vocabulary;
  uint32_t max_rows;
  /// The longest sequence.
  uint32_t max_seq;
  uint32_t max_outputs;
  uint64_t scratch_bytes;
  uint64_t event_words;
  std::vector<StorageDescription> storages;
  std::vector<PhaseDescription> phases;
  /// At least one; the first takes steps of max_rows rows.
  std::vector<ProgramDescription> programs;
  std::optional<Costs> costs;
  std::optional<BatchDescription> batch;
  /// What a kernel for a device needs to be started; null on the CPU.
  nlohmann::json device;
  /// The whole description, for the loader of weights and for `info`.
  nlohmann::json json;
  /// Of a program that obeys a cap, in the order of their phases; and the cap,
  /// which a run may change.
  std::vector<TierDescription> tiers;
  uint64_t memory_cap = 0;

  /// Index of the program that takes steps of so many rows.
  size_t program_of(uint32_t rows) const;
};

/// The (phase, iteration) pairs of one step in a program's order.
std::vector<std::pair<uint32_t, uint32_t>>
program_order(const std::vector<PhaseDescription> &phases,
              const ProgramDescription &program);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_METADATA_H
