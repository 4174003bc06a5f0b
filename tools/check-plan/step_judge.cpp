//===- step_judge.cpp - the judge inside of a checking program ------------===//

#include "runtime/execute/step_judge.h"

#include "runtime/error.h"
#include "tools/check-plan/judge.h"

#include <set>

namespace baton {

namespace {
class PlanStepJudge : public StepJudge {
public:
  PlanStepJudge(const nlohmann::json &plan, unsigned workers)
      : plan(check::parse_plan(plan)), workers(workers) {}

  void judge(const BatonStep &step) override;

private:
  check::Plan plan;
  unsigned workers;
  std::set<check::Symbols> judged;
};
} // namespace

void PlanStepJudge::judge(const BatonStep &step) {
  check::Symbols symbols = {step.rows, step.past, step.outputs};
  // Several programs are one step, which ends with an update.
  if (!plan.places.empty() && plan.training) {
    if (step.call != 0)
      return;
    symbols.outputs = 1;
  }
  if (!check::fits(plan, symbols) || !judged.insert(symbols).second)
    return;
  check::Verdict verdict;
  try {
    verdict = check::judge(plan, {symbols, {workers}});
  } catch (const check::Error &) {
    return;
  }
  if (!verdict.accepted())
    throw Error("the program's plan is wrong: " +
                verdict.findings.front().message);
}

std::unique_ptr<StepJudge> StepJudge::make(const nlohmann::json &plan,
                                           unsigned workers) {
  return std::make_unique<PlanStepJudge>(plan, workers);
}

} // namespace baton
