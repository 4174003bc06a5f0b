//===- ProgramEmitter.cpp - the persistent kernel's step loop -------------===//
//
//     for (t = 0;; ++t) {
//       step = steps[t & 1]; if (!step.rows) return;
//       for each segment, iteration, phase:
//         phase(this worker's share of its tiles); observe();
//       bases += what every event word got in this step;
//       border();
//     }
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/ProgramEmitter.h"
#include "codegen/cpu/AffineExpressions.h"
#include "codegen/cpu/ControlFlow.h"

using namespace llvm;
using namespace baton;
using namespace baton::cpu;
using namespace baton::event;

namespace {

class ProgramEmitter {
public:
  ProgramEmitter(const Emission &emission, ProgramOp program, StringRef symbol)
      : emission(emission), types(emission.types), program(program),
        symbol(symbol), builder(emission.module.getContext()) {}

  Error emit();

private:
  void emitEntry();
  void emitStep(Value *number);
  void emitSegment(SegmentOp segment);
  void emitPhaseCall(PhaseOp phase, Value *iteration);
  void emitObservation(PhaseOp phase, Value *iteration);
  void emitBaseUpdate(const plan::ProgramLayout::EventTensor &tensor);
  void emitTicketUpdate(PhaseOp phase);
  std::pair<Value *, Value *> emitTiles(PhaseOp phase);
  Value *emitAtLeast(Value *value, int64_t least) {
    return builder.CreateBinaryIntrinsic(Intrinsic::smax, value,
                                         builder.getInt64(least));
  }

  /// Address of field `field` of the context.
  Value *contextField(unsigned field) {
    return builder.CreateStructGEP(types.context, context, field);
  }
  Value *loadContext(unsigned field, const Twine &name) {
    return builder.CreateLoad(builder.getPtrTy(), contextField(field), name);
  }
  Value *stepSlot(Value *number, const Twine &name) {
    Value *slot = builder.CreateAnd(number, builder.getInt32(1));
    return builder.CreateInBoundsGEP(
        types.context, context,
        {builder.getInt32(0), builder.getInt32(ProgramTypes::Steps), slot},
        name);
  }
  Value *loadSymbol(unsigned field, const Twine &name) {
    Value *value = builder.CreateLoad(
        builder.getInt32Ty(), builder.CreateStructGEP(types.step, step, field));
    return builder.CreateZExt(value, builder.getInt64Ty(), name);
  }
  AffineOperands operands() const { return {{}, symbols}; }

  const Emission &emission;
  const ProgramTypes &types;
  ProgramOp program;
  StringRef symbol;
  IRBuilder<> builder;

  Function *border = nullptr;
  struct EmittedPhase {
    Function *function;
    /// What `observe` is told.
    uint32_t rank;
  };
  DenseMap<mlir::Operation *, EmittedPhase> phases;

  // Values of the whole call.
  Value *context = nullptr;
  Value *workerIndex = nullptr;
  Value *workerCount = nullptr;
  Value *worker = nullptr;
  Value *bases = nullptr;

  // Values of the current step.
  Value *step = nullptr;
  Value *next = nullptr;
  SmallVector<Value *, kStepSymbols> symbols;
};

} // namespace

Error ProgramEmitter::emit() {
  Expected<Function *> declared =
      declareSynchronization(emission, "baton_border");
  if (!declared)
    return declared.takeError();
  border = *declared;
  for (PhaseOp phase : phasesOf(program)) {
    uint32_t rank = emission.layout.firstPhase + phases.size();
    Expected<Function *> function = emitPhase(emission, phase, rank);
    if (!function)
      return function.takeError();
    phases[phase] = {*function, rank};
  }

  Function *function = Function::Create(
      types.program, GlobalValue::ExternalLinkage, symbol, emission.module);
  function->setDoesNotThrow();
  context = function->getArg(0);
  context->setName("context");
  function->getArg(1)->setName("worker");
  function->getArg(2)->setName("workers");
  builder.SetInsertPoint(
      BasicBlock::Create(builder.getContext(), "entry", function));
  emitEntry();

  BasicBlock *entry = builder.GetInsertBlock();
  auto *head = BasicBlock::Create(builder.getContext(), "step", function);
  auto *body = BasicBlock::Create(builder.getContext(), "step.body", function);
  auto *exit = BasicBlock::Create(builder.getContext(), "exit", function);
  builder.CreateBr(head);

  builder.SetInsertPoint(head);
  PHINode *number = builder.CreatePHI(builder.getInt32Ty(), 2, "number");
  number->addIncoming(builder.getInt32(0), entry);
  step = stepSlot(number, "current");
  symbols = {loadSymbol(ProgramTypes::Rows, "rows"),
             loadSymbol(ProgramTypes::Past, "past"),
             loadSymbol(ProgramTypes::Outputs, "outputs")};
  builder.CreateCondBr(
      builder.CreateICmpEQ(symbols[kRows], builder.getInt64(0)), exit, body);

  builder.SetInsertPoint(body);
  Value *successor = builder.CreateAdd(number, builder.getInt32(1));
  next = stepSlot(successor, "next");
  emitStep(successor);
  number->addIncoming(successor, builder.GetInsertBlock());
  builder.CreateBr(head);

  builder.SetInsertPoint(exit);
  builder.CreateRetVoid();
  return Error::success();
}

