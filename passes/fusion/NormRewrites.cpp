//===- NormRewrites.cpp - norms, activations, sums move into linears ------===//

#include "passes/fusion/Passes.h"
#include "passes/fusion/Rewrites.h"

namespace baton::fusion {
#define GEN_PASS_DEF_NORMREWRITES
#include "passes/fusion/Passes.h.inc"
} // namespace baton::fusion

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::fusion;

/// An op that takes over another's work keeps its own name first.
static void addLocation(Operation *op, Operation *taken) {
  op->setLoc(FusedLoc::get(op->getContext(), {op->getLoc(), taken->getLoc()}));
}

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

Outcome fusion::recomputeNorm(RewriterBase &rewriter, Operation *op) {
  Value x, weight, bias;
  Norm norm = Norm::rms;
  llvm::APFloat epsilon(0.0f);
  if (auto rms = dyn_cast<RmsNormOp>(op)) {
    x = rms.getX(), weight = rms.getWeight(), epsilon = rms.getEpsilon();
  } else {
    auto layer = cast<LayerNormOp>(op);
    norm = Norm::layer;
    x = layer.getX(), weight = layer.getWeight(), bias = layer.getBias();
    epsilon = layer.getEpsilon();
  }
  Value normed = op->getResult(0);
  Block *block = op->getBlock();
  if (normed.use_empty())
    return {false, op, "the norm stays: nothing reads it"};
  for (OpOperand &use : normed.getUses())
    if (!isPlainInput<LinearOp>(use, block) &&
        !isPlainInput<GatedLinearOp>(use, block))
      return {false, op,
              "the norm stays a phase: " +
                  use.getOwner()->getName().getStringRef().str() +
                  " reads it, not only linears of its block as their input"};
  SmallVector<Operation *> users(normed.getUsers());
  for (Operation *user : users) {
    if (auto linear = dyn_cast<LinearOp>(user))
      setNorm(linear, norm, x, weight, bias, epsilon);
    else
      setNorm(cast<GatedLinearOp>(user), norm, x, weight, bias, epsilon);
    addLocation(user, op);
  }
  Operation *reader = users.front();
  rewriter.eraseOp(op);
  return {true, reader,
          "recomputes the norm of its rows in each worker's scratch: a phase "
          "and an event less, for one more pass over the rows"};
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
static void takePlaceOf(RewriterBase &rewriter, LinearOp linear,
                        Operation *op) {
  linear->moveBefore(op);
  Location made = linear->getLoc();
  linear->setLoc(FusedLoc::get(op->getContext(), {op->getLoc(), made}));
  rewriter.replaceAllUsesWith(op->getResult(0), linear.getResult());
  rewriter.eraseOp(op);
}

Outcome fusion::fuseActivation(RewriterBase &rewriter, ActivateOp op) {
  LinearOp linear = openLinear(op.getX(), op);
  if (!linear)
    return {false, op,
            "the activation stays a phase: its input is not made for it alone "
            "by a linear of its block that adds no residual"};
  if (linear.getActivation() != Activation::identity)
    return {false, op,
            "the activation stays a phase: the linear has one already"};
  linear.setActivation(op.getActivation());
  takePlaceOf(rewriter, linear, op);
  return {true, linear,
          "applies the activation to its tile before storing it: the tile is "
          "not written, awaited and read once more"};
}

Outcome fusion::fuseSum(RewriterBase &rewriter, AddOp op) {
  for (auto [value, residual] : {std::pair(op.getRhs(), op.getLhs()),
                                 std::pair(op.getLhs(), op.getRhs())}) {
    LinearOp linear = openLinear(value, op);
    if (!linear)
      continue;
    linear.getResidualMutable().assign(residual);
    takePlaceOf(rewriter, linear, op);
    return {true, linear,
            "adds the residual to its tile before storing it: the tile is not "
            "written, awaited and read once more"};
  }
  return {false, op,
          "the sum stays a phase: no term is made for it alone by a linear of "
          "its block that adds no residual yet"};
}

namespace {
struct NormRewrites : baton::fusion::impl::NormRewritesBase<NormRewrites> {
  using NormRewritesBase::NormRewritesBase;

  /// Applies a rule to every op of these types, and counts.
  template <typename... Ops, typename Rule>
  void apply(Rule rule, Pass::Statistic &count) {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<Ops...>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      Outcome outcome = rule(rewriter, op);
      count += outcome.done;
      if (explain)
        outcome.remark();
    }
  }

  void runOnOperation() override {
    apply<RmsNormOp, LayerNormOp>(recomputeNorm, numNorms);
    apply<ActivateOp>(
        [](RewriterBase &rewriter, Operation *op) {
          return fuseActivation(rewriter, cast<ActivateOp>(op));
        },
        numActivations);
    apply<AddOp>(
        [](RewriterBase &rewriter, Operation *op) {
          return fuseSum(rewriter, cast<AddOp>(op));
        },
        numResiduals);
  }
};
} // namespace
