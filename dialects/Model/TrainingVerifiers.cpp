//===- TrainingVerifiers.cpp - what ops of training promise ---------------===//
//
// As ModelVerifiers.cpp, for TrainingOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

/// `what` has exactly this shape, in f32.
static LogicalResult expectValue(Operation *op, StringRef what, Value value,
                                 ArrayRef<int64_t> shape) {
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  return expectFloat32(op, what, value);
}

//===----------------------------------------------------------------------===//
// The forward step of training
//===----------------------------------------------------------------------===//

/// Queries, keys, values and positions of a step's rows.
template <typename OpT> static LogicalResult verifySequences(OpT op) {
  if (failed(verifyAttention(op, kRows)) ||
      failed(expectValue(op, "the statistics", op.getStatistics(),
                         {kRows, shapeOf(op.getQ())[1], 2})))
    return failure();
  return expectIndices(op, "positions", op.getPositions());
}

LogicalResult SequenceAttentionOp::verify() {
  if (failed(verifySequences(*this)) ||
      (getSinks() &&
       failed(verifySinks(*this, getSinks(), shapeOf(getQ())[1]))))
    return failure();
  return expectValue(*this, "the result", getResult(),
                     {kRows, shapeOf(getQ())[1], shapeOf(getV())[2]});
}

/// A teacher's tokens and numbers, of at most the vocabulary's tokens.
static LogicalResult verifyTeacher(CrossEntropyOp op, int64_t vocabulary) {
  if (op.getTeacher().empty())
    return success();
  if (op.getTeacher().size() != 2)
    return op.emitOpError() << "a teacher is " << op.getTeacher().size()
                            << " values, expected its tokens and its numbers";
  Value tokens = op.getTeacher()[0];
  ArrayRef<int64_t> shape = shapeOf(tokens);
  if (shape.size() != 2 || shape[0] != kRows || shape[1] < 1 ||
      shape[1] > vocabulary || !typeOf(tokens).getElementType().isInteger(32))
    return op.emitOpError()
           << "the teacher's tokens are " << tokens.getType()
           << ", expected [rows, N] in i32 with N from 1 to " << vocabulary;
  return expectValue(op, "the teacher's numbers", op.getTeacher()[1],
                     {kRows, shape[1] + kTeacherNumbers});
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectRank(*this, "the weight", getWeight(), 2)) ||
      failed(expectStatic(*this, "the weight", getWeight())) ||
      failed(expectWeight(*this, "the weight", getWeight())))
    return failure();
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  if (shapeOf(getX())[0] != kRows || shapeOf(getX())[1] != weight[1])
    return emitOpError() << "x has shape " << text(shapeOf(getX()))
                         << ", expected [rows, " << weight[1] << "]";
  if (failed(expectIndices(*this, "targets", getTargets())) ||
      failed(expectValue(*this, "weights", getWeights(), {kRows})) ||
      failed(expectFinite(*this, "scale", getScale())) ||
      failed(expectNotNegative(*this, "softcap", getSoftcap())) ||
      failed(verifyTeacher(*this, weight[0])) ||
      failed(expectValue(*this, "the loss", getLoss(),
                         getTeacher().empty()
                             ? Shape({kRows})
                             : Shape({kRows, kTeacherLosses}))) ||
      failed(expectTypeOf(*this, "dx", getDx(), "x", getX())) ||
      failed(expectValue(*this, "dweight", getDweight(), weight)))
    return failure();
  if (!getBias() != !getDbias())
    return emitOpError() << "has a bias without a dbias, or the other way "
                            "round, expected both or neither";
  if (!getBias())
    return success();
  if (failed(expectShape(*this, "the bias", getBias(), {weight[0]})))
    return failure();
  return expectValue(*this, "dbias", getDbias(), {weight[0]});
}

