//===- PlanChecks.cpp - what makes a plan unfit for code generation -------===//

#include "codegen/plan/PlanChecks.h"

#include "codegen/bodies/TaskCalls.h"
#include "dialects/Event/Tiers.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace llvm;
using namespace baton::event;

namespace {

class PhaseChecker {
public:
  PhaseChecker(PhaseOp phase, const baton::plan::ProgramLayout &layout,
               baton::plan::Signatures signatures)
      : phase(phase), segment(mlir::cast<SegmentOp>(phase->getParentOp())),
        layout(layout), signatures(signatures) {}

  Error check();

private:
  Error checkCall(CallOp call);
  Error checkOperand(mlir::Attribute operand, Type *type);
  Error checkAdvance(AdvanceOp advance);
  Error checkBuffer(BufferOp buffer);
  Error checkLayers(StringRef what, mlir::StringAttr name, int64_t layers);

  BufferOp buffer(mlir::FlatSymbolRefAttr symbol) const {
    return layout.buffers.find(symbol.getAttr())->second;
  }

  PhaseOp phase;
  SegmentOp segment;
  const baton::plan::ProgramLayout &layout;
  baton::plan::Signatures signatures;
};

} // namespace

Error PhaseChecker::check() {
  if (phase.getBody().front().empty() && !phase.getAccesses().empty() &&
      !isTier(phase))
    return createStringError("phase '" + phase.getName() +
                             "' has accesses, and no call that makes them");
  if (auto condition = phase.getCondition())
    if (Error error = checkBuffer(buffer(condition->getBuffer())))
      return error;
  for (AddressAttr entry : phase.getEntryAttrs()) {
    if (Error error = checkBuffer(buffer(entry.getBuffer())))
      return error;
    ProgramOp program = layout.program;
    for (TableOp table : program.getBody().getOps<TableOp>())
      if (table.getBufferAttr() == entry.getBuffer() &&
          none_of(phasesOf(program),
                  [&](PhaseOp other) { return other.writesTable(table); }))
        return createStringError("phase '" + phase.getName() +
                                 "' has entries of @" + table.getBuffer() +
                                 ", which no task writes; the runtime fills no "
                                 "tables yet");
  }
  for (mlir::Operation &op : phase.getBody().front()) {
    if (auto call = mlir::dyn_cast<CallOp>(op)) {
      if (Error error = checkCall(call))
        return error;
    } else if (auto advance = mlir::dyn_cast<AdvanceOp>(op)) {
      if (Error error = checkAdvance(advance))
        return error;
    } else if (auto exchange = mlir::dyn_cast<ExchangeOp>(op)) {
      for (TransferAttr transfer : exchange.getTransfers())
        for (mlir::FlatSymbolRefAttr symbol :
             {transfer.getSend(), transfer.getReceive()})
          if (Error error = checkBuffer(buffer(symbol)))
            return error;
      if (exchange.movesRows())
        for (mlir::Attribute symbol : exchange.getTablesAttr())
          if (Error error = checkBuffer(
                  buffer(mlir::cast<mlir::FlatSymbolRefAttr>(symbol))))
            return error;
    } else if (auto message = mlir::dyn_cast<MessageOp>(op)) {
      for (mlir::FlatSymbolRefAttr symbol : message.getBuffers())
        if (Error error = checkBuffer(buffer(symbol)))
          return error;
    } else {
      return createStringError("phase '" + phase.getName() +
                               "': " + op.getName().getStringRef() +
                               " is no task body");
    }
  }
  return Error::success();
}

Error PhaseChecker::checkLayers(StringRef what, mlir::StringAttr name,
                                int64_t layers) {
  if (layers == 1 || layers >= int64_t(segment.getRepeat()))
    return Error::success();
  return createStringError(what + " @" + name.getValue() + " has " +
                           Twine(layers) + " layers, segment '" +
                           segment.getName() + "' repeats " +
                           Twine(segment.getRepeat()) + " times");
}

Error PhaseChecker::checkBuffer(BufferOp op) {
  if (op.getKind() == BufferKind::input) {
    if (!op.getElement().isInteger(32))
      return createStringError("input @" + op.getSymName() + " holds " +
                               to_string(op.getElement()) +
                               ", but the runtime provides token ids (i32)");
    return Error::success();
  }
  if (!op.getStorage())
    return createStringError("buffer @" + op.getSymName() +
                             " has no storage; run plan-memory first");
  if (op.getRing())
    return Error::success();
  return checkLayers("buffer", op.getSymNameAttr(), op.getLayers());
}

/// Whether `operand` can be passed as `type`.
Error PhaseChecker::checkOperand(mlir::Attribute operand, Type *type) {
  StringRef expected = "a pointer";
  bool fits = type->isPointerTy();
  if (auto address = mlir::dyn_cast<AddressAttr>(operand)) {
    if (Error error = checkBuffer(buffer(address.getBuffer())))
      return error;
  } else if (auto weight = mlir::dyn_cast<WeightAttr>(operand)) {
    ParameterOp op =
        layout.parameters.find(weight.getParameter().getAttr())->second.op;
    if (Error error =
            checkLayers("parameter", op.getSymNameAttr(), op.getLayers()))
      return error;
  } else if (mlir::isa<CountAttr, StrideAttr>(operand)) {
    expected = "i64";
    fits = type->isIntegerTy(64);
  } else if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(operand)) {
    unsigned width = integer.getType().getIntOrFloatBitWidth();
    expected = width == 32 ? "i32" : "i64";
    fits = type->isIntegerTy(width);
  } else if (auto real = mlir::dyn_cast<mlir::FloatAttr>(operand)) {
    bool isDouble = real.getType().isF64();
    expected = isDouble ? "f64" : "f32";
    fits = isDouble ? type->isDoubleTy() : type->isFloatTy();
  }
  if (fits)
    return Error::success();
  return createStringError(
      to_string(operand) + " is " + expected + ", the task library takes " +
      (type->isPointerTy() ? "a pointer" : to_string(*type)));
}

