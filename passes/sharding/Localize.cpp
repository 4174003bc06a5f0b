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
static bool isGradientSum(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<GradientOp>);
}

/// A parameter of which ranks have parts, and gather them for their ops.
static bool isGathered(ParameterOp parameter) {
  return llvm::all_of(parameter->getUsers(),
                      llvm::IsaPred<AllGatherOp, GradientOp>) &&
         llvm::any_of(parameter->getUsers(), llvm::IsaPred<AllGatherOp>);
}

/// One that no op of its block reads: its gradient ends there.
static bool isOnlyTarget(ParameterOp parameter) {
  return llvm::all_of(parameter->getUsers(), llvm::IsaPred<GradientOp>);
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

static LogicalResult localize(ProgramOp program, MeshOp mesh,
                              StringRef scatter) {
  for (BlockArgument argument : program.getBody().getArguments())
    if (failed(expectLocalType(program, argument, mesh)))
      return failure();
  SmallVector<Operation *> sums, gathers;
  WalkResult walk = program.getBody().walk([&](Operation *op) {
    if (isGradientSum(op)) {
      sums.push_back(op);
      return WalkResult::advance();
    }
    auto gather = dyn_cast<AllGatherOp>(op);
    if (gather && gather.getX().getDefiningOp<ParameterOp>()) {
      gathers.push_back(op);
      return WalkResult::advance();
    }
    auto parameter = dyn_cast<ParameterOp>(op);
    if (parameter && (isGathered(parameter) || isOnlyTarget(parameter)))
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

  for (Operation *sum : sums) {
    for (Operation *gradient : sum->getUsers()) {
      gradient->setAttr(kSummed, sum->getAttr("axes"));
      if (isa<ReduceScatterOp>(sum))
        gradient->setAttr(kScattered,
                          StringAttr::get(sum->getContext(), scatter));
    }
    sum->getResult(0).replaceAllUsesWith(sum->getOperand(0));
    sum->erase();
  }
  for (Operation *gather : gathers) {
    gather->getOperand(0).getDefiningOp()->setAttr(kGathered,
                                                   gather->getAttr("axes"));
    gather->getResult(0).replaceAllUsesWith(gather->getOperand(0));
    gather->erase();
  }
  program->removeAttr(kArguments);
  program.getBody().walk([](Operation *op) {
    op->removeAttr(kPlacements);
    op->removeAttr(kGradient);
  });
  return success();
}

namespace {
struct Localize : baton::sharding::impl::LocalizeBase<Localize> {
  using LocalizeBase::LocalizeBase;

  void runOnOperation() override {
    if (scatter != "update" && scatter != "step") {
      getOperation().emitError() << "localize: scatter is '" << scatter
                                 << "', expected update or step";
      return signalPassFailure();
    }
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(localize(program, mesh, scatter)))
        return signalPassFailure();
  }
};
} // namespace
