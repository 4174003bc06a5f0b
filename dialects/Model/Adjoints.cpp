//===- Adjoints.cpp - how gradients go through every op -------------------===//

#include "dialects/Model/AdjointOps.h"

using namespace mlir;
using namespace baton::model;

#include "dialects/Model/Differentiable.cpp.inc"

/// The type of a parameter's gradient.
static StepTensorType gradientType(Value parameter) {
  return typeOf(parameter).withElementType(
      Float32Type::get(parameter.getContext()));
}

//===----------------------------------------------------------------------===//
// Linears, embeddings
//===----------------------------------------------------------------------===//

int64_t LinearOp::getProductFlops() {
  return 2 * typeOf(getWeight()).getDimension(0) *
         typeOf(getWeight()).getDimension(1);
}

// differentiate refuses linears with a norm or activation.
void LinearOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  if (getResidual())
    adjoint.add(getResidual(), dy);
  adjoint.add(getX(),
              create<LinearInputGradientOp>(adjoint, typeOf(getX()), dy,
                                            adjoint.value(getWeight())));
}

void LinearOp::differentiateParameters(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  contribute(adjoint, getWeight(),
             create<LinearWeightGradientOp>(adjoint, gradientType(getWeight()),
                                            dy, adjoint.value(getX())));
  if (getBias())
    contribute(adjoint, getBias(),
               create<BiasGradientOp>(adjoint, gradientType(getBias()), dy));
}

void EmbeddingOp::differentiateInputs(Adjoint &) {}

void EmbeddingOp::differentiateParameters(Adjoint &adjoint) {
  contribute(adjoint, getTable(),
             create<EmbeddingGradientOp>(adjoint, gradientType(getTable()),
                                         adjoint.gradient(getResult()),
                                         adjoint.value(getTokens()),
                                         getMultiplierAttr()));
}

int64_t HeadLinearOp::getProductFlops() {
  ArrayRef<int64_t> weight = typeOf(getWeight()).getShape();
  return 2 * weight[0] * weight[1] * weight[2];
}

void HeadLinearOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(),
              create<HeadLinearInputGradientOp>(adjoint, typeOf(getX()),
                                                adjoint.gradient(getResult()),
                                                adjoint.value(getWeight())));
}

void HeadLinearOp::differentiateParameters(Adjoint &adjoint) {
  contribute(adjoint, getWeight(),
             create<HeadLinearWeightGradientOp>(
                 adjoint, gradientType(getWeight()),
                 adjoint.gradient(getResult()), adjoint.value(getX())));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static StepTensorType statisticsType(Value x) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape.back() = 2;
  return typeOf(x).withShape(shape);
}

/// Computed again by whoever needs them: two sums a row.
static Value statisticsOf(Adjoint &adjoint, Value x, NormAttr norm,
                          FloatAttr epsilon) {
  return create<NormStatisticsOp>(adjoint, statisticsType(x), adjoint.value(x),
                                  norm, epsilon);
}

template <typename OpT>
static void differentiateNorm(OpT op, Norm kind, Adjoint &adjoint) {
  auto norm = NormAttr::get(op.getContext(), kind);
  Value statistics =
      statisticsOf(adjoint, op.getX(), norm, op.getEpsilonAttr());
  adjoint.add(op.getX(),
              create<NormInputGradientOp>(
                  adjoint, op.getType(), adjoint.gradient(op.getResult()),
                  adjoint.value(op.getX()), adjoint.value(op.getWeight()),
                  statistics, norm));
}

template <typename OpT>
static void differentiateNormWeight(OpT op, Norm kind, Adjoint &adjoint) {
  auto norm = NormAttr::get(op.getContext(), kind);
  Value statistics =
      statisticsOf(adjoint, op.getX(), norm, op.getEpsilonAttr());
  contribute(adjoint, op.getWeight(),
             create<NormWeightGradientOp>(adjoint, gradientType(op.getWeight()),
                                          adjoint.gradient(op.getResult()),
                                          adjoint.value(op.getX()),
                                          statistics));
}

