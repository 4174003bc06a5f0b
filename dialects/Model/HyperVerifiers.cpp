//===- HyperVerifiers.cpp - what ops of hyper-connections promise ---------===//
//
// As ModelVerifiers.cpp, for HyperOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

static constexpr int64_t kMostStreams = 8, kMostIterations = 64;

int64_t model::countParts(Mixing mixing) {
  return mixing == Mixing::none ? 1 : mixing == Mixing::identity ? 2 : 3;
}

int64_t model::countMaps(int64_t streams, Mixing mixing) {
  int64_t maps = streams;
  if (mixing != Mixing::none)
    maps += streams;
  if (countParts(mixing) == 3)
    maps += streams * streams;
  return maps;
}

static LogicalResult expectValue(Operation *op, StringRef what, Value value,
                                 ArrayRef<int64_t> shape) {
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  return expectFloat32(op, what, value);
}

/// x is [R, n, C].
static LogicalResult expectStreams(Operation *op, Value x) {
  if (failed(expectRank(op, "x", x, 3)) || failed(expectFloat32(op, "x", x)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x);
  if (!isSymbol(shape[0]) || isSymbol(shape[1]) || isSymbol(shape[2]))
    return op->emitOpError() << "x has shape " << text(shape)
                             << ", expected [rows, streams, width]";
  if (shape[1] > kMostStreams)
    return op->emitOpError() << "x has " << shape[1]
                             << " streams, expected 1 to " << kMostStreams;
  return success();
}

/// A matrix [M, n C] for x, and M numbers a row.
static LogicalResult verifyProjection(Operation *op, Value x, Value phi,
                                      Value maps) {
  if (failed(expectStreams(op, x)) || failed(expectRank(op, "phi", phi, 2)) ||
      failed(expectStatic(op, "phi", phi)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t count = shapeOf(phi)[0], most = shape[1] * (shape[1] + 2);
  if (count > most)
    return op->emitOpError()
           << "phi has " << count << " rows, expected at most " << most
           << " for " << shape[1] << " streams";
  if (failed(expectValue(op, "phi", phi, {count, shape[1] * shape[2]})))
    return failure();
  return expectValue(op, "the maps", maps, {shape[0], count});
}

template <typename OpT>
static LogicalResult verifyMixing(OpT op, int64_t streams, Value logits) {
  if (streams < 1 || streams > kMostStreams)
    return op.emitOpError()
           << "streams is " << streams << ", expected 1 to " << kMostStreams;
  if (failed(expectRank(op, "logits", logits, 2)))
    return failure();
  int64_t rows = shapeOf(logits)[0];
  if (!isSymbol(rows))
    return op.emitOpError() << "logits have shape " << text(shapeOf(logits))
                            << ", expected a symbol and a number";
  return expectValue(op, "logits", logits,
                     {rows, countMaps(streams, op.getMixing())});
}

template <typename OpT>
static LogicalResult verifyMaps(OpT op, int64_t streams, Value logits) {
  if (failed(verifyMixing(op, streams, logits)) ||
      failed(expectValue(op, "scale", op.getScale(),
                         {countParts(op.getMixing())})) ||
      failed(expectValue(op, "base", op.getBase(),
                         {countMaps(streams, op.getMixing())})) ||
      failed(expectNotNegative(op, "epsilon", op.getEpsilon())))
    return failure();
  int64_t iterations = op.getIterations();
  if (iterations < 1 || iterations > kMostIterations)
    return op.emitOpError() << "iterations is " << iterations
                            << ", expected 1 to " << kMostIterations;
  return success();
}

LogicalResult HyperProjectOp::verify() {
  if (failed(verifyProjection(*this, getX(), getPhi(), getResult())))
    return failure();
  return expectNotNegative(*this, "epsilon", getEpsilon());
}

LogicalResult HyperMapsOp::verify() {
  if (failed(verifyMaps(*this, getStreams(), getLogits())))
    return failure();
  return expectSameType(*this, getLogits(), getResult());
}

//===----------------------------------------------------------------------===//
// Reading and writing streams
//===----------------------------------------------------------------------===//

LogicalResult HyperPreOp::verify() {
  if (failed(expectStreams(*this, getX())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (failed(expectValue(*this, "the weights", getWeights(), {x[0], x[1]})))
    return failure();
  return expectValue(*this, "the result", getResult(), {x[0], x[2]});
}

static LogicalResult verifyPost(Operation *op, Value x, Value y,
                                Value weights) {
  if (failed(expectStreams(op, x)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x);
  if (failed(expectValue(op, "y", y, {shape[0], shape[2]})) ||
      failed(expectRank(op, "the weights", weights, 2)))
    return failure();
  if (shapeOf(weights)[1] == shape[1])
    return expectValue(op, "the weights", weights, {shape[0], shape[1]});
  return expectValue(op, "the weights", weights,
                     {shape[0], shape[1] + shape[1] * shape[1]});
}

LogicalResult HyperPostOp::verify() {
  if (failed(verifyPost(*this, getX(), getY(), getWeights())))
    return failure();
  return expectSameType(*this, getX(), getResult());
}

//===----------------------------------------------------------------------===//
// Fused forms
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult verifyEnter(OpT op) {
  if (failed(verifyProjection(op, op.getX(), op.getPhi(), op.getMaps())) ||
      failed(verifyMaps(op, shapeOf(op.getX())[1], op.getMaps())) ||
      failed(expectNotNegative(op, "norm_epsilon", op.getNormEpsilon())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(op.getX());
  return expectValue(op, "the result", op.getResult(), {x[0], x[2]});
}

LogicalResult HyperEnterOp::verify() { return verifyEnter(*this); }

LogicalResult HyperTurnOp::verify() {
  if (failed(verifyPost(*this, getX(), getY(), getWeights())) ||
      failed(expectSameType(*this, getX(), getStreams())))
    return failure();
  return verifyEnter(*this);
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

LogicalResult ScaleRowsOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectSameType(*this, getX(), getResult())))
    return failure();
  return expectValue(*this, "the statistics", getStatistics(),
                     {shapeOf(getX())[0], 2});
}

LogicalResult HyperProjectGradientOp::verify() {
  if (failed(verifyProjection(*this, getX(), getPhi(), getY())) ||
      failed(expectTypeOf(*this, "dy", getDy(), "y", getY())) ||
      failed(expectTypeOf(*this, "the result", getResult(), "x", getX())))
    return failure();
  return expectValue(*this, "the statistics", getStatistics(),
                     {shapeOf(getX())[0], 2});
}

LogicalResult HyperMapsGradientOp::verify() {
  if (failed(verifyMaps(*this, getStreams(), getLogits())))
    return failure();
  for (auto [what, value] :
       {std::pair<StringRef, Value>{"dy", getDy()},
        {"the gradient of the logits", getLogitsGradient()},
        {"the gradient of the sums", getSumsGradient()}})
    if (failed(expectTypeOf(*this, what, value, "the logits", getLogits())))
      return failure();
  return success();
}

LogicalResult HyperScaleGradientOp::verify() {
  if (failed(verifyMixing(*this, getStreams(), getLogits())) ||
      failed(expectTypeOf(*this, "dz", getDz(), "the logits", getLogits())))
    return failure();
  return expectValue(*this, "the result", getResult(),
                     {countParts(getMixing())});
}

LogicalResult HyperPreGradientOp::verify() {
  if (failed(expectStreams(*this, getX())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (failed(expectValue(*this, "the weights", getWeights(), {x[0], x[1]})) ||
      failed(expectValue(*this, "dy", getDy(), {x[0], x[2]})) ||
      failed(
          expectTypeOf(*this, "the gradient of x", getStreams(), "x", getX())))
    return failure();
  return expectTypeOf(*this, "the gradient of the weights",
                      getWeightsGradient(), "the weights", getWeights());
}

LogicalResult HyperPostGradientOp::verify() {
  if (failed(verifyPost(*this, getX(), getY(), getWeights())) ||
      failed(expectTypeOf(*this, "dx", getDx(), "x", getX())) ||
      failed(expectTypeOf(*this, "the gradient of x", getStreams(), "x",
                          getX())) ||
      failed(expectTypeOf(*this, "the gradient of y", getMade(), "y", getY())))
    return failure();
  return expectTypeOf(*this, "the gradient of the weights",
                      getWeightsGradient(), "the weights", getWeights());
}
