//===- TrainingForm.cpp - a program that decodes, as one that trains ------===//

#include "passes/training/Passes.h"

#include "dialects/Model/ExpertGates.h"

#include "mlir/IR/PatternMatch.h"

namespace baton::training {
#define GEN_PASS_DEF_TRAININGFORM
#include "passes/training/Passes.h.inc"
} // namespace baton::training

using namespace mlir;
using namespace baton;
using namespace baton::model;

namespace {

/// Rewrites one program.
class Former {
public:
  Former(ProgramOp program, bool prefers, int64_t teacherTokens)
      : program(program), prefers(prefers), teacherTokens(teacherTokens),
        rewriter(program.getContext()) {}

  LogicalResult run();

private:
  void addArguments();
  SmallVector<Value> addTeacher(int64_t vocabulary);
  void seeAllRows();
  void separateExpertGates();
  Value rowsOfState(Value state);
  LogicalResult attendWithinSequences();
  LogicalResult attendInPrimitiveForm();
  LogicalResult returnLoss();

  ProgramOp program;
  /// Whether losses are of pairs of answers.
  const bool prefers;
  /// Most tokens that a teacher names in a row; 0 without one.
  const int64_t teacherTokens;
  IRRewriter rewriter;
  Value tokens, positions, targets, weights, preferences;
};

} // namespace

void Former::addArguments() {
  Block &block = program.getBody().front();
  tokens = block.getArgument(0);
  Type indices = tokens.getType();
  Location location = program.getLoc();
  positions = block.addArgument(indices, location);
  targets = block.addArgument(indices, location);
  weights = block.addArgument(
      typeOf(tokens).withElementType(rewriter.getF32Type()), location);
  if (prefers)
    preferences = block.addArgument(
        typeOf(weights).withShape({kRows, kPreferenceNumbers}), location);
  program.setTraining(true);
}

/// What a teacher says of the step's rows. More tokens than there are it names
/// nowhere.
SmallVector<Value> Former::addTeacher(int64_t vocabulary) {
  Block &block = program.getBody().front();
  Location location = program.getLoc();
  int64_t count = std::min(teacherTokens, vocabulary);
  return {block.addArgument(typeOf(tokens).withShape({kRows, count}), location),
          block.addArgument(
              typeOf(weights).withShape({kRows, count + kTeacherNumbers}),
              location)};
}

/// All rows have losses, not the last ones alone.
void Former::seeAllRows() {
  for (auto op : program.all<LastRowsOp>())
    rewriter.replaceOp(op, op.getX());
  program.walk([](Operation *op) {
    for (Value result : op->getResults()) {
      auto type = typeOf(result);
      SmallVector<int64_t> shape(type.getShape());
      std::replace(shape.begin(), shape.end(), int64_t(kOutputs),
                   int64_t(kRows));
      result.setType(type.withShape(shape));
    }
  });
}

/// Gates and ups of experts are products of their own, whose results an adjoint
/// reads.
void Former::separateExpertGates() {
  for (auto op : program.all<GroupedGatedLinearOp>())
    separateGates(rewriter, op);
}

/// What a step's rows are of a state, or of the elements of one; null where
/// that is neither.
Value Former::rowsOfState(Value state) {
  if (auto append = state.getDefiningOp<KvAppendOp>())
    return append.getX();
  auto slice = state.getDefiningOp<SliceOp>();
  auto append = slice ? slice.getX().getDefiningOp<KvAppendOp>() : KvAppendOp();
  if (!append || slice.getAxis() == 0)
    return {};
  SmallVector<int64_t> shape(typeOf(slice).getShape());
  shape[0] = kRows;
  return rewriter.create<SliceOp>(slice.getLoc(),
                                  typeOf(slice).withShape(shape), append.getX(),
                                  slice.getAxisAttr(), slice.getOffsetAttr());
}

LogicalResult Former::attendWithinSequences() {
  // Of attention that is not fused.
  for (auto op : program.all<SoftmaxOp>())
    if (op.getSinks())
      return op.emitOpError() << "cannot be trained: it has sinks";
  for (auto op : program.all<AttentionOp>()) {
    rewriter.setInsertionPoint(op);
    Value keys = rowsOfState(op.getK()), values = rowsOfState(op.getV());
    if (!keys || !values)
      return op.emitOpError()
             << "cannot be trained: keys or values are no state as it is";
    StepTensorType type = typeOf(op.getResult());
    auto statistics = type.withShape({kRows, type.getDimension(1), 2});
    auto attention = rewriter.create<SequenceAttentionOp>(
        op.getLoc(), TypeRange({type, statistics}), op.getQ(), keys, values,
        positions, op.getSinks(), op.getScaleAttr(), op.getSoftcapAttr(),
        op.getWindowAttr());
    Value result = attention.getResult();
    if (op.getGate())
      result = rewriter.create<GateOp>(op.getLoc(), type, result, op.getGate());
    auto slice = op.getV().getDefiningOp<SliceOp>();
    rewriter.replaceOp(op, result);
    if (slice && slice.use_empty())
      rewriter.eraseOp(slice);
  }
  return attendInPrimitiveForm();
}

/// Whether no row of these weights is of another sequence's positions. That a
/// body of the user's makes zero of masked scores is the user's to know.
static bool hidesOtherSequences(Value weights) {
  while (auto scale = weights.getDefiningOp<ScaleOp>())
    weights = scale.getX();
  Operation *op = weights.getDefiningOp();
  return isa_and_nonnull<SoftmaxOp, CustomOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value scores) {
           return bool(scores.getDefiningOp<MaskOp>());
         });
}