/// What does not change from step to step.
void ProgramEmitter::emitEntry() {
  Function *function = builder.GetInsertBlock()->getParent();
  workerIndex = builder.CreateZExt(function->getArg(1), builder.getInt64Ty(),
                                   "worker.index");
  workerCount = builder.CreateZExt(function->getArg(2), builder.getInt64Ty(),
                                   "worker.count");
  worker = builder.CreateInBoundsGEP(
      types.worker, loadContext(ProgramTypes::Workers, "states"), workerIndex,
      "state");
  bases = builder.CreateLoad(
      builder.getPtrTy(),
      builder.CreateStructGEP(types.worker, worker, ProgramTypes::Bases),
      "bases");
}

/// All of a step but reading it; `successor` is the number of the next one.
void ProgramEmitter::emitStep(Value *successor) {
  for (auto segment : program.getBody().getOps<SegmentOp>())
    emitSegment(segment);
  for (const auto &[name, tensor] : emission.layout.events)
    emitBaseUpdate(tensor);
  for (PhaseOp phase : phasesOf(program))
    emitTicketUpdate(phase);
  Value *workers = builder.CreateTrunc(workerCount, builder.getInt32Ty());
  builder.CreateCall(border, {contextField(ProgramTypes::Border), workers,
                              builder.CreateMul(successor, workers)});
}

void ProgramEmitter::emitSegment(SegmentOp segment) {
  auto emitIteration = [&](Value *iteration) {
    for (auto phase : segment.getBody().getOps<PhaseOp>()) {
      emitPhaseCall(phase, iteration);
      emitObservation(phase, iteration);
    }
  };
  if (segment.getRepeat() == 1)
    return emitIteration(builder.getInt64(0));
  // A stack of layers stays rolled: code does not grow with depth.
  emitLoop(builder, "iteration", builder.getInt64(0),
           builder.getInt64(segment.getRepeat()), builder.getInt64(1),
           emitIteration, Unrolling::Forbidden);
}

/// How many tiles the phase's grid has, and how many of them agree in the first
/// coordinate. A negative extent is an empty grid.
std::pair<Value *, Value *> ProgramEmitter::emitTiles(PhaseOp phase) {
  SmallVector<Value *> extents =
      emitAffine(builder, phase.getGrid(), operands());
  Value *columns = builder.getInt64(1);
  for (Value *extent : drop_begin(extents, extents.empty() ? 0 : 1))
    columns = builder.CreateMul(columns, emitAtLeast(extent, 0));
  Value *tiles =
      extents.empty()
          ? columns
          : builder.CreateMul(emitAtLeast(extents.front(), 0), columns);
  return {tiles, columns};
}

