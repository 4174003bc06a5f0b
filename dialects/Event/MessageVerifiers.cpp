//===- MessageVerifiers.cpp - what messages between ranks promise ---------===//

#include "dialects/Event/Event.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace baton::event;

static LogicalResult verifyTensor(MessageOp op, Attribute tensor) {
  auto name = dyn_cast<FlatSymbolRefAttr>(tensor);
  BufferOp buffer =
      name ? SymbolTable::lookupNearestSymbolFrom<BufferOp>(op, name)
           : BufferOp();
  if (!buffer || buffer.getKind() == BufferKind::input)
    return op.emitOpError()
           << tensor << " is no buffer that tasks read and write";
  ArrayRef<AffineExpr> extents = buffer.getExtents().getResults();
  if (extents.size() > 2 || buffer.getLayers() != 1 ||
      (extents.size() == 2 && !isa<AffineConstantExpr>(extents.back())))
    return op.emitOpError()
           << "moves " << name << ", expected rows of one length, in one copy";
  return success();
}

LogicalResult MessageOp::verify() {
  auto phase = cast<PhaseOp>((*this)->getParentOp());
  auto meshes = phase->getParentOfType<ProgramOp>().getBody().getOps<MeshOp>();
  if (meshes.empty())
    return emitOpError() << "needs a mesh, and the program has none";
  Attribute axis = getAxisAttr();
  int64_t ranks =
      (*meshes.begin()).countRanks(ArrayAttr::get(getContext(), axis));
  if (ranks == 0)
    return emitOpError() << "is over " << axis
                         << ", which is no axis of the mesh";
  if (ranks == 1)
    return emitOpError() << "is over " << axis << ", a single rank";
  if (!llvm::hasSingleElement(phase.getBody().front()))
    return emitOpError() << "does not stand alone in phase '" << phase.getName()
                         << "'";
  for (AffineExpr extent : phase.getGrid().getResults())
    if (extent != getAffineConstantExpr(1, getContext()))
      return emitOpError() << "stands in a grid of more or less than one task";
  if (cast<SegmentOp>(phase->getParentOp()).getRepeat() != 1)
    return emitOpError() << "stands in a segment that is repeated";
  if (getTensors().empty())
    return emitOpError() << "moves no tensor";
  llvm::SmallPtrSet<Attribute, 4> seen;
  for (Attribute tensor : getTensors()) {
    if (failed(verifyTensor(*this, tensor)))
      return failure();
    if (!seen.insert(tensor).second)
      return emitOpError() << "moves " << tensor << " twice";
  }
  return success();
}