LogicalResult PreferenceLossOp::verify() {
  if (failed(expectValue(*this, "losses", getLosses(), {kRows})) ||
      failed(expectValue(*this, "weights", getWeights(), {kRows})) ||
      failed(expectValue(*this, "preferences", getPreferences(),
                         {kRows, kPreferenceNumbers})) ||
      failed(expectValue(*this, "results", getResults(),
                         {kRows, kPreferenceLosses})))
    return failure();
  return expectValue(*this, "the gradient", getGradient(), {kRows});
}

LogicalResult WeighRowsOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.empty() || x.size() > 2 || x[0] != kRows ||
      (x.size() == 2 && isSymbol(x[1])))
    return emitOpError() << "x has shape " << text(x)
                         << ", expected [rows] or [rows, width]";
  if (failed(expectFloat32(*this, "x", getX())) ||
      failed(expectValue(*this, "factors", getFactors(), {kRows})))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "x", getX());
}

LogicalResult ReindexOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (program && !program.getTraining())
    return emitOpError() << "stands outside training, where positions are "
                            "other things than rows";
  Shape expected(shapeOf(getX()));
  for (int64_t &dimension : expected)
    dimension = dimension == kRows ? kKv : dimension == kKv ? kRows : dimension;
  bool one =
      llvm::is_contained(expected, kRows) != llvm::is_contained(expected, kKv);
  if (!one || shapeOf(getResult()) != ArrayRef<int64_t>(expected) ||
      typeOf(getX()).getElementType() != typeOf(getResult()).getElementType())
    return emitOpError() << "makes " << getResult().getType() << " of "
                         << getX().getType()
                         << ", expected 'kv' where x has 'rows', or the other "
                            "way round";
  return success();
}

//===----------------------------------------------------------------------===//
// Saved values, gradients
//===----------------------------------------------------------------------===//

LogicalResult SaveOp::verify() {
  if (getName().empty())
    return emitOpError() << "has an empty name";
  if (!isa<StackOp>((*this)->getParentOp()))
    return emitOpError() << "stands outside a stack";
  const ArrayRef<int64_t> shape = shapeOf(getX());
  const bool isVector = shape.size() == 1 && !isSymbol(shape[0]);
  if (!isVector && !llvm::is_contained(shape, kRows) &&
      llvm::none_of(shape, countRowParts) && !llvm::is_contained(shape, kKv))
    return emitOpError() << "saves " << getX().getType()
                         << ", of which no dimension is 'rows' or 'kv', and "
                            "which is no vector of a fixed size";
  // Names are those of the stacks in one block.
  WalkResult result =
      (*this)->getParentOp()->getBlock()->walk([&](SaveOp other) {
        return other != *this && other.getName() == getName()
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
  if (result.wasInterrupted())
    return emitOpError() << "saves to '" << getName()
                         << "', which another op saves to already";
  return success();
}

LogicalResult SavedOp::verify() {
  auto stack = dyn_cast<StackOp>((*this)->getParentOp());
  if (!stack)
    return emitOpError() << "stands outside a stack";
  SaveOp save;
  stack->getBlock()->walk([&](SaveOp other) {
    if (other.getName() == getName())
      save = other;
  });
  auto saver = save ? dyn_cast<StackOp>(save->getParentOp()) : StackOp();
  if (!saver || saver->getBlock() != stack->getBlock() ||
      !saver->isBeforeInBlock(stack))
    return emitOpError() << "no earlier stack saves '" << getName() << "'";
  if (save.getX().getType() != getResult().getType())
    return emitOpError() << "'" << getName() << "' has type "
                         << save.getX().getType();
  if (saver.getRepeat() != stack.getRepeat())
    return emitOpError() << "'" << getName() << "' is saved "
                         << saver.getRepeat() << " times, for "
                         << stack.getRepeat() << " iterations";
  return success();
}

LogicalResult GradientOp::verify() {
  if (!getParameter().getDefiningOp<ParameterOp>())
    return emitOpError() << "is not of a parameter";
  return expectValue(*this, "the gradient", getGradient(),
                     shapeOf(getParameter()));
}

//===----------------------------------------------------------------------===//
// Adapters whose rows have a trained length
//===----------------------------------------------------------------------===//

LogicalResult AdaptedSquaresOp::verify() {
  if (failed(expectRank(*this, "the weight", getWeight(), 2)) ||
      failed(expectStatic(*this, "the weight", getWeight())) ||
      failed(expectWeight(*this, "the weight", getWeight())) ||
      failed(expectRank(*this, "down", getDown(), 2)))
    return failure();
  const ArrayRef<int64_t> weight = shapeOf(getWeight());
  const int64_t rank = shapeOf(getDown())[0];
  if (failed(expectValue(*this, "down", getDown(), {rank, weight[1]})) ||
      failed(expectValue(*this, "up", getUp(), {weight[0], rank})) ||
      failed(expectFinite(*this, "factor", getFactor())))
    return failure();
  return expectValue(*this, "the result", getResult(), {weight[0]});
}

/// A number of each column of x.
static LogicalResult verifySquaresOfColumns(Operation *op, Value squares,
                                            Value x) {
  return expectValue(op, "squares", squares, {shapeOf(x)[1]});
}

LogicalResult MagnitudeOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectSameType(*this, getX(), getResult())) ||
      failed(expectShape(*this, "magnitude", getMagnitude(),
                         {shapeOf(getX())[1]})) ||
      failed(verifySquaresOfColumns(*this, getSquares(), getX())))
    return failure();
  return getBias()
             ? expectShape(*this, "the bias", getBias(), {shapeOf(getX())[1]})
             : success();
}

