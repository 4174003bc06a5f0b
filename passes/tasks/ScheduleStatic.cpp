//===- ScheduleStatic.cpp - which worker runs which tile -----------------===//
//
// Tiles of equal work are dealt out in blocks: a worker's tiles lie side by
// side, and share what they read. Where work grows with a coordinate, as the
// part of the past that an attention tile reads does, blocks would leave the
// last workers with most of it, and tiles are dealt out in turn.
//
//===----------------------------------------------------------------------===//

#include "passes/tasks/Passes.h"

#include "dialects/Event/Event.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

namespace baton::tasks {
#define GEN_PASS_DEF_SCHEDULESTATIC
#include "passes/tasks/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton::event;

/// True when tiles of the phase read boxes of different sizes, the cut at a
/// buffer's end aside.
static bool isUneven(PhaseOp phase) {
  return llvm::any_of(phase.getAccessAttrs(), [&](AccessAttr access) {
    if (access.getWrite())
      return false;
    return llvm::any_of(
        llvm::zip(access.getLow().getResults(), access.getHigh().getResults()),
        [&](auto ends) {
          auto [low, high] = ends;
          AffineExpr size =
              simplifyAffineExpr(high - low, phase.getRank(), kStepSymbols);
          for (unsigned d = 0, e = phase.getRank(); d < e; ++d)
            if (size.isFunctionOfDim(d))
              return true;
          return false;
        });
  });
}

namespace {

struct ScheduleStatic
    : public baton::tasks::impl::ScheduleStaticBase<ScheduleStatic> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      for (PhaseOp phase : phasesOf(program))
        phase.setDistribution(isUneven(phase) ? Distribution::cyclic
                                              : Distribution::blocked);
  }
};

} // namespace
