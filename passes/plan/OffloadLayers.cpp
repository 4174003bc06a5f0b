//===- OffloadLayers.cpp - layers come from a file while a step runs ------===//

#include "passes/plan/Passes.h"

#include "runtime/layer_arrival.h"

namespace baton::tasks {
#define GEN_PASS_DEF_OFFLOADLAYERS
#include "passes/plan/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton;
using namespace baton::event;

namespace {

struct OffloadLayers
    : public baton::tasks::impl::OffloadLayersBase<OffloadLayers> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      SmallVector<SegmentOp> stacks;
      for (auto segment : program.getBody().getOps<SegmentOp>())
        if (segment.getRepeat() > 1)
          stacks.push_back(segment);
      if (stacks.empty()) {
        program.emitError("no layers repeat, of which some could be in a file "
                          "while others run");
        return signalPassFailure();
      }
      BufferOp arrival =
          makeIntegers(program, stacks.front(), layer_arrival_buffer,
                       layer_arrival_words, BufferKind::persistent);
      arrival.setCarry(Carry::kept);
      // One for all stacks, so that all layers come in order.
      BufferOp arrived = makeIntegers(program, stacks.front(), "layer_arrived",
                                      1, BufferKind::transient);
      for (SegmentOp stack : stacks)
        offload(stack, arrival, arrived);
    }
  }

private:
  BufferOp makeIntegers(ProgramOp program, SegmentOp stack, StringRef name,
                        int64_t size, BufferKind kind);
  void offload(SegmentOp stack, BufferOp arrival, BufferOp arrived);
};

} // namespace

/// A buffer before the program's first segment.
BufferOp OffloadLayers::makeIntegers(ProgramOp program, SegmentOp stack,
                                     StringRef name, int64_t size,
                                     BufferKind kind) {
  SymbolTable symbols(program);
  OpBuilder builder(*program.getBody().getOps<SegmentOp>().begin());
  OperationState state(stack.getLoc(), BufferOp::getOperationName());
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("kind", BufferKindAttr::get(program.getContext(), kind));
  state.addAttribute("element", TypeAttr::get(builder.getI32Type()));
  state.addAttribute(
      "extents", AffineMapAttr::get(AffineMap::get(
                     0, kStepSymbols, builder.getAffineConstantExpr(size))));
  state.addAttribute("capacity", builder.getDenseI64ArrayAttr({size}));
  state.addAttribute("strides", builder.getDenseI64ArrayAttr({1}));
  auto buffer = cast<BufferOp>(builder.create(state));
  symbols.insert(buffer);
  return buffer;
}

/// Whether a task reads what layers have of their own.
static bool readsLayer(PhaseOp phase) {
  for (auto call : phase.getBody().getOps<CallOp>())
    for (Attribute operand : call.getOperands_())
      if (auto weight = dyn_cast<WeightAttr>(operand))
        if (SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
                phase, weight.getParameter())
                .getLayers() > 1)
          return true;
  return llvm::any_of(phase.getAccessAttrs(), [&](AccessAttr access) {
    return SymbolTable::lookupNearestSymbolFrom<BufferOp>(phase,
                                                          access.getBuffer())
               .getKind() == BufferKind::state;
  });
}

void OffloadLayers::offload(SegmentOp stack, BufferOp arrival,
                            BufferOp arrived) {
  MLIRContext *context = stack.getContext();
  Builder builder(context);
  auto constants = [&](int64_t coordinates, int64_t value) {
    return AffineMap::get(coordinates, kStepSymbols,
                          builder.getAffineConstantExpr(value));
  };
  auto access = [&](bool write, BufferOp buffer, int64_t coordinates,
                    int64_t size) {
    return AccessAttr::get(
        context, write, FlatSymbolRefAttr::get(buffer.getSymNameAttr()),
        constants(coordinates, 0), constants(coordinates, size));
  };
  for (auto phase : stack.getBody().getOps<PhaseOp>()) {
    if (!readsLayer(phase))
      continue;
    auto accesses = llvm::to_vector(phase.getAccesses());
    accesses.push_back(access(false, arrived, phase.getMapRank(), 1));
    phase.setAccessesAttr(builder.getArrayAttr(accesses));
  }

  auto inside = OpBuilder::atBlockBegin(&stack.getBody().front());
  auto one = constants(0, 1);
  auto phase = inside.create<PhaseOp>(
      stack.getLoc(), builder.getStringAttr(stack.getName() + ".arrival"),
      AffineMapAttr::get(one), builder.getDenseI64ArrayAttr({1}),
      builder.getArrayAttr({access(false, arrival, 1, layer_arrival_words),
                            access(true, arrived, 1, 1)}),
      builder.getArrayAttr({}), NotifyAttr(),
      DistributionAttr::get(context, Distribution::blocked),
      /*separate=*/DenseI64ArrayAttr(), /*prefetch=*/IntegerAttr(),
      /*ahead=*/UnitAttr(), /*condition=*/ConditionAttr());
  phase.getBody().emplaceBlock();
  auto address = [&](BufferOp buffer) -> Attribute {
    return AddressAttr::get(context,
                            FlatSymbolRefAttr::get(buffer.getSymNameAttr()),
                            constants(1, 0));
  };
  OpBuilder::atBlockBegin(&phase.getBody().front())
      .create<CallOp>(
          stack.getLoc(), builder.getStringAttr("layer_arrival"),
          builder.getArrayAttr({address(arrived), address(arrival)}),
          /*invariant=*/UnitAttr());
}
