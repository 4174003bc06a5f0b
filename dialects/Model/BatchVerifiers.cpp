//===- BatchVerifiers.cpp - what ops of several sequences' steps expect ---===//

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton::model;

LogicalResult PagedAppendOp::verify() {
  if (failed(verifyAppend(*this)) ||
      failed(expectIndices(*this, "slots", getSlots())))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "x", getX());
}

LogicalResult PagedAttentionOp::verify() {
  if (failed(verifyAttention(*this, kRows)) || failed(verifyAttended(*this)))
    return failure();
  auto keys = getK().getDefiningOp<PagedAppendOp>(),
       values = getV().getDefiningOp<PagedAppendOp>();
  if (!keys)
    return emitOpError() << "k is made by no model.paged_append";
  if (!values && !hasOneState())
    return emitOpError()
           << "v is made by no model.paged_append, nor the first part of k";
  if (values && keys.getStored() != values.getStored())
    return emitOpError() << "k is stored as "
                         << stringifyStored(keys.getStored()) << " and v as "
                         << stringifyStored(values.getStored());
  if (failed(expectIndices(*this, "positions", getPositions())) ||
      failed(expectIndices(*this, "sequences", getSequences())) ||
      failed(expectRank(*this, "pages", getPages(), 1)) ||
      failed(expectStatic(*this, "pages", getPages())))
    return failure();
  if (!typeOf(getPages()).getElementType().isInteger(32))
    return emitOpError() << "pages are not i32";
  return success();
}

bool PagedAttentionOp::hasOneState() {
  auto slice = getV().getDefiningOp<SliceOp>();
  return slice && slice.getX() == getK() && slice.getAxis() == 2 &&
         slice.getOffset() == 0;
}

static LogicalResult expectBatch(Operation *op) {
  if (!op->getParentOfType<ProgramOp>().getBatch())
    return op->emitOpError() << "stands outside a batch";
  return success();
}

/// What both ops of a pair say of their adapters' ranks.
template <typename OpT> static LogicalResult verifyRanks(OpT op, int64_t most) {
  if (failed(expectBatch(op)) ||
      failed(expectIndices(op, "places", op.getPlaces())) ||
      failed(expectIndices(op, "counts", op.getCounts())))
    return failure();
  if (most % kRankUnit)
    return op.emitOpError() << "an adapter has up to " << most
                            << " ranks, expected a multiple of " << kRankUnit;
  const int64_t ranks = op.getRanks();
  if (ranks < most || ranks % kRankUnit)
    return op.emitOpError()
           << "there is room for " << ranks << " ranks, expected a multiple of "
           << kRankUnit << ", at least " << most;
  return success();
}

/// A matrix of pairs: a parameter in f32 or bf16.
static LogicalResult expectMatrix(Operation *op, StringRef name, Value matrix) {
  if (failed(expectRank(op, name, matrix, 2)) ||
      failed(expectStatic(op, name, matrix)))
    return failure();
  Type element = typeOf(matrix).getElementType();
  if (!element.isF32() && !element.isBF16())
    return op->emitOpError()
           << name << " is of " << element << ", expected f32 or bf16";
  if (!matrix.getDefiningOp<ParameterOp>())
    return op->emitOpError() << name << " is no model.parameter";
  return success();
}

LogicalResult AdapterDownOp::verify() {
  if (failed(expectMatrix(*this, "A", getA())))
    return failure();
  const int64_t most = shapeOf(getA())[0];
  if (failed(verifyRanks(*this, most)) ||
      failed(expectShape(*this, "x", getX(), {kRows, shapeOf(getA())[1]})) ||
      failed(expectShape(*this, "the result", getResult(), {kRows, most})) ||
      failed(expectFloat32(*this, "x", getX())))
    return failure();
  return expectFloat32(*this, "the result", getResult());
}

LogicalResult AdapterUpOp::verify() {
  if (failed(expectMatrix(*this, "B", getB())))
    return failure();
  const int64_t most = shapeOf(getB())[1], outputs = shapeOf(getB())[0];
  if (failed(verifyRanks(*this, most)) ||
      failed(
          expectTypeOf(*this, "the result", getResult(), "base", getBase())) ||
      failed(expectRank(*this, "base", getBase(), 2)) ||
      failed(expectShape(*this, "low", getLow(), {kRows, most})))
    return failure();
  auto down = getLow().getDefiningOp<AdapterDownOp>();
  if (!down)
    return emitOpError() << "low is made by no model.adapter_down";
  if (down.getPlaces() != getPlaces() || down.getCounts() != getCounts() ||
      down.getRanks() != getRanks())
    return emitOpError() << "low is of other places, counts or ranks";
  if (!isa_and_nonnull<LinearOp, AdapterUpOp>(getBase().getDefiningOp()) ||
      !getBase().hasOneUse())
    return emitOpError() << "base is not made by model.linear or "
                            "model.adapter_up for this op alone";
  const int64_t offset = getOffset();
  if (offset < 0 || offset % kRankUnit ||
      offset + outputs > shapeOf(getBase())[1])
    return emitOpError() << "offset is " << offset
                         << ", expected a multiple of " << kRankUnit << " with "
                         << outputs << " elements behind it";
  return success();
}

LogicalResult TokenMaskOp::verify() {
  ArrayRef<int64_t> masks = shapeOf(getResult());
  if (failed(expectBatch(*this)) ||
      failed(expectShape(*this, "sampling", getSampling(),
                         {kOutputs, kSamplingWords})))
    return failure();
  if (masks.size() != 2 || masks[0] != kOutputs || isSymbol(masks[1]))
    return emitOpError() << "the result has shape " << text(masks)
                         << ", expected [outputs, words]";
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"sampling", getSampling()},
        {"the result", getResult()}})
    if (!typeOf(value).getElementType().isInteger(32))
      return emitOpError() << name << " is not i32";
  return success();
}

LogicalResult SampleOp::verify() {
  if (failed(expectBatch(*this)))
    return failure();
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  if (logits.size() != 2 || logits[0] != kOutputs || isSymbol(logits[1]))
    return emitOpError() << "logits have shape " << text(logits)
                         << ", expected [outputs, vocabulary]";
  if (failed(expectFloat32(*this, "the logits", getLogits())) ||
      failed(expectShape(*this, "sampling", getSampling(),
                         {kOutputs, kSamplingWords})) ||
      failed(expectRank(*this, "changes", getChanges(), 1)) ||
      failed(expectStatic(*this, "changes", getChanges())) ||
      failed(expectShape(*this, "masks", getMasks(),
                         {kOutputs, maskWords(logits[1])})) ||
      failed(expectShape(*this, "the result", getResult(),
                         {kOutputs, kDrawWords})))
    return failure();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"sampling is", getSampling()},
        {"changes are", getChanges()},
        {"the result is", getResult()}})
    if (!typeOf(value).getElementType().isInteger(32))
      return emitOpError() << name << " not i32";
  if (!getMasks().getDefiningOp<TokenMaskOp>())
    return emitOpError() << "masks are made by no model.token_mask";
  return success();
}
