//===- judge.h - judges a plan by running it in thought -------------------===//
//
// A second judge of plans, which shares nothing with event-verify: where that
// proves for all steps and all workers, this unrolls one step for a number of
// workers, task by task and byte by byte.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_JUDGE_H
#define BATON_TOOLS_CHECK_PLAN_JUDGE_H

#include "tools/check-plan/plan.h"

#include <set>

namespace baton::check {

struct Finding {
  /// "race", "value", "deadlock", "count", "exchange", "message", "bounds",
  /// "schedule", "scope", "order"
  std::string kind;
  std::string message;
  /// Tells it from others of its kind.
  std::string fault;
};

/// Each fault once, however many tasks show it.
class Findings {
public:
  static constexpr size_t limit = 1000;

  template <typename... Parts>
  void add(const std::string &kind, const std::string &fault,
           const Parts &...message) {
    if (has(kind, fault))
      return;
    seen.insert(kind + '\n' + fault);
    list.push_back({kind, text(context, message...), fault});
  }
  bool has(const std::string &kind, const std::string &fault) const {
    return list.size() >= limit || seen.count(kind + '\n' + fault) > 0;
  }

  /// Begins each message: where it is found.
  std::string context;
  std::vector<Finding> list;

private:
  std::set<std::string> seen;
};

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