void RmsNormOp::differentiateInputs(Adjoint &adjoint) {
  differentiateNorm(*this, Norm::rms, adjoint);
}

void RmsNormOp::differentiateParameters(Adjoint &adjoint) {
  differentiateNormWeight(*this, Norm::rms, adjoint);
}

void LayerNormOp::differentiateInputs(Adjoint &adjoint) {
  differentiateNorm(*this, Norm::layer, adjoint);
}

void LayerNormOp::differentiateParameters(Adjoint &adjoint) {
  differentiateNormWeight(*this, Norm::layer, adjoint);
  if (getBias())
    contribute(adjoint, getBias(),
               create<BiasGradientOp>(adjoint, gradientType(getBias()),
                                      adjoint.gradient(getResult())));
}

void NormBeginOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(),
              create<NormBeginGradientOp>(
                  adjoint, getX().getType(), adjoint.value(getX()),
                  adjoint.value(getWeight()), adjoint.gradient(getScaled()),
                  adjoint.gradient(getSquares())));
}

void NormBeginOp::differentiateParameters(Adjoint &adjoint) {
  Value gradient = adjoint.gradient(getScaled());
  if (!gradient)
    return;
  Value product =
      create<MulOp>(adjoint, getX().getType(), gradient, adjoint.value(getX()));
  contribute(
      adjoint, getWeight(),
      create<BiasGradientOp>(adjoint, gradientType(getWeight()), product));
}

void NormEndOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  Value squares = adjoint.value(getSquares());
  adjoint.add(getX(), create<NormEndOp>(adjoint, getType(), dy, squares,
                                        getWidthAttr(), getEpsilonAttr()));
  adjoint.add(getSquares(),
              create<NormEndGradientOp>(adjoint, getSquares().getType(), dy,
                                        adjoint.value(getX()), squares,
                                        getWidthAttr(), getEpsilonAttr()));
}

//===----------------------------------------------------------------------===//
// Adapters whose rows have a trained length
//===----------------------------------------------------------------------===//

// What is divided by has no gradient.
void MagnitudeOp::differentiateInputs(Adjoint &adjoint) {
  const Value none;
  adjoint.add(getX(), create<MagnitudeOp>(
                          adjoint, getType(), adjoint.gradient(getResult()),
                          adjoint.value(getMagnitude()),
                          adjoint.value(getSquares()), /*bias=*/none));
}

void MagnitudeOp::differentiateParameters(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  if (!isFrozen(getMagnitude()))
    contribute(adjoint, getMagnitude(),
               create<MagnitudeGradientOp>(
                   adjoint, gradientType(getMagnitude()), dy,
                   adjoint.value(getX()), adjoint.value(getSquares())));
  if (getBias() && !isFrozen(getBias()))
    contribute(adjoint, getBias(),
               create<BiasGradientOp>(adjoint, gradientType(getBias()), dy));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

void RopeOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(), create<RopeGradientOp>(adjoint, getType(),
                                             adjoint.gradient(getResult()),
                                             adjoint.value(getTable())));
}

/// A part of each head's elements.
static Value elementsOfHeads(Adjoint &adjoint, Value x, int64_t offset,
                             int64_t width) {
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  return create<SliceOp>(adjoint,
                         typeOf(x).withShape({shape[0], shape[1], width}), x,
                         /*axis=*/2, offset);
}

void JoinHeadsOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  const int64_t front = typeOf(getFront()).getDimension(2),
                back = typeOf(getBack()).getDimension(2);
  adjoint.add(getFront(), elementsOfHeads(adjoint, dy, 0, front));
  adjoint.add(getBack(), elementsOfHeads(adjoint, dy, front, back));
}

int64_t SequenceAttentionOp::getProductFlops() {
  int64_t seen = (*this)->getParentOfType<ProgramOp>().getMaxSeq();
  if (getWindow() != 0)
    seen = std::min<int64_t>(seen, getWindow());
  int64_t heads = typeOf(getQ()).getDimension(1);
  return 2 * seen * heads *
         (typeOf(getQ()).getDimension(2) + typeOf(getV()).getDimension(2));
}

