//===- judge.h - judges a plan by running it in thought -------------------===//
//
// A second judge of plans, which shares nothing with event-verify: where that
// proves for all steps and all workers, this unrolls one step for a number of
// workers, task by task and byte by byte.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_JUDGE_H
#define BATON_TOOLS_CHECK_PLAN_JUDGE_H

#include "tools/check-plan/findings.h"

namespace baton::check {

/// A step, and how many workers run it: 0 for one to each task, which is what
/// events alone order. Among other numbers that is left out of a large step.
struct Instance {
  Symbols symbols;
  std::vector<uint32_t> workers;
};

struct Verdict {
  std::vector<Finding> findings;
  /// Of all ranks, programs and numbers of workers.
  uint64_t tasks = 0;

  bool accepted() const { return findings.empty(); }
};

/// Whether a step may be of such rows, past and outputs.
bool fits(const Plan &plan, const Symbols &symbols);

/// Instances that show most of what can be wrong, smallest first. What is given
/// is taken.
std::vector<Instance> choose_instances(const Plan &plan,
                                       std::optional<int64_t> rows,
                                       std::optional<int64_t> past,
                                       std::optional<int64_t> outputs,
                                       std::vector<uint32_t> workers);

/// The first number of workers with a fault ends it, unless all are asked for.
/// Throws Error when the instance is too large, or no instance of the plan.
Verdict judge(const Plan &plan, const Instance &instance, bool all = false);

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_JUDGE_H