/// Calls the phase's function for this worker's share of the grid: a run of
/// consecutive tiles, every tile of one residue, or those that it will take.
void ProgramEmitter::emitPhaseCall(PhaseOp phase, Value *iteration) {
  auto positive = [&](Value *value, int64_t least = 0) {
    return emitAtLeast(value, least);
  };
  auto [tiles, columns] = emitTiles(phase);
  Value *first, *last, *stride;
  if (phase.getDistribution() == Distribution::ticket) {
    first = builder.getInt64(0);
    last = tiles;
    stride = builder.getInt64(1);
  } else if (phase.getDistribution() == Distribution::blocked) {
    auto [rowsExpression, size] = phase.getRowTiles();
    Value *rows = positive(emitAffine(builder, rowsExpression, operands()));
    Value *work = builder.CreateMul(rows, columns);
    // The tile nearest to where this share of all rows of all tiles begins.
    auto bound = [&, columns = columns,
                  size = builder.getInt64(size)](Value *index) {
      Value *share =
          builder.CreateUDiv(builder.CreateMul(index, work), workerCount);
      Value *row = builder.CreateUDiv(
          share, builder.CreateMul(size, positive(columns, 1)));
      Value *rowsBefore = builder.CreateMul(row, size);
      Value *left = builder.CreateSub(rows, rowsBefore);
      Value *height = positive(
          builder.CreateBinaryIntrinsic(Intrinsic::smin, left, size), 1);
      Value *rest =
          builder.CreateSub(share, builder.CreateMul(rowsBefore, columns));
      Value *nearest = builder.CreateUDiv(
          builder.CreateAdd(rest, builder.CreateLShr(height, 1)), height);
      return builder.CreateAdd(builder.CreateMul(row, columns), nearest);
    };
    first = bound(workerIndex);
    last = bound(builder.CreateAdd(workerIndex, builder.getInt64(1)));
    stride = builder.getInt64(1);
  } else {
    first = workerIndex;
    last = tiles;
    stride = workerCount;
  }
  SmallVector<Value *, kPhaseParameters> arguments = {
      context,           worker,    step,  next, symbols[kRows], symbols[kPast],
      symbols[kOutputs], iteration, first, last, stride};
  builder.CreateCall(phases.at(phase).function, arguments);
}

void ProgramEmitter::emitObservation(PhaseOp phase, Value *iteration) {
  Value *observe = loadContext(ProgramTypes::Observe, "observe");
  emitIf(builder, "observed", builder.CreateIsNotNull(observe), [&] {
    builder.CreateCall(types.observe, observe,
                       {context, builder.getInt32(phases.at(phase).rank),
                        builder.CreateTrunc(iteration, builder.getInt32Ty()),
                        step});
  });
}

/// Thresholds are running sums: every word in use this step has grown by
/// repeat * count, which this worker adds to its own record.
void ProgramEmitter::emitBaseUpdate(
    const plan::ProgramLayout::EventTensor &tensor) {
  if (!tensor.notifier)
    return;
  TensorOp op = tensor.op;
  SegmentOp notifier = tensor.notifier;
  Value *count = emitAffine(builder, op.getCount().getResult(0), operands());
  Value *growth = builder.CreateTrunc(
      builder.CreateMul(count, builder.getInt64(notifier.getRepeat())),
      builder.getInt32Ty());
  SmallVector<Value *> high = emitAffine(builder, op.getShape(), operands());
  SmallVector<Value *> low(high.size(), builder.getInt64(0));
  Value *first = builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), bases,
                                                    tensor.firstWord);
  emitLoopNest(builder, "word", low, high, [&](ArrayRef<Value *> index) {
    Value *base = builder.CreateInBoundsGEP(
        builder.getInt32Ty(), first,
        emitRowMajorIndex(builder, index, op.getCapacity()));
    Value *old = builder.CreateLoad(builder.getInt32Ty(), base);
    builder.CreateStore(builder.CreateAdd(old, growth), base);
  });
}

/// Each worker has taken one ticket behind the last one, in each iteration. All
/// have, as they meet at the border.
void ProgramEmitter::emitTicketUpdate(PhaseOp phase) {
  auto ticket = emission.layout.tickets.find(phase);
  if (ticket == emission.layout.tickets.end())
    return;
  Value *base = builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), bases,
                                                   ticket->second);
  Value *growth = builder.CreateTrunc(
      builder.CreateAdd(emitTiles(phase).first, workerCount),
      builder.getInt32Ty());
  builder.CreateStore(
      builder.CreateAdd(builder.CreateLoad(builder.getInt32Ty(), base), growth),
      base);
}

Error baton::cpu::emitProgram(const Emission &emission, ProgramOp program,
                              StringRef symbol) {
  return ProgramEmitter(emission, program, symbol).emit();
}
