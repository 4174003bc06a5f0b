//===- judge.h - predictions beside what was measured ---------------------===//

#ifndef BATON_TOOLS_PLAN_JUDGE_H
#define BATON_TOOLS_PLAN_JUDGE_H

#include "tools/plan/calibration.h"
#include "tools/plan/measured_table.h"

#include <optional>
#include <string>
#include <vector>

namespace baton::plan {

struct JudgedStep {
  MeasuredStep measured;
  StepTime time;
  StepMemory memory;
  /// (predicted - measured) / measured.
  double error = 0;
  /// Likewise of the bytes that it allocates.
  std::optional<double> memory_error;
  bool calibrates = false;
};

/// Rows that differ in how they are split only.
struct JudgedWorkload {
  /// Rows, from 0, in the table's order.
  std::vector<size_t> rows;
  /// The one that was measured to be fastest, and its place, from 1, when rows
  /// are in the order of predictions.
  size_t fastest = 0, rank = 0;
};

struct Judgement {
  Slowness slowness;
  /// What all rows recompute.
  Recompute recompute = Recompute::none;
  std::vector<JudgedStep> rows;
  /// Of those with two rows or more.
  std::vector<JudgedWorkload> workloads;
  /// The mean of errors' sizes, without the row that calibrates; none where
  /// there is no other.
  std::optional<double> mean_error;
  /// The worst rank of a workload's fastest row; none without workloads.
  std::optional<size_t> best_rank;
  /// Rows that do not fit the device by what is counted here.
  size_t too_large = 0;
  /// Likewise of memory, of rows that say what they took; it is not calibrated.
  std::optional<double> mean_memory_error;
};

/// `calibrating` is a row from 0. Without a `recompute`, all rows have the
/// least with which each of them fits the device: a table is of one machine's
/// runs, and they ran. Measured times play no part in that.
Judgement judge(const std::vector<MeasuredStep> &steps, size_t calibrating,
                const Device &device, const Framework &framework,
                std::optional<Recompute> recompute);

/// A row counted from 1 as one from 0. Throws Error, naming `file`, where there
/// is no such row.
size_t calibrating_row(const MeasuredTable &table, const std::string &file,
                       int64_t row);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_JUDGE_H
