//===- ExpertGates.cpp - gates and ups of experts, each by itself ---------===//

#include "dialects/Model/ExpertGates.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

void model::separateGates(RewriterBase &rewriter, GroupedGatedLinearOp op) {
  rewriter.setInsertionPoint(op);
  auto named = [&](StringRef part) -> Location {
    auto name = dyn_cast<NameLoc>(op.getLoc());
    if (!name)
      return op.getLoc();
    return NameLoc::get(
        rewriter.getStringAttr(name.getName().getValue() + "." + part));
  };
  Type type = op.getType();
  auto product = [&](StringRef part, Value weight, Value bias) -> Value {
    return rewriter.create<GroupedLinearOp>(named(part), type, op.getX(),
                                            op.getBounds(), weight, bias);
  };
  Value gate = product("gate", op.getGate(), op.getGateBias()),
        up = product("up", op.getUp(), op.getUpBias());
  if (op.getActivation() == Activation::clamped_swiglu) {
    rewriter.replaceOpWithNewOp<ClampedSwigluOp>(op, type, gate, up);
    return;
  }
  gate = rewriter.create<ActivateOp>(named("activation"), type, gate,
                                     op.getActivationAttr());
  rewriter.replaceOp(
      op, rewriter.create<MulOp>(op.getLoc(), type, gate, up).getResult());
}
