//===- BatchVerifiers.cpp - what ops of several sequences' steps expect ---===//

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton::model;

LogicalResult PagedAppendOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 3)) ||
      failed(expectFloat32(*this, "x", getX())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x[0] != kRows || isSymbol(x[1]) || isSymbol(x[2]))
    return emitOpError() << "x has shape " << text(x)
                         << ", expected [rows, heads, dim]";
  if (getState().empty())
    return emitOpError() << "the state has no name";
  if (failed(expectIndices(*this, "slots", getSlots())))
    return failure();
  return expectTypeOf(*this, "the result", getResult(), "x", getX());
}

LogicalResult PagedAttentionOp::verify() {
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"q", getQ()}, {"k", getK()}, {"v", getV()}})
    if (failed(expectRank(*this, name, value, 3)) ||
        failed(expectFloat32(*this, name, value)))
      return failure();
  ArrayRef<int64_t> q = shapeOf(getQ()), k = shapeOf(getK()),
                    v = shapeOf(getV());
  if (q[0] != kRows || isSymbol(q[1]) || isSymbol(q[2]) || isSymbol(k[1]) ||
      isSymbol(v[2]))
    return emitOpError() << "q, k and v have shapes " << text(q) << ", "
                         << text(k) << " and " << text(v)
                         << ", expected [rows, heads, dim]";
  if (failed(expectShape(*this, "k", getK(), {kRows, k[1], q[2]})) ||
      failed(expectShape(*this, "v", getV(), {kRows, k[1], v[2]})) ||
      failed(
          expectShape(*this, "the result", getResult(), {kRows, q[1], v[2]})) ||
      failed(expectFloat32(*this, "the result", getResult())))
    return failure();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"k", getK()}, {"v", getV()}})
    if (!value.getDefiningOp<PagedAppendOp>())
      return emitOpError() << name << " is made by no model.paged_append";
  if (q[1] % k[1])
    return emitOpError() << q[1] << " query heads are no multiple of " << k[1]
                         << " key/value heads";
  if (getGate() && failed(verifyGate(*this, getGate(), shapeOf(getResult()))))
    return failure();
  if (failed(expectIndices(*this, "positions", getPositions())) ||
      failed(expectIndices(*this, "sequences", getSequences())) ||
      failed(expectRank(*this, "pages", getPages(), 1)) ||
      failed(expectStatic(*this, "pages", getPages())))
    return failure();
  if (!typeOf(getPages()).getElementType().isInteger(32))
    return emitOpError() << "pages are not i32";
  if (getWindowAttr().getInt() < 0)
    return emitOpError() << "window is negative";
  if (failed(expectFinite(*this, "scale", getScale())))
    return failure();
  return expectNotNegative(*this, "softcap", getSoftcap());
}
