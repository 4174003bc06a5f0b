//===- ExpertGates.cpp - gates and ups of experts, each by itself ---------===//

#include "dialects/Model/ExpertGates.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

bool model::areSeparable(GroupedGatedLinearOp op) {
  return !op.getGateBias() && op.getActivation() != Activation::clamped_swiglu;
}

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
  auto product = [&](StringRef part, Value weight) -> Value {
    return rewriter.create<GroupedLinearOp>(named(part), type, op.getX(),
                                            op.getBounds(), weight,
                                            /*bias=*/Value());
  };
  Value gate = product("gate", op.getGate()), up = product("up", op.getUp());
  gate = rewriter.create<ActivateOp>(named("activation"), type, gate,
                                     op.getActivationAttr());
  rewriter.replaceOp(
      op, rewriter.create<MulOp>(op.getLoc(), type, gate, up).getResult());
}
