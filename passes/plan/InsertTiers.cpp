//===- InsertTiers.cpp - layers that are fetched and released -------------===//
//
// What the tasks say is all in their accesses to `slots`, a ring that has a
// number for each layer that may be in memory. A fetch writes the number, the
// layer's tasks read it, and the release may write it, which leaves nothing
// there to read. So no task of a layer can stand outside of its fetch and its
// release, and the fetch of a layer waits for the release of the one before.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Passes.h"

#include "dialects/Event/Tiers.h"

#include "llvm/ADT/SetVector.h"

namespace baton::tasks {
#define GEN_PASS_DEF_INSERTTIERS
#include "passes/plan/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton::event;

namespace {

struct InsertTiers : public baton::tasks::impl::InsertTiersBase<InsertTiers> {
  using InsertTiersBase::InsertTiersBase;

  void runOnOperation() override {
    if (slots < 1) {
      getOperation().emitError()
          << "insert-tiers: slots is " << slots << ", expected 1 or more";
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<ProgramOp>())
      insert(program);
  }

private:
  using Tensors = llvm::SmallSetVector<Attribute, 16>;

  void insert(ProgramOp program);
  Tensors tensorsOf(SegmentOp segment,
                    const llvm::DenseMap<Attribute, BufferOp> &buffers) const;
};

/// Writes the tasks of one program.
class TierTasks {
public:
  TierTasks(ProgramOp program, BufferOp slots)
      : context(program.getContext()), slots(slots) {}

  /// Around the segment's phases.
  void surround(SegmentOp segment, ArrayRef<Attribute> tensors) {
    Block &block = segment.getBody().front();
    for (auto phase : segment.getBody().getOps<PhaseOp>())
      if (llvm::any_of(phase.getAccessAttrs(), [&](AccessAttr access) {
            return llvm::is_contained(tensors, access.getBuffer());
          }))
        readSlot(phase);
    add(segment, /*fetches=*/true, tensors, OpBuilder::atBlockBegin(&block));
    add(segment, /*fetches=*/false, tensors, OpBuilder::atBlockEnd(&block));
  }

private:
  AffineMap constantMap(unsigned dimensions, int64_t value) const {
    return AffineMap::get(dimensions, kStepSymbols,
                          getAffineConstantExpr(value, context), context);
  }

  AccessAttr accessTo(unsigned dimensions, bool write, bool may) const {
    return AccessAttr::get(context, write, FlatSymbolRefAttr::get(slots),
                           constantMap(dimensions, 0),
                           constantMap(dimensions, 1), /*beyond=*/0, may,
                           FlatSymbolRefAttr());
  }

  void readSlot(PhaseOp phase) {
    SmallVector<Attribute> accesses(phase.getAccesses().getValue());
    accesses.push_back(
        accessTo(phase.getMapRank(), /*write=*/false, /*may=*/false));
    phase.setAccessesAttr(ArrayAttr::get(context, accesses));
  }

  void add(SegmentOp segment, bool fetches, ArrayRef<Attribute> tensors,
           OpBuilder builder) {
    const Tier tier = {fetches, builder.getArrayAttr(tensors),
                       FlatSymbolRefAttr::get(slots)};
    auto phase = builder.create<PhaseOp>(
        segment.getLoc(),
        builder.getStringAttr((segment.getName() + "." + tier.getMove()).str()),
        AffineMapAttr::get(constantMap(0, 1)),
        builder.getDenseI64ArrayAttr({1}),
        builder.getArrayAttr({accessTo(1, /*write=*/true, /*may=*/!fetches)}),
        builder.getArrayAttr({}), NotifyAttr(),
        DistributionAttr::get(context, Distribution::blocked),
        /*separate=*/DenseI64ArrayAttr(), /*prefetch=*/IntegerAttr(),
        /*ahead=*/UnitAttr(), /*condition=*/ConditionAttr());
    phase.getBody().emplaceBlock();
    setTier(phase, tier);
  }

  MLIRContext *context;
  BufferOp slots;
};

} // namespace

InsertTiers::Tensors InsertTiers::tensorsOf(
    SegmentOp segment,
    const llvm::DenseMap<Attribute, BufferOp> &buffers) const {
  Tensors tensors;
  for (auto phase : segment.getBody().getOps<PhaseOp>())
    for (AccessAttr access : phase.getAccessAttrs()) {
      BufferOp buffer = buffers.lookup(access.getBuffer().getAttr());
      const bool isMoved = (buffer.getKind() == BufferKind::transient ||
                            buffer.getKind() == BufferKind::persistent) &&
                           !buffer.getRing() && segment.getRepeat() > 1 &&
                           buffer.getLayers() == uint64_t(segment.getRepeat());
      const int64_t bytes = buffer.getElement().getIntOrFloatBitWidth() / 8;
      if (isMoved && (*buffer.getSpan() + 1) * bytes >= smallest)
        tensors.insert(access.getBuffer());
    }
  return tensors;
}

void InsertTiers::insert(ProgramOp program) {
  llvm::DenseMap<Attribute, BufferOp> buffers;
  for (auto buffer : program.getBody().getOps<BufferOp>())
    buffers[buffer.getSymNameAttr()] = buffer;
  SmallVector<std::pair<SegmentOp, Tensors>> moved;
  llvm::DenseSet<Attribute> all;
  int64_t longest = 0;
  for (auto segment : program.getBody().getOps<SegmentOp>()) {
    Tensors tensors = tensorsOf(segment, buffers);
    if (tensors.empty())
      continue;
    all.insert(tensors.begin(), tensors.end());
    longest = std::max<int64_t>(longest, segment.getRepeat());
    moved.emplace_back(segment, std::move(tensors));
  }
  numTensors += all.size();
  if (moved.empty())
    return;
  SymbolTable symbols(program);
  OpBuilder builder(*program.getBody().getOps<SegmentOp>().begin());
  const int64_t copies = std::min<int64_t>(slots, longest);
  AffineMap one = AffineMap::get(
      0, kStepSymbols, builder.getAffineConstantExpr(1), program.getContext());
  auto buffer = builder.create<BufferOp>(
      program.getLoc(), builder.getStringAttr("slots"),
      BufferKindAttr::get(program.getContext(), BufferKind::persistent),
      TypeAttr::get(builder.getF32Type()), AffineMapAttr::get(one),
      builder.getDenseI64ArrayAttr({1}), builder.getDenseI64ArrayAttr({1}),
      FlatSymbolRefAttr(), builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(copies), builder.getI64IntegerAttr(0),
      copies > 1 ? builder.getUnitAttr() : UnitAttr(),
      builder.getI64IntegerAttr(1), builder.getI64IntegerAttr(1),
      FlatSymbolRefAttr(), builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(0), CarryAttr(), IntegerAttr(),
      DictionaryAttr());
  symbols.insert(buffer);
  TierTasks tasks(program, buffer);
  for (auto &[segment, tensors] : moved)
    tasks.surround(segment, tensors.getArrayRef());
  buffer.setWriters(buffer.countWriters());
}