/// Attention that is written as products: positions are the step's rows, and
/// masks hide those of other sequences.
LogicalResult Former::attendInPrimitiveForm() {
  for (auto op : program.all<SoftmaxOp>())
    if (op.getSinks())
      return op.emitOpError() << "cannot be trained: it has sinks; their "
                                 "gradient is model.attention's, which "
                                 "attention-fusion makes";
  for (auto op : program.all<MatmulOp>())
    if (typeOf(op.getLhs()).getDimension(2) == kKv &&
        !hidesOtherSequences(op.getLhs()))
      return op.emitOpError()
             << "cannot be trained: it sums over positions, but its left-hand "
                "side is no softmax or body of a model.mask, which would hide "
                "those of other sequences";
  for (auto op : program.all<MaskOp>())
    op.getPositionsMutable().assign(positions);
  for (auto op : program.all<KvAppendOp>()) {
    rewriter.setInsertionPoint(op);
    if (op.getResult().use_empty())
      rewriter.eraseOp(op);
    else
      rewriter.replaceOpWithNewOp<ReindexOp>(op, op.getType(), op.getX());
  }
  return success();
}

/// Factors and a softcap between the last linear and the logits, outermost
/// first: cap(scale * x).
static Value matchCap(Value logits, float &scale, float &softcap) {
  auto factor = [&](Value value) { return value.getDefiningOp<ScaleOp>(); };
  ScaleOp outer = factor(logits);
  Value inside = outer ? outer.getX() : logits;
  if (auto tanh = inside.getDefiningOp<TanhOp>()) {
    // cap(s) = c tanh(s / c): what stands inside is s / c.
    softcap = outer ? outer.getFactor().convertToFloat() : 1.0f;
    scale = softcap;
    inside = tanh.getX();
    outer = factor(inside);
    if (outer)
      inside = outer.getX();
  }
  while (outer) {
    scale *= outer.getFactor().convertToFloat();
    outer = factor(inside);
    if (outer)
      inside = outer.getX();
  }
  return inside;
}

LogicalResult Former::returnLoss() {
  auto end = cast<ReturnOp>(program.getBody().front().getTerminator());
  float scale = 1.0f, softcap = 0.0f;
  Value logits = matchCap(end.getOperand(0), scale, softcap);
  auto linear = logits.getDefiningOp<LinearOp>();
  if (!linear || linear.getResidual() || linear.getNorm() != Norm::identity ||
      linear.getActivation() != Activation::identity)
    return end.emitOpError()
           << "cannot be trained: no linear makes the logits, "
              "or one with a residual, a norm or an "
              "activation";
  rewriter.setInsertionPoint(end);
  StepTensorType weight = typeOf(linear.getWeight());
  SmallVector<Value> teacher;
  if (teacherTokens)
    teacher = addTeacher(weight.getDimension(0));
  StepTensorType losses = typeOf(weights);
  if (teacherTokens)
    losses = losses.withShape({kRows, kTeacherLosses});
  SmallVector<Type> results = {losses, linear.getX().getType(),
                               weight.withElementType(rewriter.getF32Type())};
  if (Value bias = linear.getBias())
    results.push_back(typeOf(bias).withElementType(rewriter.getF32Type()));
  auto loss = rewriter.create<CrossEntropyOp>(
      linear.getLoc(), results, linear.getX(), linear.getWeight(), targets,
      weights, teacher, linear.getBias(), rewriter.getF32FloatAttr(scale),
      rewriter.getF32FloatAttr(softcap));
  end.getOperandsMutable().assign(loss.getLoss());
  if (prefers) {
    StepTensorType rows = typeOf(weights);
    auto preferred = rewriter.create<PreferenceLossOp>(
        NameLoc::get(rewriter.getStringAttr("preference")),
        TypeRange({rows.withShape({kRows, kPreferenceLosses}), rows}),
        loss.getLoss(), weights, preferences);
    end.getOperandsMutable().assign(preferred.getResults());
  }
  // From the old logits inwards.
  for (Operation &op : llvm::make_early_inc_range(
           llvm::reverse(program.getBody().front().getOperations())))
    if (isa<ScaleOp, TanhOp, LinearOp>(op) && op.use_empty())
      rewriter.eraseOp(&op);
  return success();
}

LogicalResult Former::run() {
  for (auto op : program.all<LinearOp>())
    if (op.getNorm() != Norm::identity || op.getResidual() ||
        op.getActivation() != Activation::identity)
      return op.emitOpError()
             << "cannot be trained: it has a norm, activation or sum already; "
                "training-form comes before norm-rewrites";
  for (Operation *op : program.all<GatedLinearOp>())
    return op->emitOpError()
           << "cannot be trained: training-form comes before linear-grouping";
  addArguments();
  seeAllRows();
  program.readPositions(positions);
  separateExpertGates();
  return success(succeeded(attendWithinSequences()) && succeeded(returnLoss()));
}

namespace {
struct TrainingForm : baton::training::impl::TrainingFormBase<TrainingForm> {
  using TrainingFormBase::TrainingFormBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (program.getTraining()) {
        if (preferences && program.all<PreferenceLossOp>().empty()) {
          program.emitOpError() << "is in training form already, and its loss "
                                   "is not of pairs of answers";
          return signalPassFailure();
        }
        if (teacherTokens && program.getBody().getNumArguments() != 6) {
          program.emitOpError() << "is in training form already, and its loss "
                                   "has no teacher";
          return signalPassFailure();
        }
        continue;
      }
      if (failed(Former(program, preferences, teacherTokens).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
