//===- BatchForm.cpp - a program of one sequence, as one of many ----------===//

#include "passes/batching/Passes.h"

#include "dialects/Model/Model.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace baton::batching {
#define GEN_PASS_DEF_BATCHFORM
#include "passes/batching/Passes.h.inc"
} // namespace baton::batching

using namespace mlir;
using namespace baton;
using namespace baton::model;

namespace {

/// Rewrites one program.
class BatchFormer {
public:
  BatchFormer(ProgramOp program, int64_t sequences, Stored stored,
              bool hiddenStates)
      : program(program), sequences(sequences), stored(stored),
        hiddenStates(hiddenStates), rewriter(program.getContext()) {}

  LogicalResult run();
  unsigned attentions = 0;

private:
  void addArguments();
  void attendToPages();
  void sample();
  Value ofAllRows(Value value);
  LogicalResult returnHiddenStates();
  LogicalResult expectNoPast();

  ProgramOp program;
  int64_t sequences;
  Stored stored;
  bool hiddenStates;
  IRRewriter rewriter;
  Value positions, sequenceOfRow, slots, pages, sampling, changes;
};

} // namespace

void BatchFormer::addArguments() {
  Block &block = program.getBody().front();
  auto indices = typeOf(block.getArgument(0));
  Location location = program.getLoc();
  positions = block.addArgument(indices, location);
  sequenceOfRow = block.addArgument(indices, location);
  slots = block.addArgument(indices, location);
  pages = block.addArgument(
      indices.withShape({sequences * program.countPages()}), location);
  sampling = block.addArgument(indices.withShape({kOutputs, kSamplingWords}),
                               location);
  changes = block.addArgument(
      indices.withShape({sequences * program.countChanges() * kChangeWords}),
      location);
  program.setBatch(sequences);
}

void BatchFormer::attendToPages() {
  for (auto op : program.all<KvAppendOp>()) {
    rewriter.setInsertionPoint(op);
    auto paged =
        rewriter.create<PagedAppendOp>(op.getLoc(), op.getX().getType(),
                                       op.getX(), slots, op.getState(), stored);
    paged->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    // Types of what else reads it do not fit, which expectNoPast() reports.
    rewriter.replaceAllUsesWith(op.getResult(), paged.getResult());
    rewriter.eraseOp(op);
  }
  for (auto op : program.all<AttentionOp>()) {
    rewriter.setInsertionPoint(op);
    // A part of a state is one of the step's rows, as the state is.
    Value values = op.getV();
    if (auto slice = values.getDefiningOp<SliceOp>();
        slice && slice.getX() == op.getK()) {
      SmallVector<int64_t> shape(typeOf(values).getShape());
      shape[0] = kRows;
      values = rewriter.create<SliceOp>(
          slice.getLoc(), typeOf(values).withShape(shape), op.getK(),
          slice.getAxisAttr(), slice.getOffsetAttr());
    }
    auto paged = rewriter.create<PagedAttentionOp>(
        op.getLoc(), op.getType(), op.getQ(), op.getK(), values, positions,
        sequenceOfRow, pages, op.getGate(), op.getSinks(), op.getScaleAttr(),
        op.getSoftcapAttr(), op.getWindowAttr());
    paged->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    auto slice = op.getV().getDefiningOp<SliceOp>();
    rewriter.replaceOp(op, paged);
    if (slice && slice->use_empty())
      rewriter.eraseOp(slice);
    ++attentions;
  }
}

void BatchFormer::sample() {
  auto end = cast<ReturnOp>(program.getBody().front().getTerminator());
  Value logits = end.getOperand(0);
  // A stage ends with what it sends.
  rewriter.setInsertionPointAfterValue(logits);
  auto type = typeOf(sampling);
  const int64_t words = maskWords(typeOf(logits).getDimension(1));
  auto masks = rewriter.create<TokenMaskOp>(
      NameLoc::get(rewriter.getStringAttr("token_mask")),
      type.withShape({kOutputs, words}), sampling);
  auto draws = rewriter.create<SampleOp>(
      NameLoc::get(rewriter.getStringAttr("sample")),
      type.withShape({kOutputs, kDrawWords}), logits, sampling, changes, masks);
  rewriter.modifyOpInPlace(end, [&] {
    end.getOperandsMutable().assign({logits, draws.getResult()});
  });
}

