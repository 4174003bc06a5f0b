//===- PlanRankMessages.cpp - the part of the proof about messages --------===//
//
// A message moves what its phase states: all rows that its tensors have in the
// step. In which order ranks send and receive is proved of the tables by which
// they run programs (dist.schedule).
//
//===----------------------------------------------------------------------===//

#include "passes/proof/PlanMessages.h"
#include "passes/proof/PlanVerifier.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

LogicalResult PlanVerifier::verifyMessage(PhaseOp phase, MessageOp message) {
  for (FlatSymbolRefAttr name : message.getBuffers()) {
    BufferOp buffer = plan.lookUpBuffer(name);
    if (buffer.getStrides().size() == 2 && buffer.getStrides()[1] != 1)
      return message.emitError()
             << "moves " << name
             << ", whose rows' elements do not lie behind one another";
    unsigned rank = buffer.getExtents().getNumResults();
    Conjunction all(0, rank);
    requireSymbols(all, program);
    if (!requireInside(all, buffer.getExtents(), columnsFrom(0, rank)))
      return failure();
    Relation open(all);
    for (AccessAttr access : phase.getAccessAttrs())
      if (access.getWrite() != message.sends() && access.getBuffer() == name)
        open = open.subtract(touched(phase, access, 0));
    if (auto point = open.sample())
      return message.emitError()
             << (message.sends() ? "sends " : "receives ") << name
             << ", but phase '" << phase.getName() << "' states no "
             << (message.sends() ? "read" : "write") << " of " << name
             << tupleText(point->range) << "; for example with "
             << symbolNames(point->symbols);
  }
  return success();
}