LogicalResult MagnitudeGradientOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectTypeOf(*this, "dy", getDy(), "x", getX())) ||
      failed(verifySquaresOfColumns(*this, getSquares(), getX())))
    return failure();
  return expectValue(*this, "the result", getResult(), {shapeOf(getX())[1]});
}

//===----------------------------------------------------------------------===//
// Adjoints of linears, embeddings, norms
//===----------------------------------------------------------------------===//

LogicalResult LinearInputGradientOp::verify() {
  if (failed(expectRowsByWidth(*this, getDy())) ||
      failed(expectRank(*this, "the weight", getWeight(), 2)) ||
      failed(expectStatic(*this, "the weight", getWeight())) ||
      failed(expectWeight(*this, "the weight", getWeight())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy()), weight = shapeOf(getWeight());
  if (dy[1] != weight[0])
    return emitOpError() << "dy has width " << dy[1]
                         << ", but the weight makes " << weight[0];
  return expectValue(*this, "the result", getResult(), {dy[0], weight[1]});
}

LogicalResult LinearWeightGradientOp::verify() {
  if (failed(expectRowsByWidth(*this, getDy())) ||
      failed(expectRowsByWidth(*this, getX())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy()), x = shapeOf(getX());
  if (dy[0] != x[0])
    return emitOpError() << "dy has " << dimensionName(dy[0]) << ", x has "
                         << dimensionName(x[0]);
  return expectValue(*this, "the result", getResult(), {dy[1], x[1]});
}

LogicalResult BiasGradientOp::verify() {
  if (failed(expectRowsByWidth(*this, getDy())))
    return failure();
  return expectValue(*this, "the result", getResult(), {shapeOf(getDy())[1]});
}

LogicalResult EmbeddingGradientOp::verify() {
  if (failed(expectRowsByWidth(*this, getDy())) ||
      failed(expectIndices(*this, "indices", getIndices())) ||
      failed(expectRank(*this, "the result", getResult(), 2)) ||
      failed(expectStatic(*this, "the result", getResult())) ||
      failed(expectValue(*this, "the result", getResult(),
                         {shapeOf(getResult())[0], shapeOf(getDy())[1]})))
    return failure();
  if (shapeOf(getDy())[0] != kRows)
    return emitOpError() << "dy has shape " << text(shapeOf(getDy()))
                         << ", expected rows";
  return expectFinite(*this, "the multiplier", getMultiplier());
}

static LogicalResult expectNorm(Operation *op, Norm norm) {
  if (norm != Norm::identity)
    return success();
  return op->emitOpError() << "the norm is 'identity'";
}

/// x of a norm: [R, K] or [R, H, K]; returns the shape of its statistics.
static FailureOr<Shape> verifyNormed(Operation *op, Value x) {
  Shape shape(shapeOf(x));
  bool rows = shape.size() == 2 || shape.size() == 3;
  rows = rows && isSymbol(shape[0]) &&
         llvm::none_of(llvm::drop_begin(shape), isSymbol);
  if (!rows)
    return op->emitOpError() << "x has shape " << text(shapeOf(x))
                             << ", expected [R, K] or [R, H, K]";
  if (failed(expectFloat32(op, "x", x)))
    return failure();
  shape.back() = 2;
  return shape;
}

LogicalResult NormStatisticsOp::verify() {
  FailureOr<Shape> statistics = verifyNormed(*this, getX());
  if (failed(statistics) || failed(expectNorm(*this, getNorm())) ||
      failed(expectNotNegative(*this, "epsilon", getEpsilon())))
    return failure();
  return expectValue(*this, "the result", getResult(), *statistics);
}

LogicalResult NormInputGradientOp::verify() {
  FailureOr<Shape> statistics = verifyNormed(*this, getX());
  if (failed(statistics) || failed(expectNorm(*this, getNorm())) ||
      failed(expectTypeOf(*this, "dy", getDy(), "x", getX())) ||
      failed(expectTypeOf(*this, "the result", getResult(), "x", getX())) ||
      failed(expectShape(*this, "the weight", getWeight(),
                         {shapeOf(getX()).back()})))
    return failure();
  return expectValue(*this, "the statistics", getStatistics(), *statistics);
}

LogicalResult NormWeightGradientOp::verify() {
  FailureOr<Shape> statistics = verifyNormed(*this, getX());
  if (failed(statistics) ||
      failed(expectTypeOf(*this, "dy", getDy(), "x", getX())) ||
      failed(expectValue(*this, "the result", getResult(),
                         {shapeOf(getX()).back()})))
    return failure();
  return expectValue(*this, "the statistics", getStatistics(), *statistics);
}

LogicalResult NormBeginGradientOp::verify() {
  if (!getScaledGradient() && !getSquaresGradient())
    return emitOpError() << "has no gradient";
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectTypeOf(*this, "the result", getResult(), "x", getX())) ||
      failed(
          expectShape(*this, "the weight", getWeight(), {shapeOf(getX())[1]})))
    return failure();
  if (getScaledGradient() &&
      failed(expectTypeOf(*this, "the gradient of scaled", getScaledGradient(),
                          "x", getX())))
    return failure();
  if (!getSquaresGradient())
    return success();
  return verifySquares(*this, "the gradient of the squares",
                       getSquaresGradient(), getX());
}

