//===- Flops.cpp - what ops of a training step cost -----------------------===//

#include "passes/pipeline/Flops.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

static double elementsOf(Value value) {
  double count = 1;
  for (int64_t size : cast<StepTensorType>(value.getType()).getShape())
    count *= isSymbol(size) ? 1 : double(size);
  return count;
}

/// Elements of all weights that a row of heads is multiplied with, where the
/// last row of the longest sequence sees all before it.
template <typename OpT> static double weightsOf(OpT op) {
  int64_t seen =
      op->template getParentOfType<ProgramOp>().getMaxSeqAttr().getInt();
  if (op.getWindow())
    seen = std::min<int64_t>(seen, op.getWindow());
  return double(seen) *
         cast<StepTensorType>(op.getQ().getType()).getDimension(1);
}

static double headSize(Value value) {
  return cast<StepTensorType>(value.getType()).getDimension(2);
}

/// Of each of a row's experts, the weight's elements. What a row's experts are,
/// only a step knows; how many there are, its places say.
static double groupedFlops(GroupedLinearInputGradientOp gradient) {
  auto dy = cast<StepTensorType>(gradient.getDy().getType());
  auto weight = cast<StepTensorType>(gradient.getWeight().getType());
  return 2.0 * double(dy.getDimension(1)) * double(weight.getDimension(1)) *
         double(weight.getDimension(2));
}

static double groupedFlops(GroupedLinearWeightGradientOp gradient) {
  auto dy = cast<StepTensorType>(gradient.getDy().getType());
  auto x = cast<StepTensorType>(gradient.getX().getType());
  return 2.0 * double(dy.getDimension(1)) * double(dy.getDimension(2)) *
         double(x.getDimension(2));
}

double pipeline::countFlops(Operation *op) {
  if (auto differentiable = dyn_cast<Differentiable>(op))
    return double(differentiable.getProductFlops());
  return TypeSwitch<Operation *, double>(op)
      .Case<StackOp>([](StackOp stack) {
        double sum = 0;
        for (Operation &inner : stack.getBody().front())
          sum += countFlops(&inner);
        return sum;
      })
      .Case<LinearInputGradientOp>([](LinearInputGradientOp gradient) {
        return 2 * elementsOf(gradient.getWeight());
      })
      .Case<LinearWeightGradientOp>([](LinearWeightGradientOp gradient) {
        return 2 * elementsOf(gradient.getResult());
      })
      .Case<HeadLinearInputGradientOp>([](HeadLinearInputGradientOp gradient) {
        return 2 * elementsOf(gradient.getWeight());
      })
      .Case<HeadLinearWeightGradientOp>(
          [](HeadLinearWeightGradientOp gradient) {
            return 2 * elementsOf(gradient.getResult());
          })
      // A row goes to some of the experts.
      .Case<GroupedLinearInputGradientOp, GroupedLinearWeightGradientOp>(
          [](auto gradient) { return groupedFlops(gradient); })
      .Case<HyperProjectGradientOp>([](HyperProjectGradientOp gradient) {
        return 2 * elementsOf(gradient.getPhi());
      })
      // Scores and what comes back to each of them are made again, before the
      // products that are asked for.
      .Case<AttentionQueryGradientOp>([](AttentionQueryGradientOp gradient) {
        double d = headSize(gradient.getQ()), e = headSize(gradient.getV());
        return 2 * weightsOf(gradient) * (d + e + d);
      })
      .Case<AttentionKeyValueGradientOp>(
          [](AttentionKeyValueGradientOp gradient) {
            double d = headSize(gradient.getQ()), e = headSize(gradient.getV());
            return 2 * weightsOf(gradient) * (d + e + d + e);
          })
      .Case<dist::LogitMaximumOp, dist::LogitSumsOp>(
          [](auto logits) { return 2 * elementsOf(logits.getWeight()); })
      .Case<dist::LossGradientsOp>([](dist::LossGradientsOp gradients) {
        return 3 * 2 * elementsOf(gradients.getWeight());
      })
      .Default([](Operation *) { return 0.0; });
}
