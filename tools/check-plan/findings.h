//===- findings.h - what is wrong with a plan -----------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_FINDINGS_H
#define BATON_TOOLS_CHECK_PLAN_FINDINGS_H

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

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_FINDINGS_H
