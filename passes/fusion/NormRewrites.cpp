//===- NormRewrites.cpp - norms, activations, sums move into linears ------===//

#include "passes/fusion/Passes.h"

#include "dialects/Model/Model.h"

namespace baton::fusion {
#define GEN_PASS_DEF_NORMREWRITES
#include "passes/fusion/Passes.h.inc"
} // namespace baton::fusion

using namespace mlir;
using namespace baton;
using namespace baton::model;

//===----------------------------------------------------------------------===//
// Norms become prologues
//===----------------------------------------------------------------------===//

/// `use` is the input of a linear without a norm, in the norm's block.
template <typename LinearType>
static bool isPlainInput(OpOperand &use, Block *block) {
  auto linear = dyn_cast<LinearType>(use.getOwner());
  return linear && linear->getBlock() == block &&
         linear.getNorm() == Norm::identity &&
         use.getOperandNumber() == linear.getXMutable().getOperandNumber();
}

template <typename LinearType>
static void setNorm(LinearType linear, Norm norm, Value x, Value weight,
                    Value bias, llvm::APFloat epsilon) {
  linear.getXMutable().assign(x);
  linear.getNormWeightMutable().assign(weight);
  if (bias)
    linear.getNormBiasMutable().assign(bias);
  linear.setNorm(norm);
  linear.setEpsilon(epsilon);
}

/// Moves a norm into all its users, or leaves everything as it is.
static bool moveNorm(Operation *op, Norm norm, Value x, Value weight,
                     Value bias, llvm::APFloat epsilon) {
  Value normed = op->getResult(0);
  Block *block = op->getBlock();
  if (normed.use_empty() ||
      !llvm::all_of(normed.getUses(), [&](OpOperand &use) {
        return isPlainInput<LinearOp>(use, block) ||
               isPlainInput<GatedLinearOp>(use, block);
      }))
    return false;
  for (Operation *user : llvm::make_early_inc_range(normed.getUsers())) {
    if (auto linear = dyn_cast<LinearOp>(user))
      setNorm(linear, norm, x, weight, bias, epsilon);
    else
      setNorm(cast<GatedLinearOp>(user), norm, x, weight, bias, epsilon);
  }
  op->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Activations and sums become epilogues
//===----------------------------------------------------------------------===//

/// The linear without a residual that makes `value` for `user` alone, in its
/// block.
static LinearOp openLinear(Value value, Operation *user) {
  auto linear = value.getDefiningOp<LinearOp>();
  if (!linear || !value.hasOneUse() || linear.getResidual() ||
      linear->getBlock() != user->getBlock())
    return {};
  return linear;
}

/// `linear`, changed already, now has the value of `op`. It moves there because
/// operands that it took over may be younger than it.
static void takePlaceOf(LinearOp linear, Operation *op) {
  linear->moveBefore(op);
  linear->setLoc(op->getLoc());
  op->getResult(0).replaceAllUsesWith(linear.getResult());
  op->erase();
}

static bool moveActivation(ActivateOp op) {
  LinearOp linear = openLinear(op.getX(), op);
  if (!linear || linear.getActivation() != Activation::identity)
    return false;
  linear.setActivation(op.getActivation());
  takePlaceOf(linear, op);
  return true;
}

static bool moveSum(AddOp op) {
  for (auto [value, residual] : {std::pair(op.getRhs(), op.getLhs()),
                                 std::pair(op.getLhs(), op.getRhs())}) {
    LinearOp linear = openLinear(value, op);
    if (!linear)
      continue;
    linear.getResidualMutable().assign(residual);
    takePlaceOf(linear, op);
    return true;
  }
  return false;
}

namespace {
struct NormRewrites : baton::fusion::impl::NormRewritesBase<NormRewrites> {
  using NormRewritesBase::NormRewritesBase;

  void runOnOperation() override {
    getOperation().walk([&](RmsNormOp op) {
      if (moveNorm(op, Norm::rms, op.getX(), op.getWeight(), Value(),
                   op.getEpsilon()))
        ++numNorms;
    });
    getOperation().walk([&](LayerNormOp op) {
      if (moveNorm(op, Norm::layer, op.getX(), op.getWeight(), op.getBias(),
                   op.getEpsilon()))
        ++numNorms;
    });
    getOperation().walk([&](ActivateOp op) {
      if (moveActivation(op))
        ++numActivations;
    });
    getOperation().walk([&](AddOp op) {
      if (moveSum(op))
        ++numResiduals;
    });
  }
};
} // namespace
