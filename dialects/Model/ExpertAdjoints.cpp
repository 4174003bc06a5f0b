//===- ExpertAdjoints.cpp - how gradients go through mixtures of experts --===//

#include "dialects/Model/AdjointOps.h"

using namespace mlir;
using namespace baton::model;

/// What says where the rows of a step go, of one of its tables.
static DispatchOp dispatchOf(Value table) {
  return table.getDefiningOp<DispatchOp>();
}

void RouteOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getLogits(),
              create<RouteGradientOp>(
                  adjoint, typeOf(getLogits()), adjoint.gradient(getWeights()),
                  adjoint.value(getLogits()), adjoint.value(getExperts()),
                  getScoringAttr(), getNormalizeAttr(), getFactorAttr()));
}

void RouteOp::differentiateParameters(Adjoint &adjoint) {
  if (getCountsLoads())
    contribute(adjoint, getBias(),
               create<RouterLoadsOp>(adjoint, typeOf(getBias()),
                                     adjoint.value(getExperts())));
}

void GatherOp::differentiateInputs(Adjoint &adjoint) {
  Value places = dispatchOf(getChoices()).getPlaces();
  adjoint.add(getX(), create<GatherGradientOp>(adjoint, typeOf(getX()),
                                               adjoint.gradient(getResult()),
                                               adjoint.value(places)));
}

void CombineOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  Value choices = dispatchOf(getPlaces()).getChoices();
  adjoint.add(getX(), create<CombineInputGradientOp>(
                          adjoint, typeOf(getX()), dy, adjoint.value(choices),
                          adjoint.value(getWeights())));
  adjoint.add(getWeights(),
              create<CombineWeightGradientOp>(adjoint, typeOf(getWeights()), dy,
                                              adjoint.value(getX()),
                                              adjoint.value(getPlaces())));
}

// Of each of a row's experts.
int64_t GroupedLinearOp::getProductFlops() {
  return 2 * typeOf(getX()).getDimension(1) *
         typeOf(getWeight()).getDimension(1) *
         typeOf(getWeight()).getDimension(2);
}

void GroupedLinearOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(),
              create<GroupedLinearInputGradientOp>(
                  adjoint, typeOf(getX()), adjoint.gradient(getResult()),
                  adjoint.value(getBounds()), adjoint.value(getWeight())));
}

void GroupedLinearOp::differentiateParameters(Adjoint &adjoint) {
  auto type =
      typeOf(getWeight()).withElementType(Float32Type::get(getContext()));
  Value dy = adjoint.gradient(getResult());
  contribute(adjoint, getWeight(),
             create<GroupedLinearWeightGradientOp>(adjoint, type, dy,
                                                   adjoint.value(getX()),
                                                   adjoint.value(getBounds())));
  if (getBias())
    contribute(adjoint, getBias(),
               create<GroupedBiasGradientOp>(adjoint, typeOf(getBias()), dy,
                                             adjoint.value(getBounds())));
}

void ClampedSwigluOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult()), gate = adjoint.value(getGate()),
        up = adjoint.value(getUp());
  adjoint.add(getGate(), create<ClampedSwigluGateGradientOp>(adjoint, getType(),
                                                             dy, gate, up));
  adjoint.add(getUp(), create<ClampedSwigluUpGradientOp>(adjoint, getType(), dy,
                                                         gate, up));
}
