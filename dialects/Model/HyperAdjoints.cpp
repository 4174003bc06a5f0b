//===- HyperAdjoints.cpp - how gradients go through hyper-connections -----===//

#include "dialects/Model/AdjointOps.h"

using namespace mlir;
using namespace baton::model;

//===----------------------------------------------------------------------===//
// The product and its norm
//===----------------------------------------------------------------------===//

/// The streams of a row as one vector.
static Value flatten(Adjoint &adjoint, Value x) {
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  return create<ReshapeOp>(adjoint,
                           typeOf(x).withShape({shape[0], shape[1] * shape[2]}),
                           adjoint.value(x));
}

/// Computed again by whoever needs them: two sums a row.
static Value statisticsOf(Adjoint &adjoint, HyperProjectOp op, Value flat) {
  return create<NormStatisticsOp>(
      adjoint, typeOf(flat).withShape({typeOf(flat).getDimension(0), 2}), flat,
      NormAttr::get(op.getContext(), Norm::rms), op.getEpsilonAttr());
}

int64_t HyperProjectOp::getProductFlops() {
  return 2 * typeOf(getPhi()).getDimension(0) *
         typeOf(getPhi()).getDimension(1);
}

// A product with few columns, of what is read anyway.
bool HyperProjectOp::isCheapToRecompute() { return true; }

void HyperProjectOp::differentiateInputs(Adjoint &adjoint) {
  Value statistics = statisticsOf(adjoint, *this, flatten(adjoint, getX()));
  adjoint.add(getX(),
              create<HyperProjectGradientOp>(
                  adjoint, typeOf(getX()), adjoint.gradient(getResult()),
                  adjoint.value(getX()), adjoint.value(getPhi()),
                  adjoint.value(getResult()), statistics));
}

void HyperProjectOp::differentiateParameters(Adjoint &adjoint) {
  Value flat = flatten(adjoint, getX());
  Value dy = adjoint.gradient(getResult());
  Value scaled = create<ScaleRowsOp>(adjoint, typeOf(dy), dy,
                                     statisticsOf(adjoint, *this, flat));
  contribute(
      adjoint, getPhi(),
      create<LinearWeightGradientOp>(adjoint, typeOf(getPhi()), scaled, flat));
}

//===----------------------------------------------------------------------===//
// The maps
//===----------------------------------------------------------------------===//

static HyperMapsGradientOp differentiateMaps(HyperMapsOp op, Adjoint &adjoint) {
  Type type = op.getType();
  return create<HyperMapsGradientOp>(
      adjoint, TypeRange({type, type}), adjoint.gradient(op.getResult()),
      adjoint.value(op.getLogits()), adjoint.value(op.getScale()),
      adjoint.value(op.getBase()), op.getStreamsAttr(), op.getMixingAttr(),
      op.getIterationsAttr(), op.getEpsilonAttr());
}

void HyperMapsOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getLogits(),
              differentiateMaps(*this, adjoint).getLogitsGradient());
}

void HyperMapsOp::differentiateParameters(Adjoint &adjoint) {
  Value dz = differentiateMaps(*this, adjoint).getSumsGradient();
  contribute(adjoint, getBase(),
             create<BiasGradientOp>(adjoint, typeOf(getBase()), dz));
  contribute(adjoint, getScale(),
             create<HyperScaleGradientOp>(adjoint, typeOf(getScale()), dz,
                                          adjoint.value(getLogits()),
                                          getStreamsAttr(), getMixingAttr()));
}

//===----------------------------------------------------------------------===//
// Reading and writing streams
//===----------------------------------------------------------------------===//

void HyperPreOp::differentiateInputs(Adjoint &adjoint) {
  auto both = create<HyperPreGradientOp>(
      adjoint, TypeRange({getX().getType(), getWeights().getType()}),
      adjoint.gradient(getResult()), adjoint.value(getX()),
      adjoint.value(getWeights()));
  adjoint.add(getX(), both.getStreams());
  adjoint.add(getWeights(), both.getWeightsGradient());
}

void HyperPostOp::differentiateInputs(Adjoint &adjoint) {
  auto all = create<HyperPostGradientOp>(
      adjoint,
      TypeRange({getX().getType(), getY().getType(), getWeights().getType()}),
      adjoint.gradient(getResult()), adjoint.value(getX()),
      adjoint.value(getY()), adjoint.value(getWeights()));
  adjoint.add(getX(), all.getStreams());
  adjoint.add(getY(), all.getMade());
  adjoint.add(getWeights(), all.getWeightsGradient());
}
