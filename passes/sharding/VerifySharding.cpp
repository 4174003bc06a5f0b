//===- VerifySharding.cpp - that operands lie where rules want them -------===//

#include "passes/sharding/Passes.h"

#include "passes/sharding/Derivation.h"

namespace baton::sharding {
#define GEN_PASS_DEF_VERIFYSHARDING
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

/// A value lies where the op wants it.
static LogicalResult expect(Operation *op, const Twine &what, Value value,
                            PlacementAttr expected) {
  PlacementAttr placement = dist::placementOf(value);
  if (placement == expected)
    return success();
  return op->emitOpError() << what << " placed " << placement << ", expected "
                           << expected;
}

static LogicalResult expectWhole(Operation *op, Value value) {
  if (!dist::placementOf(value).isPartial())
    return success();
  return op->emitOpError() << "reads " << nameOf(value)
                           << ", which is partial: "
                           << dist::placementOf(value);
}

/// What a stack carries lies in one place, and is whole.
static LogicalResult verifyCarried(Operation *op, ResultRange results) {
  for (auto [value, result] : llvm::zip(op->getOperands(), results))
    if (failed(expectWhole(op, value)) ||
        failed(expect(op, "carries " + nameOf(value), value,
                      dist::placementOf(result))))
      return failure();
  return success();
}

static LogicalResult verifySaved(SavedOp op, ProgramOp program) {
  LogicalResult status = success();
  program.walk([&](SaveOp save) {
    if (save.getName() == op.getName() && succeeded(status))
      status = expect(op, "reads what was saved as " + nameOf(op.getResult()),
                      op.getResult(), dist::placementOf(save.getX()));
  });
  return status;
}

static LogicalResult verifyGradient(GradientOp op) {
  auto stated = op->getAttrOfType<PlacementAttr>(kGradient);
  if (failed(expectWhole(op, op.getGradient())))
    return failure();
  return expect(op, "reads the gradient of " + nameOf(op.getParameter()),
                op.getGradient(),
                stated ? stated : dist::placementOf(op.getParameter()));
}

static LogicalResult verifyRule(Operation *op, MeshOp mesh) {
  std::optional<Rule> rule = ruleOf(op);
  if (!rule)
    return failure();
  SmallVector<PlacementAttr> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(dist::placementOf(operand));
  for (Value result : op->getResults())
    results.push_back(dist::placementOf(result));
  auto emitError = [&] { return op->emitOpError(); };
  auto factors = deriveFactors(*rule, operands, results, mesh, emitError);
  if (!factors)
    return failure();
  for (auto [factor, sharding] : llvm::zip(rule->factors, *factors))
    if (factor.kind == FactorKind::expanded && !sharding.axes.empty())
      return op->emitOpError()
             << "has factor '" << factor.letter
             << "' sharded, which only the ops that insert-reshards writes in "
                "its place may";
  auto derived = deriveResults(*rule, operands, results, mesh, emitError);
  if (!derived)
    return failure();
  for (auto [value, placement] : llvm::zip(op->getResults(), *derived))
    if (failed(expect(op, "has its result", value, placement)))
      return failure();
  return success();
}

/// Of an op without a rule nothing may be sharded.
static LogicalResult verifyAllWhole(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  for (Value value : values)
    if (failed(expect(
            op, "has no rule, but reads or makes " + nameOf(value), value,
            replicated(op->getContext(),
                       dist::placementOf(value).getDimensions().size()))))
      return failure();
  return success();
}

static LogicalResult verifyOp(Operation *op, ProgramOp program, MeshOp mesh) {
  if (auto stack = dyn_cast<StackOp>(op))
    return verifyCarried(op, stack.getResults());
  if (isa<YieldOp>(op))
    return verifyCarried(op, op->getParentOp()->getResults());
  if (isa<StageEndOp>(op))
    return verifyCarried(op, op->getParentOp()->getResults());
  if (Value message = messageOf(op))
    return expectWhole(op, message);
  if (auto sum = dyn_cast<SumGradientsOp>(op))
    return expectWhole(op, sum.getParameter());
  if (isa<StageOp>(op))
    return success();
  if (auto gradient = dyn_cast<GradientOp>(op))
    return verifyGradient(gradient);
  if (isa<ParameterOp>(op))
    return expectWhole(op, op->getResult(0));
  if (auto saved = dyn_cast<SavedOp>(op))
    return verifySaved(saved, program);
  if (auto from = op->getAttrOfType<PlacementAttr>("from"))
    return expect(op, "reads " + nameOf(op->getOperand(0)), op->getOperand(0),
                  from);
  if (!hasRule(op->getName().getStringRef()))
    return verifyAllWhole(op);
  return verifyRule(op, mesh);
}

namespace {
struct VerifySharding
    : baton::sharding::impl::VerifyShardingBase<VerifySharding> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto program : getOperation().getOps<ProgramOp>())
      program.getBody().walk([&](Operation *op) {
        if (failed(verifyOp(op, program, mesh)))
          signalPassFailure();
      });
  }
};
} // namespace
