//===- ExpertVerifiers.cpp - what ops of experts promise ------------------===//
//
// As ModelVerifiers.cpp, for ExpertOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

static LogicalResult expectInteger32(Operation *op, StringRef what,
                                     Value value) {
  if (typeOf(value).getElementType().isInteger(32))
    return success();
  return op->emitOpError() << what << " are not i32";
}

static LogicalResult expectNumbers(Operation *op, StringRef what, Value value,
                                   ArrayRef<int64_t> shape) {
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  return expectFloat32(op, what, value);
}

static LogicalResult expectIntegers(Operation *op, StringRef what, Value value,
                                    ArrayRef<int64_t> shape) {
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  return expectInteger32(op, what, value);
}

/// A number of experts, or of what else, for each row.
static LogicalResult expectChoices(Operation *op, StringRef what, Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape.size() != 2 || shape[0] != kRows || isSymbol(shape[1]))
    return op->emitOpError()
           << what << " have shape " << text(shape) << ", expected [rows, k]";
  return expectInteger32(op, what, value);
}

/// What model.dispatch says, as its result `number`.
static LogicalResult expectDispatched(Operation *op, StringRef what,
                                      Value value, unsigned number) {
  auto result = dyn_cast<OpResult>(value);
  if (result && result.getResultNumber() == number &&
      isa<DispatchOp>(result.getOwner()))
    return success();
  return op->emitOpError() << what << " are not made by model.dispatch";
}

/// Where experts' places begin and end, as an op of places says it.
static LogicalResult expectBounds(Operation *op, Value bounds) {
  auto segments = bounds.getDefiningOp<Segments>();
  if (segments && segments.getSegmentBounds() == bounds)
    return success();
  return op->emitOpError() << "bounds are not made by model.dispatch or "
                              "dist.exchange_counts";
}

static int64_t countExperts(Value bounds) {
  return bounds.getDefiningOp<Segments>().countExperts();
}

/// x is a value of places.
static LogicalResult expectPlaces(Operation *op, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape.size() != 3 || shape[0] != kRows || isSymbol(shape[1]) ||
      isSymbol(shape[2]))
    return op->emitOpError()
           << "x has shape " << text(shape) << ", expected [rows, k, width]";
  return expectFloat32(op, "x", x);
}

LogicalResult RouteOp::verify() {
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  if (logits.size() != 2 || logits[0] != kRows || isSymbol(logits[1]))
    return emitOpError() << "logits have shape " << text(logits)
                         << ", expected [rows, experts]";
  if (failed(expectFloat32(*this, "the logits", getLogits())) ||
      (getBias() &&
       failed(expectNumbers(*this, "the bias", getBias(), {logits[1]}))) ||
      failed(expectChoices(*this, "experts", getExperts())))
    return failure();
  int64_t k = shapeOf(getExperts())[1];
  if (k < 1 || k > std::min(logits[1], kMostExpertsOfRow))
    return emitOpError() << k << " experts of a row, expected 1 to "
                         << std::min(logits[1], kMostExpertsOfRow);
  if (failed(expectNumbers(*this, "weights", getWeights(), {kRows, k})))
    return failure();
  const int64_t groups = getGroups(), ofRow = getGroupsOfRow();
  if (groups < 1 || groups > kMostGroups)
    return emitOpError() << groups << " groups, expected 1 to " << kMostGroups;
  if (logits[1] % groups)
    return emitOpError() << groups << " groups do not divide " << logits[1]
                         << " experts";
  const int64_t ofGroup = logits[1] / groups;
  if (ofRow < 1 || ofRow > groups || ofRow * ofGroup < k)
    return emitOpError() << ofRow << " groups of a row, of " << ofGroup
                         << " experts each, expected 1 to " << groups
                         << " with " << k << " experts";
  if (getCountsLoads() && !getBias())
    return emitOpError() << "counts loads for a bias, and has none";
  if (getBestTwo() && ofGroup < 2)
    return emitOpError() << "a group of one expert has no best two";
  return expectFinite(*this, "the factor", getFactor());
}

