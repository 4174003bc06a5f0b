//===- cross_entropy.cpp - the loss and its gradients ---------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/LogitParts.h"
#include "passes/tiling/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::CrossEntropyOp op, Tiler &tiler,
                          Training &training) {
  LogitParts logits(op, op.getX(), op.getWeight(), op.getBias(),
                    op.getWeights(), tiler, training);
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op) + ".loss");
  View loss = tiler.bufferFor(op.getLoss(), name);
  if (failed(logits.begin(name)))
    return failure();
  FailureOr<LogitGradients> gradients =
      logits.gradientsOf(op.getDx(), op.getDweight(), op.getDbias());
  if (failed(gradients))
    return failure();
  SmallVector<View> inputs = {tiler.viewOf(op.getTargets()),
                              tiler.viewOf(op.getWeights())};
  for (Value value : op.getTeacher())
    inputs.push_back(tiler.viewOf(value));
  for (const LogitPart &part : logits.parts()) {
    logits.tileLogits(part);
    logits.tileRows(
        part, "", op.getTeacher().empty() ? "cross_entropy" : "teacher_loss",
        {loss}, inputs,
        [&](PhaseBuilder &phase, Attribute rows,
            SmallVectorImpl<Attribute> &operands) {
          operands.append({rows, phase.integer(logits.vocabulary())});
          appendTeacherTokens(op.getTeacher(), phase, operands);
          operands.append(
              {phase.real(op.getScale()), phase.real(op.getSoftcap())});
        });
    logits.tileGradients(part, *gradients);
    logits.next();
  }
  return success();
}

void tasks::addCrossEntropy(TilingRules &rules) {
  rules.add<model::CrossEntropyOp>(tile);
}
