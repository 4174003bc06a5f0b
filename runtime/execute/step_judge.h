//===- step_judge.h - a plan is judged before a step runs it --------------===//
//
// Programs of --sanitize carry their plan. Before a step of new rows, past and
// outputs runs, a judge unrolls it, task by task; it knows nothing of the proof
// that the plan had when it was compiled.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_STEP_JUDGE_H
#define BATON_RUNTIME_EXECUTE_STEP_JUDGE_H

#include "runtime/program.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>

namespace baton {

class StepJudge {
public:
  virtual ~StepJudge() = default;

  /// Throws Error when the plan is wrong for the step, and says what meets
  /// what. A step that is too large to be unrolled passes.
  virtual void judge(const BatonStep &step) = 0;

  /// `plan` is what batonc --emit=plan-json writes. Defined in
  /// tools/check-plan, and linked into programs of --sanitize only.
  static std::unique_ptr<StepJudge> make(const nlohmann::json &plan,
                                         unsigned workers);
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_STEP_JUDGE_H
