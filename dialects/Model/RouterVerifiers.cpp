//===- RouterVerifiers.cpp - what losses and loads of routers promise -----===//
//
// As ModelVerifiers.cpp, for RouterOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

static LogicalResult expectNumbers(Operation *op, StringRef what, Value value,
                                   ArrayRef<int64_t> shape) {
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  return expectFloat32(op, what, value);
}

/// Sums over routers: [rows, 2 experts + 1].
static LogicalResult expectSums(Operation *op, Value sums) {
  ArrayRef<int64_t> shape = shapeOf(sums);
  int64_t experts = shape.size() == 2 && shape[0] == kRows
                        ? expertsOfRouterSums(shape[1])
                        : 0;
  if (experts < 1 || experts > kMostExperts)
    return op->emitOpError()
           << "sums have shape " << text(shape)
           << ", expected [rows, 2 experts + 1], of at most " << kMostExperts;
  return expectFloat32(op, "sums", sums);
}

static LogicalResult expectLogits(Operation *op, Value logits) {
  ArrayRef<int64_t> shape = shapeOf(logits);
  if (shape.size() != 2 || shape[0] != kRows || shape[1] < 1)
    return op->emitOpError() << "logits have shape " << text(shape)
                             << ", expected [rows, experts]";
  return expectFloat32(op, "the logits", logits);
}

/// Of so many experts those that rows have.
static LogicalResult expectChosen(Operation *op, Value chosen,
                                  int64_t experts) {
  ArrayRef<int64_t> shape = shapeOf(chosen);
  int64_t most = std::min(experts, kMostExpertsOfRow);
  if (shape.size() != 2 || shape[0] != kRows || shape[1] < 1 || shape[1] > most)
    return op->emitOpError() << "experts have shape " << text(shape)
                             << ", expected [rows, 1 to " << most << "]";
  if (!typeOf(chosen).getElementType().isInteger(32))
    return op->emitOpError() << "experts are not i32";
  return success();
}

LogicalResult RouterBeginOp::verify() {
  if (failed(expectNumbers(*this, "weights", getWeights(), {kRows})))
    return failure();
  return expectSums(*this, getSums());
}

LogicalResult RouterSumsOp::verify() {
  if (failed(expectLogits(*this, getLogits())))
    return failure();
  int64_t experts = shapeOf(getLogits())[1];
  if (failed(expectNumbers(*this, "sums", getSums(),
                           {kRows, routerSums(experts)})))
    return failure();
  if (failed(expectChosen(*this, getExperts(), experts)))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "sums", getSums());
}

LogicalResult RouterSumsGradientOp::verify() {
  if (failed(expectLogits(*this, getLogits())) ||
      failed(expectNumbers(
          *this, "dy", getDy(),
          {kRows, gradientsOfRouterSums(shapeOf(getLogits())[1])})))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "the logits",
                      getLogits());
}

LogicalResult RouterLossOp::verify() {
  if (failed(expectNumbers(*this, "the loss", getLoss(), {kRows})) ||
      failed(expectSums(*this, getSums())) ||
      failed(expectNumbers(*this, "weights", getWeights(), {kRows})) ||
      failed(expectNotNegative(*this, "balance", getBalance())) ||
      failed(expectNotNegative(*this, "z", getZ())))
    return failure();
  if (getLayersAttr().getInt() < 1)
    return emitOpError() << "layers is " << getLayersAttr().getInt()
                         << ", expected at least 1";
  if (failed(
          expectNumbers(*this, "losses", getLosses(), {kRows, kRouterLosses})))
    return failure();
  int64_t experts = expertsOfRouterSums(shapeOf(getSums())[1]);
  return expectNumbers(*this, "dsums", getDsums(),
                       {kRows, gradientsOfRouterSums(experts)});
}

LogicalResult RouterLoadsOp::verify() {
  ArrayRef<int64_t> loads = shapeOf(getResult());
  if (loads.size() != 1 || loads[0] < 1 || loads[0] > kMostExperts)
    return emitOpError() << "the result has shape " << text(loads)
                         << ", expected [experts], of at most " << kMostExperts;
  if (failed(expectFloat32(*this, "the result", getResult())))
    return failure();
  return expectChosen(*this, getExperts(), loads[0]);
}
