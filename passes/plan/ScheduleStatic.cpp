//===- ScheduleStatic.cpp - which worker runs which tile -----------------===//
//
// Tiles of equal work are dealt out in blocks: a worker's tiles lie side by
// side, and share what they read. Where work grows with a coordinate, as the
// part of the past that an attention tile reads does, blocks would leave the
// last workers with most of it, and tiles are dealt out in turn.
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
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      for (PhaseOp phase : phasesOf(program))
        phase.setDistribution(baton::tasks::distributionByWork(phase));
  }
};

} // namespace