/// What has a value of the rows with logits from all rows.
Value BatchFormer::ofAllRows(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || typeOf(value).getDimension(0) != kOutputs)
    return value;
  if (auto last = dyn_cast<LastRowsOp>(op))
    return last.getX();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, ofAllRows(operand));
  Operation *clone = rewriter.clone(*op, mapping);
  for (Value result : clone->getResults()) {
    auto type = typeOf(result);
    SmallVector<int64_t> shape(type.getShape());
    std::replace(shape.begin(), shape.end(), int64_t(kOutputs), int64_t(kRows));
    result.setType(type.withShape(shape));
  }
  return clone->getResult(cast<OpResult>(value).getResultNumber());
}

/// What the linear multiplies that makes logits, of all rows. A stage that
/// makes none ends with what it sends, which nobody asks for.
LogicalResult BatchFormer::returnHiddenStates() {
  auto end = cast<ReturnOp>(program.getBody().front().getTerminator());
  rewriter.setInsertionPoint(end);
  // Through caps, factors and parts of other ranks.
  LinearOp head;
  for (Value value = end.getOperand(0); Operation *op = value.getDefiningOp();
       value = op->getOperand(0))
    if ((head = dyn_cast<LinearOp>(op)) || op->getNumOperands() == 0)
      break;
  Value hidden = ofAllRows(head ? head.getX() : end.getOperand(0));
  Location location = NameLoc::get(rewriter.getStringAttr("hidden_states"));
  if (head && head.getNorm() == Norm::rms)
    hidden =
        rewriter.create<RmsNormOp>(location, hidden.getType(), hidden,
                                   head.getNormWeight(), head.getEpsilonAttr());
  else if (head && head.getNorm() == Norm::layer)
    hidden = rewriter.create<LayerNormOp>(
        location, hidden.getType(), hidden, head.getNormWeight(),
        head.getNormBias(), head.getEpsilonAttr());
  auto type = typeOf(hidden);
  if (type.getRank() != 2 || type.getDimension(0) != kRows ||
      !type.getElementType().isF32())
    return program.emitOpError()
           << "has no hidden states: " << type
           << " is what its logits are made of, expected [rows, width] in f32";
  rewriter.modifyOpInPlace(end,
                           [&] { end.getOperandsMutable().append(hidden); });
  return success();
}

/// What attention reads as its values alone.
static bool isPartOfState(Operation *op) {
  return isa<SliceOp>(op) && llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<PagedAttentionOp>(user);
         });
}

/// That nothing is left which takes all positions to be of one sequence.
LogicalResult BatchFormer::expectNoPast() {
  WalkResult result = program.walk([](Operation *op) {
    bool readsState = false;
    if (!isa<PagedAttentionOp>(op) && !isPartOfState(op))
      for (Value operand : op->getOperands())
        readsState |= bool(operand.getDefiningOp<PagedAppendOp>());
    bool hasPositions = llvm::any_of(op->getResults(), [](Value value) {
      return llvm::is_contained(typeOf(value).getShape(), int64_t(kKv));
    });
    if (!readsState && !hasPositions)
      return WalkResult::advance();
    op->emitOpError()
        << "cannot be of several sequences: it takes all positions to be of "
           "one, and is no attention that attention-fusion has found";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult BatchFormer::run() {
  addArguments();
  program.readPositions(positions);
  attendToPages();
  sample();
  if (hiddenStates && failed(returnHiddenStates()))
    return failure();
  return expectNoPast();
}

namespace {
struct BatchForm : baton::batching::impl::BatchFormBase<BatchForm> {
  using BatchFormBase::BatchFormBase;

  void runOnOperation() override {
    if (sequences < 1 || sequences > (1 << 16)) {
      getOperation().emitError()
          << "batch-form: sequences is " << int64_t(sequences)
          << ", expected 1 to 65536";
      return signalPassFailure();
    }
    std::optional<Stored> form = symbolizeStored(stored);
    if (!form) {
      getOperation().emitError() << "batch-form: stored is '" << stored
                                 << "', expected f32, bf16, int8 or fp8";
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (program.getBatch())
        continue;
      if (program.getTraining()) {
        program.emitOpError() << "trains, so that it has no batch-form";
        return signalPassFailure();
      }
      BatchFormer former(program, sequences, *form, hiddenStates);
      if (failed(former.run()))
        return signalPassFailure();
      numAttentions += former.attentions;
    }
  }
};
} // namespace
