//===- ScheduleStatic.cpp - which worker runs which tile -----------------===//
//
// For each phase by itself, and for neighbours together where tasks are few.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Passes.h"

#include "passes/plan/PlanRewrites.h"

#include "mlir/IR/BuiltinOps.h"

namespace baton::tasks {
#define GEN_PASS_DEF_SCHEDULESTATIC
#include "passes/plan/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton::event;

namespace {

struct ScheduleStatic
    : public baton::tasks::impl::ScheduleStaticBase<ScheduleStatic> {
  using ScheduleStaticBase::ScheduleStaticBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      baton::tasks::dealOutByWork(phasesOf(program), fewTasks);
  }
};

} // namespace