LogicalResult DispatchOp::verify() {
  if (failed(expectChoices(*this, "experts", getExperts())) ||
      failed(expectIntegers(*this, "choices", getChoices(),
                            shapeOf(getExperts()))) ||
      failed(
          expectIntegers(*this, "places", getPlaces(), shapeOf(getExperts()))))
    return failure();
  ArrayRef<int64_t> bounds = shapeOf(getBounds());
  const int64_t more = getAxes() ? 2 : 1;
  if (getAxes() && getAxes()->empty())
    return emitOpError() << "ranks have experts along no axis";
  if (bounds.size() != 1 || isSymbol(bounds[0]) || bounds[0] <= more)
    return emitOpError() << "bounds have shape " << text(bounds)
                         << ", expected [experts + " << more << "]";
  if (auto route = getExperts().getDefiningOp<RouteOp>()) {
    const int64_t all = shapeOf(route.getLogits())[1], own = countExperts();
    if (getAxes() ? all % own != 0 : all != own)
      return emitOpError() << "bounds are of " << own << " experts, expected "
                           << (getAxes() ? "a divisor of " : "") << all;
  }
  return expectInteger32(*this, "bounds", getBounds());
}

int64_t DispatchOp::countExperts() {
  return shapeOf(getBounds())[0] - (getAxes() ? 2 : 1);
}

LogicalResult GatherOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectChoices(*this, "choices", getChoices())) ||
      failed(expectDispatched(*this, "choices", getChoices(), 1)))
    return failure();
  return expectNumbers(
      *this, "the result", getResult(),
      {shapeOf(getX())[0], shapeOf(getChoices())[1], shapeOf(getX())[1]});
}