LogicalResult NormEndGradientOp::verify() {
  if (failed(expectTypeOf(*this, "dy", getDy(), "x", getX())) ||
      failed(
          verifyNormEnd(*this, getX(), getSquares(), getWidth(), getEpsilon())))
    return failure();
  return verifySquares(*this, "the result", getResult(), getX());
}

LogicalResult HeadLinearInputGradientOp::verify() {
  if (failed(expectHeads(*this, "dy", getDy())) ||
      failed(expectRank(*this, "the weight", getWeight(), 3)) ||
      failed(expectStatic(*this, "the weight", getWeight())) ||
      failed(expectFloating(*this, "the weight", getWeight())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy()), weight = shapeOf(getWeight());
  if (weight[0] != dy[1] || weight[1] != dy[2])
    return emitOpError() << "dy has shape " << text(dy) << " and the weight "
                         << text(weight)
                         << ", expected [rows, H, N] and [H, N, K]";
  return expectValue(*this, "the result", getResult(),
                     {kRows, dy[1], weight[2]});
}

LogicalResult HeadLinearWeightGradientOp::verify() {
  if (failed(expectHeads(*this, "dy", getDy())) ||
      failed(expectHeads(*this, "x", getX())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy()), x = shapeOf(getX());
  if (dy[1] != x[1])
    return emitOpError() << "dy has shape " << text(dy) << " and x " << text(x)
                         << ", expected rows of as many heads";
  return expectValue(*this, "the result", getResult(), {dy[1], dy[2], x[2]});
}

//===----------------------------------------------------------------------===//
// Adjoints of attention
//===----------------------------------------------------------------------===//

LogicalResult RopeGradientOp::verify() {
  return verifyRope(*this, getDy(), getTable(), getResult());
}

LogicalResult AttentionDeltaOp::verify() {
  if (failed(expectRank(*this, "dy", getDy(), 3)) ||
      failed(expectTypeOf(*this, "y", getY(), "dy", getDy())))
    return failure();
  ArrayRef<int64_t> dy = shapeOf(getDy());
  if (dy[0] != kRows || isSymbol(dy[1]) || isSymbol(dy[2]))
    return emitOpError() << "dy has shape " << text(dy)
                         << ", expected [rows, heads, dim]";
  return expectValue(*this, "the result", getResult(), {kRows, dy[1]});
}

template <typename OpT> static LogicalResult verifyAttentionAdjoint(OpT op) {
  if (failed(verifySequences(op)))
    return failure();
  int64_t heads = shapeOf(op.getQ())[1];
  if (failed(expectValue(op, "dy", op.getDy(),
                         {kRows, heads, shapeOf(op.getV())[2]})))
    return failure();
  return expectValue(op, "delta", op.getDelta(), {kRows, heads});
}

LogicalResult AttentionQueryGradientOp::verify() {
  if (failed(verifyAttentionAdjoint(*this)))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "q", getQ());
}

LogicalResult AttentionKeyValueGradientOp::verify() {
  if (failed(verifyAttentionAdjoint(*this)) ||
      failed(expectTypeOf(*this, "the first result", getKeys(), "k", getK())))
    return failure();
  return expectTypeOf(*this, "the second result", getValues(), "v", getV());
}

LogicalResult AttentionSinkGradientOp::verify() {
  ArrayRef<int64_t> delta = shapeOf(getDelta());
  if (delta.size() != 2 || delta[0] != kRows || isSymbol(delta[1]))
    return emitOpError() << "delta has shape " << text(delta)
                         << ", expected [rows, heads]";
  if (failed(expectFloat32(*this, "delta", getDelta())) ||
      failed(expectValue(*this, "the statistics", getStatistics(),
                         {kRows, delta[1], 2})) ||
      failed(verifySinks(*this, getSinks(), delta[1])))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "delta", getDelta());
}

