//===- step_times.h - how long a step of a program takes ------------------===//

#ifndef BATON_TOOLS_PLAN_STEP_TIMES_H
#define BATON_TOOLS_PLAN_STEP_TIMES_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace baton::plan {

/// What a step holds, as far as its time depends on it.
struct StepShape {
  /// Rows with logits: of texts that are continued, and ends of prompts. And
  /// rows without, of prompts.
  double outputs = 0, rows = 0;
  /// Positions before each of them, summed up.
  double output_contexts = 0, row_contexts = 0;
};

class StepTimes {
public:
  virtual ~StepTimes() = default;
  /// Seconds from the end of the step before it to its own.
  virtual double seconds(const StepShape &shape) const = 0;
  /// Seconds by which the tokens of a text that begins with this step come
  /// later, where parts of a step go through a pipeline one after the other.
  virtual double fill(const StepShape &) const { return 0; }
};

/// Times of a program's steps that its bench has measured (--step-times).
class MeasuredStepTimes : public StepTimes {
public:
  /// Ascending; the first two begin with 0. `seconds` has
  /// [outputs][rows][contexts].
  MeasuredStepTimes(std::vector<double> outputs, std::vector<double> rows,
                    std::vector<double> contexts, std::vector<double> seconds);
  /// Throws Error that names the file and what is wrong with it.
  explicit MeasuredStepTimes(const std::filesystem::path &file);

  /// Linear between neighbours of each axis, so that each point of the grid has
  /// its own time, and beyond the last two as between these. A point's rows
  /// without logits are one chunk. Where the two kinds of rows see different
  /// numbers of positions, each counts by what positions cost it alone. No
  /// less than the grid's shortest step.
  double seconds(const StepShape &shape) const override;

  /// What the program was compiled for.
  int64_t max_sequences = 0, max_rows = 0, max_outputs = 0, max_positions = 0;
  int64_t workers = 0;
  /// How far half of a point's steps are apart, as a part of the median.
  double spread = 0;

private:
  void check(const std::string &name);
  double at(double outputs, double rows, double context) const;

  std::vector<double> axes[3], times;
  double shortest = 0;
};

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_STEP_TIMES_H
