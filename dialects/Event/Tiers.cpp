//===- Tiers.cpp - phases that move layers between tiers of memory --------===//

#include "dialects/Event/Tiers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace baton::event;

static constexpr llvm::StringLiteral kTier = "event.tier", kMove = "move",
                                     kTensors = "tensors", kSlots = "slots";

std::optional<Tier> baton::event::tierOf(PhaseOp phase) {
  auto entries =
      dyn_cast_or_null<DictionaryAttr>(phase->getDiscardableAttr(kTier));
  if (!entries)
    return std::nullopt;
  auto move = entries.getAs<StringAttr>(kMove);
  auto tensors = entries.getAs<ArrayAttr>(kTensors);
  auto slots = entries.getAs<FlatSymbolRefAttr>(kSlots);
  if (!move || (move != "fetch" && move != "release") || !tensors || !slots ||
      !llvm::all_of(tensors, llvm::IsaPred<FlatSymbolRefAttr>))
    return std::nullopt;
  return Tier{move == "fetch", tensors, slots};
}

bool baton::event::isTier(PhaseOp phase) { return phase->hasAttr(kTier); }

void baton::event::setTier(PhaseOp phase, const Tier &tier) {
  Builder builder(phase.getContext());
  phase->setDiscardableAttr(
      kTier,
      builder.getDictionaryAttr(
          {builder.getNamedAttr(kMove, builder.getStringAttr(tier.getMove())),
           builder.getNamedAttr(kTensors, tier.tensors),
           builder.getNamedAttr(kSlots, tier.slots)}));
}

static BufferOp bufferOf(PhaseOp phase, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<BufferOp>(phase, name);
}

static LogicalResult verifySlots(PhaseOp phase, const Tier &tier) {
  BufferOp slots = bufferOf(phase, tier.slots);
  if (!slots || slots.getKind() != BufferKind::persistent ||
      llvm::any_of(slots.getCapacity(),
                   [](int64_t capacity) { return capacity != 1; }))
    return phase.emitOpError()
           << "has slots " << tier.slots
           << ", expected a persistent buffer of one element";
  for (AccessAttr access : phase.getAccessAttrs())
    if (access.getWrite() && access.getBuffer() == tier.slots &&
        access.getMay() != tier.fetches)
      return success();
  return phase.emitOpError()
         << "is to " << tier.getMove() << " and does not state that it "
         << (tier.fetches ? "writes " : "may write ") << tier.slots;
}

LogicalResult baton::event::verifyTier(PhaseOp phase) {
  std::optional<Tier> tier = tierOf(phase);
  if (!tier)
    return phase.emitOpError()
           << "has an event.tier that is no {move = \"fetch\" or \"release\", "
              "slots = @NAME, tensors = [@NAME, ...]}";
  auto segment = cast<SegmentOp>(phase->getParentOp());
  if (!phase.getBody().front().empty())
    return phase.emitOpError() << "moves tensors and has a body";
  for (AffineExpr extent : phase.getGrid().getResults())
    if (extent != getAffineConstantExpr(1, phase.getContext()))
      return phase.emitOpError()
             << "moves tensors in a grid of more or less than one task";
  if (segment.getRepeat() == 1)
    return phase.emitOpError()
           << "moves tensors in a segment that is not repeated";
  if (failed(verifySlots(phase, *tier)))
    return failure();
  llvm::SmallPtrSet<Attribute, 16> moved;
  for (FlatSymbolRefAttr tensor : tier->getBuffers()) {
    BufferOp buffer = bufferOf(phase, tensor);
    const bool hasCopies = buffer && !buffer.getRing() &&
                           (buffer.getKind() == BufferKind::transient ||
                            buffer.getKind() == BufferKind::persistent) &&
                           buffer.getLayers() == uint64_t(segment.getRepeat());
    if (!hasCopies)
      return phase.emitOpError()
             << "moves " << tensor
             << ", expected a buffer of one copy for each "
             << "of " << segment.getRepeat() << " iterations";
    if (!moved.insert(tensor).second)
      return phase.emitOpError() << "moves " << tensor << " twice";
  }
  for (auto other : segment.getBody().getOps<PhaseOp>()) {
    bool touches = false, reads = false;
    for (AccessAttr access : other.getAccessAttrs()) {
      touches |= moved.contains(access.getBuffer());
      reads |= !access.getWrite() && access.getBuffer() == tier->slots;
    }
    if (touches && !reads)
      return phase.emitOpError()
             << "moves what phase '" << other.getName()
             << "' touches, which does not read " << tier->slots;
  }
  return success();
}