Error PhaseChecker::checkCall(CallOp call) {
  std::string name = ("baton_task_" + call.getCallee()).str();
  std::string where =
      ("phase '" + phase.getName() + "', call '" + call.getCallee() + "'")
          .str();
  // Others are a user's, or another library's: their types have to do.
  auto module = call->getParentOfType<mlir::ModuleOp>();
  bool isUsers = module && module.lookupSymbol<BodyOp>(call.getCallee());
  if (!isUsers && baton::bodies::lookUp(call.getCallee()))
    if (Error error = baton::bodies::checkCall(call))
      return createStringError(where + ": " + toString(std::move(error)));
  FunctionType *type = signatures(name);
  if (!type)
    return createStringError(where + ": the task library has no " + name);
  if (!type->getReturnType()->isVoidTy() || type->isVarArg())
    return createStringError(where + ": " + name + " is no task body");
  mlir::ArrayAttr operands = call.getOperands_();
  if (type->getNumParams() != operands.size())
    return createStringError(where + ": has " + Twine(operands.size()) +
                             " operands, " + name + " takes " +
                             Twine(type->getNumParams()));
  for (auto [index, operand] : enumerate(operands))
    if (Error error = checkOperand(operand, type->getParamType(index)))
      return createStringError(where + ", operand " + Twine(index) + ": " +
                               toString(std::move(error)));
  return Error::success();
}

Error PhaseChecker::checkAdvance(AdvanceOp advance) {
  BufferOp logits = buffer(advance.getLogitsAttr());
  auto fail = [&](const Twine &problem) {
    return createStringError("phase '" + phase.getName() + "', advance of @" +
                             logits.getSymName() + ": " + problem);
  };
  if (logits.getKind() == BufferKind::input ||
      !(logits.getElement().isF32() || logits.getElement().isF64()))
    return fail("logits are computed f32, or f64");
  if (logits.getStrides()[1] != 1)
    return fail("a row of logits must be contiguous");
  if (!mlir::isa<mlir::AffineConstantExpr>(logits.getExtents().getResult(1)))
    return fail("the vocabulary is no constant");
  if (Error error = checkBuffer(logits))
    return fail(toString(std::move(error)));
  return Error::success();
}

bool baton::plan::computesInF64(ProgramOp program) {
  auto compute = program->getAttrOfType<mlir::StringAttr>("event.compute");
  return compute && compute == "f64";
}

Error baton::plan::checkProgram(ProgramOp program) {
  if (!program.getProof())
    return createStringError("program @" + program.getSymName() +
                             " has no proof; run event-verify first");
  if (!program.getBody().getOps<ScheduleOp>().empty())
    return createStringError(
        "program @" + program.getSymName() +
        " has an explicit schedule for one step; code is generated for every "
        "step and number of workers, remove the event.schedule");
  return Error::success();
}

/// Where a state's elements lie; of one in pages, whatever rows a step has.
static auto placesOf(BufferOp state) {
  return std::make_tuple(state.getElement(), state.countPlaces(),
                         state.getCapacity().drop_front(), state.getStrides(),
                         state.getOffset(), state.getLayers(),
                         state.getLayerStride(), state.getInterleave(),
                         state.getInterleaveColumns(), state.getSlotsAttr(),
                         state.getPageStride(), state.getStorageAttr());
}

Error baton::plan::checkTogether(ArrayRef<ProgramLayout> layouts) {
  const ProgramLayout &first = layouts.front();
  auto statesOf = [](const ProgramLayout &layout) {
    SmallVector<BufferOp> states;
    for (auto [name, buffer] : layout.buffers)
      if (buffer.getKind() == BufferKind::state)
        states.push_back(buffer);
    return states;
  };
  for (const ProgramLayout &layout : layouts.drop_front()) {
    ProgramOp one = first.program, other = layout.program;
    auto differ = [&](const Twine &what) {
      return createStringError("programs @" + one.getSymName() + " and @" +
                               other.getSymName() + " differ in " + what +
                               "; they run in the same memory");
    };
    if (one->getAttr("event.batch") != other->getAttr("event.batch"))
      return differ("the sequences that they take");
    // Of several sequences a step has no past, and as many positions as rows.
    if (one.getMaxSeq() != other.getMaxSeq() && !one->hasAttr("event.batch"))
      return differ("max_seq");
    if (one.getMaxRows() <= other.getMaxRows())
      return createStringError("program @" + other.getSymName() +
                               " takes no fewer rows a step than @" +
                               one.getSymName());
    SmallVector<BufferOp> states = statesOf(layout);
    if (states.size() != statesOf(first).size())
      return differ("the number of states");
    for (BufferOp state : states) {
      auto found = first.buffers.find(state.getSymNameAttr());
      if (found == first.buffers.end() ||
          placesOf(found->second) != placesOf(state))
        return differ("state @" + state.getSymName());
    }
  }
  return Error::success();
}

Error baton::plan::checkPhase(PhaseOp phase, const ProgramLayout &layout,
                              Signatures signatures) {
  return PhaseChecker(phase, layout, signatures).check();
}