LogicalResult MaskGradientOp::verify() {
  if (failed(verifyMask(*this, "dy", getDy(), getResult())) ||
      failed(expectIndices(*this, "positions", getPositions())))
    return failure();
  if (getWindowAttr().getInt() < 0)
    return emitOpError() << "window is negative";
  return success();
}

LogicalResult GateGradientOp::verify() {
  if (failed(verifyGated(*this, getX(), getGate())) ||
      failed(expectTypeOf(*this, "dy", getDy(), "x", getX())))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "the gate", getGate());
}

//===----------------------------------------------------------------------===//
// Adjoints of views
//===----------------------------------------------------------------------===//

LogicalResult JoinOp::verify() {
  if (getParts().size() < 2)
    return emitOpError() << "joins fewer than two parts";
  Shape expected(shapeOf(getResult()));
  uint64_t axis = getAxis();
  if (axis >= expected.size() || isSymbol(expected[axis]))
    return emitOpError() << "axis " << axis << " of " << text(expected)
                         << " is no dimension with a number";
  int64_t total = 0;
  for (Value part : getParts()) {
    Shape shape(shapeOf(part));
    if (shape.size() == expected.size() && !isSymbol(shape[axis])) {
      total += shape[axis];
      shape[axis] = expected[axis];
    }
    if (shape != expected ||
        typeOf(part).getElementType() != typeOf(getResult()).getElementType())
      return emitOpError() << "joins " << part.getType() << " into "
                           << getResult().getType();
  }
  if (total != expected[axis])
    return emitOpError() << "the parts add up to " << total << ", not "
                         << expected[axis];
  return success();
}