/// Weights of all experts, for places of x.
static LogicalResult expectExperts(Operation *op, StringRef what, Value weight,
                                   Value x, Value bounds) {
  if (failed(expectRank(op, what, weight, 3)) ||
      failed(expectStatic(op, what, weight)) ||
      failed(expectWeight(op, what, weight)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(weight);
  if (shape[1] % kExpertOutputs)
    return op->emitOpError() << what << " has " << shape[1]
                             << " outputs for each expert, expected a multiple "
                                "of "
                             << kExpertOutputs;
  return expectShape(op, what, weight,
                     {countExperts(bounds), shape[1], shapeOf(x)[2]});
}

static LogicalResult verifyGrouped(Operation *op, Value x, Value bounds,
                                   StringRef what, Value weight, Value result) {
  if (failed(expectPlaces(op, x)) || failed(expectBounds(op, bounds)) ||
      failed(expectExperts(op, what, weight, x, bounds)))
    return failure();
  return expectNumbers(op, "the result", result,
                       {kRows, shapeOf(x)[1], shapeOf(weight)[1]});
}

/// A bias for each output of each expert, if there is one.
static LogicalResult expectBiases(Operation *op, StringRef what, Value bias,
                                  Value weight) {
  return bias ? expectNumbers(op, what, bias, shapeOf(weight).drop_back())
              : success();
}

LogicalResult GroupedLinearOp::verify() {
  if (failed(verifyGrouped(*this, getX(), getBounds(), "the weight",
                           getWeight(), getResult())))
    return failure();
  return expectBiases(*this, "the bias", getBias(), getWeight());
}

LogicalResult GroupedGatedLinearOp::verify() {
  if (failed(verifyGrouped(*this, getX(), getBounds(), "the gate", getGate(),
                           getResult())))
    return failure();
  if (getGate().getType() != getUp().getType())
    return emitOpError() << "the gate has type " << getGate().getType()
                         << ", expected that of up, " << getUp().getType();
  if (getActivation() == Activation::identity)
    return emitOpError() << "the activation is identity";
  if (!getGateBias() != !getUpBias())
    return emitOpError() << "has one bias, expected two or none";
  if (failed(expectBiases(*this, "the gate's bias", getGateBias(), getGate())))
    return failure();
  return expectBiases(*this, "up's bias", getUpBias(), getUp());
}

/// Bounds of places that are a rank's, where a row's places are added up.
static LogicalResult expectOwnBounds(Operation *op, Value places,
                                     Value bounds) {
  auto dispatch = places.getDefiningOp<DispatchOp>();
  if (dispatch.getAxes().has_value() == bool(bounds) &&
      (!bounds || bounds == dispatch.getBounds()))
    return success();
  return op->emitOpError() << "expected bounds if ranks have some of the "
                              "experts each, made by the model.dispatch of its "
                              "places";
}

LogicalResult CombineOp::verify() {
  if (failed(expectPlaces(*this, getX())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (failed(expectIntegers(*this, "places", getPlaces(), {kRows, x[1]})) ||
      failed(expectDispatched(*this, "places", getPlaces(), 2)) ||
      failed(expectNumbers(*this, "weights", getWeights(), {kRows, x[1]})) ||
      failed(expectOwnBounds(*this, getPlaces(), getBounds())))
    return failure();
  return expectNumbers(*this, "the result", getResult(), {kRows, x[2]});
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

LogicalResult RouteGradientOp::verify() {
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  if (logits.size() != 2 || logits[0] != kRows || isSymbol(logits[1]))
    return emitOpError() << "logits have shape " << text(logits)
                         << ", expected [rows, experts]";
  if (failed(expectFloat32(*this, "the logits", getLogits())) ||
      failed(expectChoices(*this, "experts", getExperts())))
    return failure();
  int64_t k = shapeOf(getExperts())[1],
          most = std::min(logits[1], kMostExpertsOfRow);
  if (k < 1 || k > most)
    return emitOpError() << k << " experts of a row, expected 1 to " << most;
  if (failed(expectNumbers(*this, "dy", getDy(), {kRows, k})) ||
      failed(expectTypeOf(*this, "the result", getResult(), "the logits",
                          getLogits())))
    return failure();
  return expectFinite(*this, "the factor", getFactor());
}

/// dy is a value of places.
static LogicalResult expectGradientOfPlaces(Operation *op, Value dy) {
  ArrayRef<int64_t> shape = shapeOf(dy);
  if (shape.size() != 3 || shape[0] != kRows || isSymbol(shape[1]) ||
      isSymbol(shape[2]))
    return op->emitOpError()
           << "dy has shape " << text(shape) << ", expected [rows, k, width]";
  return expectFloat32(op, "dy", dy);
}

LogicalResult GatherGradientOp::verify() {
  if (failed(expectGradientOfPlaces(*this, getDy())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy());
  if (failed(expectIntegers(*this, "places", getPlaces(), {kRows, dy[1]})) ||
      failed(expectDispatched(*this, "places", getPlaces(), 2)) ||
      failed(expectOwnBounds(*this, getPlaces(), getBounds())))
    return failure();
  return expectNumbers(*this, "the result", getResult(), {kRows, dy[2]});
}

LogicalResult CombineInputGradientOp::verify() {
  if (failed(expectRank(*this, "dy", getDy(), 2)) ||
      failed(
          expectNumbers(*this, "dy", getDy(), {kRows, shapeOf(getDy())[1]})) ||
      failed(expectChoices(*this, "choices", getChoices())) ||
      failed(expectDispatched(*this, "choices", getChoices(), 1)))
    return failure();
  int64_t k = shapeOf(getChoices())[1];
  if (failed(expectNumbers(*this, "weights", getWeights(), {kRows, k})))
    return failure();
  return expectNumbers(*this, "the result", getResult(),
                       {kRows, k, shapeOf(getDy())[1]});
}

LogicalResult CombineWeightGradientOp::verify() {
  if (failed(expectPlaces(*this, getX())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (failed(expectNumbers(*this, "dy", getDy(), {kRows, x[2]})) ||
      failed(expectIntegers(*this, "places", getPlaces(), {kRows, x[1]})) ||
      failed(expectDispatched(*this, "places", getPlaces(), 2)) ||
      failed(expectOwnBounds(*this, getPlaces(), getBounds())))
    return failure();
  return expectNumbers(*this, "the result", getResult(), {kRows, x[1]});
}

LogicalResult GroupedLinearInputGradientOp::verify() {
  if (failed(expectGradientOfPlaces(*this, getDy())) ||
      failed(expectBounds(*this, getBounds())) ||
      failed(expectRank(*this, "the weight", getWeight(), 3)) ||
      failed(expectStatic(*this, "the weight", getWeight())) ||
      failed(expectWeight(*this, "the weight", getWeight())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy());
  int64_t inputs = shapeOf(getWeight())[2];
  if (failed(expectShape(*this, "the weight", getWeight(),
                         {countExperts(getBounds()), dy[2], inputs})))
    return failure();
  return expectNumbers(*this, "the result", getResult(),
                       {kRows, dy[1], inputs});
}

LogicalResult GroupedBiasGradientOp::verify() {
  if (failed(expectGradientOfPlaces(*this, getDy())) ||
      failed(expectDispatched(*this, "bounds", getBounds(), 0)))
    return failure();
  return expectNumbers(*this, "the result", getResult(),
                       {countExperts(getBounds()), shapeOf(getDy())[2]});
}

LogicalResult GroupedLinearWeightGradientOp::verify() {
  if (failed(expectGradientOfPlaces(*this, getDy())) ||
      failed(expectPlaces(*this, getX())) ||
      failed(expectBounds(*this, getBounds())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy()), x = shapeOf(getX());
  if (dy[1] != x[1])
    return emitOpError() << "x has " << x[1] << " places of a row, dy "
                         << dy[1];
  return expectNumbers(*this, "the result", getResult(),
                       {countExperts(getBounds()), dy[2], x[2]});
}