static Value deltaOf(SequenceAttentionOp op, Adjoint &adjoint) {
  Value result = op.getResult();
  SmallVector<int64_t> heads(typeOf(result).getShape().drop_back());
  return create<AttentionDeltaOp>(adjoint, typeOf(result).withShape(heads),
                                  adjoint.gradient(result),
                                  adjoint.value(result));
}

// With sinks, too: they are in the statistics.
void SequenceAttentionOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult()), delta = deltaOf(*this, adjoint);
  SmallVector<Value> operands = {dy,
                                 adjoint.value(getQ()),
                                 adjoint.value(getK()),
                                 adjoint.value(getV()),
                                 delta,
                                 adjoint.value(getStatistics()),
                                 adjoint.value(getPositions())};
  SmallVector<NamedAttribute> attributes((*this)->getAttrs());
  adjoint.add(getQ(),
              create<AttentionQueryGradientOp>(
                  adjoint, TypeRange(getQ().getType()), operands, attributes)
                  .getResult());
  auto both = create<AttentionKeyValueGradientOp>(
      adjoint, TypeRange({getK().getType(), getV().getType()}), operands,
      attributes);
  adjoint.add(getK(), both.getKeys());
  adjoint.add(getV(), both.getValues());
}

void SequenceAttentionOp::differentiateParameters(Adjoint &adjoint) {
  if (!getSinks())
    return;
  Value delta = deltaOf(*this, adjoint);
  Value rows = create<AttentionSinkGradientOp>(adjoint, delta.getType(), delta,
                                               adjoint.value(getStatistics()),
                                               adjoint.value(getSinks()));
  contribute(adjoint, getSinks(),
             create<BiasGradientOp>(adjoint, gradientType(getSinks()), rows));
}

//===----------------------------------------------------------------------===//
// Attention as it is written before fusion
//===----------------------------------------------------------------------===//

/// A view with the last two dimensions swapped.
static Value swapped(Adjoint &adjoint, Value x) {
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  return create<TransposeOp>(
      adjoint, typeOf(x).withShape({shape[0], shape[2], shape[1]}), x,
      ArrayRef<int64_t>{0, 2, 1});
}

static Value product(Adjoint &adjoint, Value lhs, Value rhs) {
  ArrayRef<int64_t> left = typeOf(lhs).getShape();
  return create<MatmulOp>(
      adjoint,
      typeOf(lhs).withShape({left[0], left[1], typeOf(rhs).getDimension(2)}),
      lhs, rhs);
}

/// A row of the longest sequence sees that many positions.
int64_t MatmulOp::getProductFlops() {
  int64_t flops = 2;
  for (int64_t dimension :
       {typeOf(getLhs()).getDimension(0), typeOf(getLhs()).getDimension(2),
        typeOf(getRhs()).getDimension(2)})
    flops *= isSymbol(dimension)
                 ? (*this)->getParentOfType<ProgramOp>().getMaxSeq()
                 : dimension;
  return flops;
}

void MatmulOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  adjoint.add(getLhs(),
              product(adjoint, dy, swapped(adjoint, adjoint.value(getRhs()))));
  // What is as tall as a step comes first in a product.
  Value lhs = adjoint.value(getLhs());
  bool isWide = isSymbol(typeOf(getRhs()).getDimension(2));
  adjoint.add(
      getRhs(),
      isWide ? swapped(adjoint, product(adjoint, swapped(adjoint, dy), lhs))
             : product(adjoint, swapped(adjoint, lhs), dy));
}

void MaskOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(), create<MaskGradientOp>(
                          adjoint, getType(), adjoint.gradient(getResult()),
                          adjoint.value(getPositions()), getWindowAttr()));
}

void ReindexOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(), create<ReindexOp>(adjoint, typeOf(getX()),
                                        adjoint.gradient(getResult())));
}

void GateOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult()), gate = adjoint.value(getGate());
  adjoint.add(getX(), create<GateOp>(adjoint, getType(), dy, gate));
  adjoint.add(getGate(),
              create<GateGradientOp>(adjoint, getGate().getType(), dy,
                                     adjoint.value(getX()), gate));
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

// Logits, and their gradients' products with the weight and with x.
int64_t CrossEntropyOp::getProductFlops() {
  return 3 * 2 * typeOf(getWeight()).getDimension(0) *
         typeOf(getWeight()).getDimension(1);
}

/// Where something is made of the losses, the same op, of which rows count by
/// the gradient for them. Both kinds of adjoints write it, and are one then.
/// Nothing is made of those that have a teacher.
static CrossEntropyOp weighed(CrossEntropyOp op, Adjoint &adjoint,
                              Value gradient) {
  Value weights = adjoint.value(op.getWeights()), bias = op.getBias();
  if (bias)
    bias = adjoint.value(bias);
  return create<CrossEntropyOp>(
      adjoint, op->getResultTypes(), adjoint.value(op.getX()),
      adjoint.value(op.getWeight()), adjoint.value(op.getTargets()),
      create<WeighRowsOp>(adjoint, typeOf(weights), weights, gradient),
      /*teacher=*/ValueRange(), bias, op.getScaleAttr(), op.getSoftcapAttr());
}

/// Whether neither the weight nor a bias trains.
static bool isFrozenHead(CrossEntropyOp op) {
  return isFrozen(op.getWeight()) && (!op.getBias() || isFrozen(op.getBias()));
}

void CrossEntropyOp::differentiateInputs(Adjoint &adjoint) {
  Value gradient = adjoint.gradient(getLoss());
  if (!gradient)
    adjoint.add(getX(), getDx());
  else if (isFrozenHead(*this))
    // A row's gradient is linear in its weight, and nothing else is read.
    adjoint.add(getX(), create<WeighRowsOp>(adjoint, typeOf(getDx()), getDx(),
                                            gradient));
  else
    adjoint.add(getX(), weighed(*this, adjoint, gradient).getDx());
}

void CrossEntropyOp::differentiateParameters(Adjoint &adjoint) {
  Value gradient = adjoint.gradient(getLoss());
  CrossEntropyOp op = gradient ? weighed(*this, adjoint, gradient) : *this;
  contribute(adjoint, getWeight(), op.getDweight());
  if (getBias())
    contribute(adjoint, getBias(), op.getDbias());
}

void PreferenceLossOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getLosses(), getGradient());
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

void AddOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  adjoint.add(getLhs(), dy);
  adjoint.add(getRhs(), dy);
}

void MulOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  adjoint.add(getLhs(),
              create<MulOp>(adjoint, getType(), dy, adjoint.value(getRhs())));
  adjoint.add(getRhs(),
              create<MulOp>(adjoint, getType(), dy, adjoint.value(getLhs())));
}

void TanhOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(), create<TanhGradientOp>(adjoint, getType(),
                                             adjoint.gradient(getResult()),
                                             adjoint.value(getResult())));
}

void SoftmaxOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(), create<SoftmaxGradientOp>(adjoint, getType(),
                                                adjoint.gradient(getResult()),
                                                adjoint.value(getResult())));
}

void ActivateOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(), create<ActivateGradientOp>(
                          adjoint, getType(), adjoint.gradient(getResult()),
                          adjoint.value(getX()), getActivationAttr()));
}

void ScaleOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(),
              create<ScaleOp>(adjoint, getType(), adjoint.gradient(getResult()),
                              getFactorAttr()));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void ReshapeOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getX(), create<ReshapeOp>(adjoint, typeOf(getX()),
                                        adjoint.gradient(getResult())));
}

void TransposeOp::differentiateInputs(Adjoint &adjoint) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, axis] : llvm::enumerate(getPermutation()))
    inverse[axis] = i;
  adjoint.add(getX(),
              create<TransposeOp>(adjoint, typeOf(getX()),
                                  adjoint.gradient(getResult()), inverse));
}

void SliceOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.addSlice(getX(), adjoint.gradient(getResult()), getAxis(),
                   getOffset());
}

/// x seen with its last dimension first, or the other way round.
static Value turned(Adjoint &adjoint, Value x, bool back) {
  int64_t rank = typeOf(x).getRank();
  SmallVector<int64_t> order, shape;
  for (int64_t i = 0; i < rank; ++i) {
    order.push_back((i + (back ? 1 : rank - 1)) % rank);
    shape.push_back(typeOf(x).getDimension(order.back()));
  }
  return create<TransposeOp>(adjoint, typeOf(x).withShape(shape), x, order);
}

/// The sum over what repeats an index: of every `times`-th slice.
void BroadcastOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  // Sums go along numbers, tiles along what a step knows.
  bool isTurned = isSymbol(typeOf(dy).getShape().back());
  int64_t axis = getAxis(), times = getTimes();
  if (isTurned) {
    dy = turned(adjoint, dy, /*back=*/false);
    ++axis;
  }
  SmallVector<int64_t> summed(typeOf(dy).getShape());
  summed[axis] /= times;
  StepTensorType type = typeOf(dy).withShape(summed);
  SmallVector<Value> parts;
  for (int64_t index = 0; index < type.getDimension(axis); ++index) {
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 1;
    Value sum;
    for (int64_t i = 0; i < times; ++i) {
      Value slice = create<SliceOp>(adjoint, type.withShape(shape), dy, axis,
                                    index * times + i);
      sum = sum ? create<AddOp>(adjoint, sum.getType(), sum, slice).getResult()
                : slice;
    }
    parts.push_back(sum);
  }
  Value whole = parts.size() == 1
                    ? parts.front()
                    : create<JoinOp>(adjoint, type, parts, axis).getResult();
  adjoint.add(getX(), isTurned ? turned(adjoint, whole, /*back=*/true) : whole);
}

//===----------------------------------------------------------------------===//
// Bodies of the user's
//===----------------------------------------------------------------------===//

bool CustomOp::hasGradient(Value operand) {
  return isa<FloatType>(typeOf(operand).getElementType()) &&
         !isa_and_nonnull<ParameterOp, RopeTableOp>(operand.getDefiningOp());
}

/// The values that a body of an adjoint makes, of these operands' types.
static ResultRange callAdjoint(CustomOp op, StringRef attribute,
                               ArrayRef<Value> operands, Adjoint &adjoint) {
  SmallVector<Value> inputs;
  for (Value operand : op.getInputs())
    inputs.push_back(adjoint.value(operand));
  for (Value result : op.getResults())
    inputs.push_back(adjoint.gradient(result));
  SmallVector<Type> types;
  for (Value operand : operands)
    types.push_back(gradientType(operand));
  Operation *body = SymbolTable::lookupNearestSymbolFrom(op, op.getBodyAttr());
  return create<CustomOp>(adjoint, types,
                          body->getAttrOfType<FlatSymbolRefAttr>(attribute),
                          inputs, ArrayAttr())
      .getResults();
}

void CustomOp::differentiateInputs(Adjoint &adjoint) {
  SmallVector<Value> operands;
  for (Value operand : getInputs())
    if (hasGradient(operand))
      operands.push_back(operand);
  if (operands.empty())
    return;
  for (auto [operand, gradient] :
       llvm::zip(operands,
                 callAdjoint(*this, kInputAdjointAttribute, operands, adjoint)))
    adjoint.add(operand, gradient);
}

void CustomOp::differentiateParameters(Adjoint &adjoint) {
  SmallVector<Value> parameters;
  for (Value operand : getInputs())
    if (operand.getDefiningOp<ParameterOp>())
      parameters.push_back(operand);
  if (parameters.empty())
    return;
  for (auto [parameter, gradient] :
       llvm::zip(parameters, callAdjoint(*this, kWeightAdjointAttribute,
                                         parameters, adjoint)))
    contribute(adjoint, parameter, gradient);
}
