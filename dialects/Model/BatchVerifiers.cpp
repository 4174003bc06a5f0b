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
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"k", getK()}, {"v", getV()}})
    if (!value.getDefiningOp<PagedAppendOp>())
      return emitOpError() << name << " is made by no model.paged_append";
  Stored keys = getK().getDefiningOp<PagedAppendOp>().getStored(),
         values = getV().getDefiningOp<PagedAppendOp>().getStored();
  if (keys != values)
    return emitOpError() << "k is stored as " << stringifyStored(keys)
                         << " and v as " << stringifyStored(values);
  if (failed(expectIndices(*this, "positions", getPositions())) ||
      failed(expectIndices(*this, "sequences", getSequences())) ||
      failed(expectRank(*this, "pages", getPages(), 1)) ||
      failed(expectStatic(*this, "pages", getPages())))
    return failure();
  if (!typeOf(getPages()).getElementType().isInteger(32))
    return emitOpError() << "pages are not i32";
  return success();
}

LogicalResult SampleOp::verify() {
  std::optional<uint64_t> sequences =
      (*this)->getParentOfType<ProgramOp>().getBatch();
  if (!sequences)
    return emitOpError() << "stands outside a batch";
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
                         {int64_t(*sequences) * maskWords(logits[1])})) ||
      failed(expectShape(*this, "the result", getResult(),
                         {kOutputs, kDrawWords})))
    return failure();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"sampling is", getSampling()},
        {"changes are", getChanges()},
        {"masks are", getMasks()},
        {"the result is", getResult()}})
    if (!typeOf(value).getElementType().isInteger(32))
      return emitOpError() << name << " not i32";
  return success();
}
