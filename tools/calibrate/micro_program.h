//===- micro_program.h - programs whose phases are the ops to measure -----===//

#ifndef BATON_TOOLS_CALIBRATE_MICRO_PROGRAM_H
#define BATON_TOOLS_CALIBRATE_MICRO_PROGRAM_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace baton::calibrate {

/// An op with all of its sizes, as a device file's tables name them
/// (tools/plan/measured_ops.h).
struct Point {
  std::string op, type;
  std::map<std::string, double> sizes;

  auto operator<=>(const Point &) const = default;
};

/// Steps that are measured: so many new tokens, of which the last one sees so
/// many positions. One row is a step that decodes.
struct Step {
  int64_t rows = 1, positions = 1;

  bool operator==(const Step &) const = default;
};

/// What a phase of a program measures: in each step an op of the sizes that the
/// phase has, and of those that the step gives.
struct MeasuredPhase {
  Point point;
  /// Sizes that are the step's rows, or positions; or bytes of each row.
  bool by_rows = true, by_positions = false;
  double bytes_by_row = 0;

  Point in(const Step &step) const;
};

/// Tokens that are decoded to measure a step of one row; the positions of the
/// middle one are the step's.
inline constexpr int64_t decoded_tokens = 8;

/// A module in the model dialect, written as an importer would write it:
/// batonc fuses, tiles and schedules it as any model.
struct MicroProgram {
  std::string name, text;
  /// By the phases' names. Several may measure one op.
  std::map<std::string, MeasuredPhase> phases;
  /// Phases that nobody asked for, but which are no part of what is between
  /// steps.
  std::vector<std::string> others;
  /// Whether what is between its steps is measured, too.
  bool between_steps = false;
  std::vector<Step> steps;
};

/// Linears of all inputs and outputs among `sizes`, one behind the other, and
/// as many gated ones; repeated until the weights take `bytes`, more than
/// caches hold: each weight comes from memory, as a large model's do.
MicroProgram linear_program(const std::string &type,
                            const std::vector<int64_t> &sizes,
                            const std::vector<int64_t> &rows, double bytes);

/// Heads of attention: key and value heads, queries of each, and their size.
struct Heads {
  std::vector<int64_t> key_heads, groups, sizes;
};

/// Attention with ropes and states of keys and values, for all heads, and
/// element-wise products as wide as the queries.
MicroProgram attention_program(const Heads &heads,
                               const std::vector<Step> &steps);

} // namespace baton::calibrate

#endif // BATON_TOOLS_CALIBRATE_MICRO_PROGRAM_H
