//===- Localize.cpp - one model's program as that of one rank -------------===//

#include "passes/sharding/Passes.h"

#include "dialects/Dist/Placement.h"

namespace baton::sharding {
#define GEN_PASS_DEF_LOCALIZE
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;

/// Gradients add up where they are; the sum over ranks follows once, behind all
/// that adds to them.
static bool isGradientSum(AllReduceOp op) {
  return !op.use_empty() &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<GradientOp>);
}

/// Whether what a rank has of a value has the type of the whole: only rows are
/// cut, and over batch axes alone.
static LogicalResult expectLocalType(Operation *op, Value value, MeshOp mesh) {
  PlacementAttr placement = dist::placementOf(value);
  ArrayRef<int64_t> shape = cast<StepTensorType>(value.getType()).getShape();
  for (auto [i, dimension] : llvm::enumerate(placement.getDimensions()))
    for (StringAttr axis : dimension.getAxes()) {
      if (shape[i] == kRows && mesh.isBatch(axis))
        continue;
      InFlightDiagnostic error = op->emitOpError()
                                 << "cannot be localized: axis " << axis
                                 << " cuts dimension " << i << " of ";
      if (auto parameter = value.getDefiningOp<ParameterOp>())
        error << parameter.getSources();
      else
        error << value.getType();
      return error << ", and so far only rows are cut, over batch axes";
    }
  return success();
}

static LogicalResult localize(ProgramOp program, MeshOp mesh) {
  for (BlockArgument argument : program.getBody().getArguments())
    if (failed(expectLocalType(program, argument, mesh)))
      return failure();
  SmallVector<AllReduceOp> sums;
  WalkResult walk = program.getBody().walk([&](Operation *op) {
    auto sum = dyn_cast<AllReduceOp>(op);
    if (sum && isGradientSum(sum)) {
      sums.push_back(sum);
      return WalkResult::advance();
    }
    if (isa<ReceiveOp>(op))
      return failed(expectLocalType(op, op->getResult(0), mesh))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    // Ranks in one place of a batch's axes run all of the stages.
    if (isa<ScheduleOp, StageOp, dist::PhaseOp, StageEndOp, SendOp,
            SumGradientsOp>(op))
      return WalkResult::advance();
    if (isa<DistDialect>(op->getDialect())) {
      op->emitOpError() << "cannot be localized: so far ranks exchange "
                           "nothing but gradients";
      return WalkResult::interrupt();
    }
    for (Value result : op->getResults())
      if (failed(expectLocalType(op, result, mesh)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();

  for (AllReduceOp sum : sums) {
    for (Operation *gradient : sum->getUsers())
      gradient->setAttr(kSummed, sum.getAxes());
    sum.replaceAllUsesWith(sum.getX());
    sum.erase();
  }
  program->removeAttr(kArguments);
  program.getBody().walk([](Operation *op) {
    op->removeAttr(kPlacements);
    op->removeAttr(kGradient);
  });
  // Rows are a rank's own now.
  auto payload = [&](Value x) {
    return countBytes(cast<StepTensorType>(x.getType()), placementOf(x), mesh);
  };
  program.getBody().walk([&](Operation *op) {
    if (auto send = dyn_cast<SendOp>(op))
      send.setPayload(payload(send.getX()));
    if (auto receive = dyn_cast<ReceiveOp>(op))
      receive.setPayload(payload(receive.getResult()));
  });
  return success();
}

namespace {
struct Localize : baton::sharding::impl::LocalizeBase<Localize> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(localize(program, mesh)))
        return signalPassFailure();
  }
};
} // namespace
