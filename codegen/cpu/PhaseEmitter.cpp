//===- PhaseEmitter.cpp - a phase as one function -------------------------===//
//
//     for (tile = first; tile < last; tile += stride) {
//       coordinates of tile;
//       if the first awaited word is not there yet: prefetch weights;
//       waits; calls; notification; if traced: trace;
//     }
//
// Where there is a condition, tasks that have no work prefetch, call and trace
// nothing.
//
// Under the address sanitizer calls stand between the declaration of what they
// may touch and its end.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/PhaseEmitter.h"
#include "codegen/cpu/AffineExpressions.h"
#include "codegen/cpu/ControlFlow.h"
#include "codegen/plan/PlanChecks.h"
#include "dialects/Event/LayerFormats.h"
#include "dialects/Event/Tiers.h"
#include "runtime/weight_blocks.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace baton;
using namespace baton::cpu;
using namespace baton::event;

static int64_t bytesOf(mlir::Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// A phase's name may hold any character, a symbol's only some.
static std::string symbolOf(PhaseOp phase) {
  std::string symbol = "baton_phase_";
  for (char c : phase.getName())
    symbol += isAlnum(c) || c == '_' || c == '.' ? c : '_';
  return symbol;
}

Expected<Function *>
baton::cpu::declareSynchronization(const Emission &emission, StringRef name) {
  if (Function *function = emission.library.declare(emission.module, name))
    return function;
  return createStringError("the task library lacks " + name);
}

namespace {

/// A box of event words, cut to the event tensor's shape.
struct WordBox {
  WaitAttr wait;
  const plan::ProgramLayout::EventTensor *tensor;
  SmallVector<Value *> low, high;
};

class PhaseEmitter {
public:
  PhaseEmitter(const Emission &emission, PhaseOp phase, uint32_t rank)
      : emission(emission), types(emission.types), layout(emission.layout),
        phase(phase), rank(rank),
        segment(mlir::cast<SegmentOp>(phase->getParentOp())),
        entry(emission.module.getContext()),
        builder(emission.module.getContext()) {}

  Expected<Function *> emit();

private:
  void emitTile(Value *tile);
  void emitBody();
  void emitTimeStamp(Value *slot);
  void emitDeclarations(Value *tile);
  void emitDeclaration(AccessAttr access);
  void emitPagesDeclaration(AccessAttr access);

  // Coordinates.
  void emitCoordinates(Value *tile);
  AffineOperands operands() const { return {coordinates, symbols}; }

  // Events.
  Value *emitTicket();
  WordBox emitBox(WaitAttr wait);
  Value *emitTarget(const WordBox &box, Value *position);
  Value *eventWord(const plan::ProgramLayout::EventTensor &tensor,
                   Value *position);
  void emitPrefetches(const WordBox &box);
  void emitWait(const WordBox &box);
  void emitNotification(NotifyAttr notify);

  // Tables.
  void emitEntries();
  Value *emitHasWork();
  Value *emitCondition(ConditionAttr condition);
  void emitIfWork(const Twine &name, llvm::function_ref<void()> body);
  void emitTableChecks();

  // Calls.
  Value *emitOperand(mlir::Attribute operand, Type *type);
  Value *emitAddress(BufferOp buffer, mlir::AffineMap index);
  Value *emitWeight(WeightAttr weight);
  Value *emitPanel(Value *layer, Value *panel, StringRef name);
  void emitCall(CallOp call);
  void emitAdvance(AdvanceOp advance);
  void emitIfNext(llvm::function_ref<void()> body);
  void emitExchange(ExchangeOp exchange);
  void emitMessage(MessageOp message);
  void emitTier();

  // Pointers that all tiles share, loaded in the entry block: a task's stores
  // would keep LLVM from hoisting the loads.
  Value *loadContext(ProgramTypes::ContextField field, const Twine &name);
  Value *loadEntry(Value *table, int64_t index, Value *layer,
                   const Twine &name);
  Value *layer();
  Value *bufferBase(BufferOp buffer);
  Value *parameterBase(mlir::StringAttr name);

  BufferOp buffer(mlir::FlatSymbolRefAttr symbol) const {
    return layout.buffers.find(symbol.getAttr())->second;
  }
  const plan::ProgramLayout::EventTensor &
  event(mlir::FlatSymbolRefAttr symbol) const {
    return layout.events.find(symbol.getAttr())->second;
  }

  const Emission &emission;
  const ProgramTypes &types;
  const plan::ProgramLayout &layout;
  PhaseOp phase;
  /// What `trace` is told.
  uint32_t rank;
  SegmentOp segment;
  Function *function = nullptr;
  Function *wait = nullptr, *notify = nullptr, *prefetch = nullptr;
  /// Inserts into the entry block, respectively into the tile loop.
  IRBuilder<> entry, builder;

  Value *events = nullptr, *bases = nullptr, *scratch = nullptr;
  /// The runtime's `trace`, whether there is one, and a task's time stamps.
  Value *trace = nullptr, *isTraced = nullptr, *beginSlot = nullptr,
        *readySlot = nullptr;
  /// Whether the runtime wants to know what tasks touch; null in programs that
  /// do not say it.
  Value *isWatched = nullptr;
  SmallVector<Value *, kStepSymbols> symbols;
  SmallVector<Value *> extents;
  DenseMap<mlir::Attribute, Value *> bufferBases, parameterBases;

  // Values of the current tile. Behind the coordinates, once its waits are
  // over, come its entries of tables.
  SmallVector<Value *> coordinates;
  /// True where an invariant call must run again.
  Value *changed = nullptr;
  /// Whether the task has work, where there is a condition.
  Value *works = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Expected<Function *> PhaseEmitter::emit() {
  for (auto [name, callee] : {std::pair("baton_wait", &wait),
                              {"baton_notify", &notify},
                              {"baton_prefetch", &prefetch}}) {
    Expected<Function *> declared = declareSynchronization(emission, name);
    if (!declared)
      return declared.takeError();
    *callee = *declared;
  }
  auto signature = [&](StringRef name) -> FunctionType * {
    Function *function = emission.library.declare(emission.module, name);
    return function ? function->getFunctionType() : nullptr;
  };
  if (Error error = plan::checkPhase(phase, layout, signature))
    return std::move(error);

  LLVMContext &context = emission.module.getContext();
  SmallVector<Type *> parameters(kPhaseParameters, Type::getInt64Ty(context));
  std::fill_n(parameters.begin(), kPhaseNext + 1, PointerType::get(context, 0));
  function = Function::Create(
      FunctionType::get(Type::getVoidTy(context), parameters, false),
      GlobalValue::InternalLinkage, symbolOf(phase), emission.module);
  function->addFnAttr(Attribute::NoInline);
  function->setDoesNotThrow();
  const StringRef names[] = {"context", "worker", "step",    "next",
                             "rows",    "past",   "outputs", "iteration",
                             "first",   "last",   "stride"};
  for (auto [argument, name] : zip_equal(function->args(), names))
    argument.setName(name);
  symbols = {function->getArg(kPhaseRows), function->getArg(kPhasePast),
             function->getArg(kPhaseOutputs)};

  entry.SetInsertPoint(BasicBlock::Create(context, "entry", function));
  BasicBlock *tiles = BasicBlock::Create(context, "tiles", function);
  builder.SetInsertPoint(tiles);

  events = loadContext(ProgramTypes::Events, "events");
  auto loadWorker = [&](unsigned field, const Twine &name) {
    return entry.CreateLoad(
        entry.getPtrTy(),
        entry.CreateStructGEP(types.worker, function->getArg(kPhaseWorker),
                              field),
        name);
  };
  bases = loadWorker(ProgramTypes::Bases, "bases");
  scratch = loadWorker(ProgramTypes::Scratch, "scratch");
  trace = loadContext(ProgramTypes::Trace, "trace");
  isTraced = entry.CreateIsNotNull(trace, "traced");
  if (emission.declaresAccesses)
    isWatched = entry.CreateIsNotNull(
        loadContext(ProgramTypes::Touches, "touches"), "watched");
  beginSlot = entry.CreateAlloca(entry.getInt64Ty(), nullptr, "begin");
  readySlot = entry.CreateAlloca(entry.getInt64Ty(), nullptr, "ready");
  extents = emitAffine(entry, phase.getGrid(), {{}, symbols});

  // No coordinate is -1: the first tile counts as changed.
  AllocaInst *previous =
      entry.CreateAlloca(entry.getInt64Ty(), nullptr, "previous");
  entry.CreateStore(entry.getInt64(-1), previous);
  auto emitTask = [&](Value *tile) {
    emitCoordinates(tile);
    Value *leading = coordinates.empty() ? builder.getInt64(0) : coordinates[0];
    changed = builder.CreateICmpNE(
        leading, builder.CreateLoad(builder.getInt64Ty(), previous));
    if (std::optional<ConditionAttr> condition = phase.getCondition())
      works = emitCondition(*condition);
    emitIfWork("first", [&] { builder.CreateStore(leading, previous); });
    emitTile(tile);
  };
  if (layout.tickets.contains(phase))
    emitLoopWhileBelow(
        builder, "tile", [&] { return emitTicket(); },
        function->getArg(kPhaseLast), emitTask);
  else
    emitLoop(builder, "tile", function->getArg(kPhaseFirst),
             function->getArg(kPhaseLast), function->getArg(kPhaseStride),
             emitTask);
  builder.CreateRetVoid();
  entry.CreateBr(tiles);
  return function;
}

/// The next tile that nobody has taken yet, or one behind the last. The counter
/// orders nothing but itself: what a task reads, it waits for.
Value *PhaseEmitter::emitTicket() {
  const int64_t first = layout.tickets.lookup(phase);
  Value *position = builder.CreateAdd(builder.getInt64(first),
                                      function->getArg(kPhaseIteration));
  Value *counter = builder.CreateInBoundsGEP(
      builder.getInt32Ty(), events,
      builder.CreateMul(position, builder.getInt64(kEventWordStride)));
  Value *taken =
      builder.CreateAtomicRMW(AtomicRMWInst::Add, counter, builder.getInt32(1),
                              MaybeAlign(4), AtomicOrdering::Monotonic);
  Value *base = builder.CreateLoad(
      builder.getInt32Ty(),
      builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), bases, first));
  return builder.CreateZExt(builder.CreateSub(taken, base),
                            builder.getInt64Ty(), "ticket");
}

void PhaseEmitter::emitTimeStamp(Value *slot) {
  emitIf(builder, "stamp", isTraced, [&] {
    Value *now = builder.CreateIntrinsic(builder.getInt64Ty(),
                                         Intrinsic::readcyclecounter, {});
    builder.CreateStore(now, slot);
  });
}

void PhaseEmitter::emitTile(Value *tile) {
  emitTimeStamp(beginSlot);
  bool first = true;
  for (WaitAttr attribute : phase.getWaitAttrs()) {
    WordBox box = emitBox(attribute);
    if (first)
      emitIfWork("prefetches", [&] { emitPrefetches(box); });
    first = false;
    emitWait(box);
  }
  emitTimeStamp(readySlot);
  emitEntries();
  if (isWatched)
    emitIf(builder, "declare", isWatched, [&] { emitDeclarations(tile); });
  // Other ranks wait for an exchange, also where no row comes here.
  if (phase.hasEntries() && phase.getBody().getOps<ExchangeOp>().empty())
    emitIf(builder, "work", emitHasWork(), [&] { emitBody(); });
  else
    emitIfWork("work", [&] { emitBody(); });
  emitTableChecks();
  if (isWatched)
    emitIf(builder, "end", isWatched, [&] {
      builder.CreateCall(emission.module.getOrInsertFunction(
          "baton_end_task", builder.getVoidTy()));
    });
  if (std::optional<NotifyAttr> attribute = phase.getNotify())
    emitNotification(*attribute);
  Value *tells = works ? builder.CreateAnd(isTraced, works) : isTraced;
  emitIf(builder, "trace", tells, [&] {
    Type *i64 = builder.getInt64Ty();
    Value *iteration = builder.CreateTrunc(function->getArg(kPhaseIteration),
                                           builder.getInt32Ty());
    builder.CreateCall(types.trace, trace,
                       {function->getArg(kPhaseContext),
                        function->getArg(kPhaseWorker),
                        function->getArg(kPhaseStep), builder.getInt32(rank),
                        iteration, tile, builder.CreateLoad(i64, beginSlot),
                        builder.CreateLoad(i64, readySlot)});
  });
}

void PhaseEmitter::emitBody() {
  if (isTier(phase))
    return emitTier();
  for (mlir::Operation &op : phase.getBody().front()) {
    if (auto call = mlir::dyn_cast<CallOp>(op))
      emitCall(call);
    else if (auto exchange = mlir::dyn_cast<ExchangeOp>(op))
      emitIfNext([&] { emitExchange(exchange); });
    else if (auto message = mlir::dyn_cast<MessageOp>(op))
      emitMessage(message);
    else
      emitAdvance(mlir::cast<AdvanceOp>(op));
  }
}

void PhaseEmitter::emitDeclarations(Value *tile) {
  builder.CreateCall(
      emission.module.getOrInsertFunction("baton_begin_task", types.beginTask),
      {function->getArg(kPhaseContext), function->getArg(kPhaseWorker),
       builder.getInt32(rank),
       builder.CreateTrunc(function->getArg(kPhaseIteration),
                           builder.getInt32Ty()),
       tile});
  emitIfNext([&] {
    for (AccessAttr access : phase.getAccessAttrs())
      if (buffer(access.getBuffer()).getStorage())
        emitDeclaration(access);
  });
}

/// The access's box, cut to the buffer's extents: rows along dimension 0, each
/// from its first element to its last.
void PhaseEmitter::emitDeclaration(AccessAttr access) {
  BufferOp op = buffer(access.getBuffer());
  Value *bytes = builder.getInt64(bytesOf(op.getElement()));
  Value *first = builder.getInt64(0), *rows = builder.getInt64(1),
        *width = builder.getInt64(1);
  int64_t rowStride = 0;
  if (op.isPaged())
    return emitPagesDeclaration(access);
  if (op.getInterleave() > 1) {
    // Indices of a box are not in order.
    width = builder.getInt64(op.getSpan().value_or(0) + 1);
  } else {
    SmallVector<Value *> low = emitAffine(builder, access.getLow(), operands());
    SmallVector<Value *> high =
        emitAffine(builder, access.getHigh(), operands());
    SmallVector<Value *> extents =
        emitAffine(builder, op.getExtents(), {{}, symbols});
    Value *isEmpty = builder.getFalse();
    rowStride = op.getStrides().front();
    for (size_t i = 0; i < low.size(); ++i) {
      Value *begin = builder.CreateBinaryIntrinsic(Intrinsic::smax, low[i],
                                                   builder.getInt64(0));
      Value *end =
          builder.CreateBinaryIntrinsic(Intrinsic::smin, high[i], extents[i]);
      Value *stride = builder.getInt64(op.getStrides()[i]);
      Value *size = builder.CreateSub(end, begin);
      isEmpty = builder.CreateOr(
          isEmpty, builder.CreateICmpSLE(size, builder.getInt64(0)));
      first = builder.CreateAdd(first, builder.CreateMul(begin, stride));
      if (i == 0)
        rows = size;
      else
        width = builder.CreateAdd(
            width, builder.CreateMul(
                       builder.CreateSub(size, builder.getInt64(1)), stride));
    }
    rows = builder.CreateSelect(isEmpty, builder.getInt64(0), rows);
  }
  auto *position = emission.layout.buffers.find(op.getSymNameAttr());
  auto number = position - emission.layout.buffers.begin() + 1;
  const plan::ProgramLayout::Storage &storage =
      layout.storages.find(op.getStorageAttr().getAttr())->second;
  builder.CreateCall(
      emission.module.getOrInsertFunction("baton_declare_access",
                                          types.declareAccess),
      {builder.CreateGlobalString(op.getSymName()), builder.getInt32(number),
       builder.getInt32(storage.index), builder.getInt32(access.getWrite()),
       builder.CreatePtrAdd(bufferBase(op), builder.CreateMul(first, bytes)),
       rows, builder.CreateMul(builder.getInt64(rowStride), bytes),
       builder.CreateMul(width, bytes)});
}

/// Of a state in pages: rows of the step, and heads, whole.
void PhaseEmitter::emitPagesDeclaration(AccessAttr access) {
  BufferOp op = buffer(access.getBuffer());
  SmallVector<Value *> low = emitAffine(builder, access.getLow(), operands());
  SmallVector<Value *> high = emitAffine(builder, access.getHigh(), operands());
  Value *rows = emitAffine(builder, op.getExtents(), {{}, symbols})[0];
  const int64_t bytes = bytesOf(op.getElement());
  auto *position = emission.layout.buffers.find(op.getSymNameAttr());
  const plan::ProgramLayout::Storage &storage =
      layout.storages.find(op.getStorageAttr().getAttr())->second;
  auto number = [&](int64_t value) { return builder.getInt64(value); };
  builder.CreateCall(
      emission.module.getOrInsertFunction("baton_declare_pages",
                                          types.declarePages),
      {function->getArg(kPhaseContext),
       builder.CreateGlobalString(op.getSymName()),
       builder.getInt32(position - emission.layout.buffers.begin() + 1),
       builder.getInt32(storage.index), builder.getInt32(access.getWrite()),
       builder.CreatePtrAdd(
           bufferBase(op),
           builder.CreateMul(low[1], number(op.getStrides()[1] * bytes))),
       builder.CreateBinaryIntrinsic(Intrinsic::smax, low[0], number(0)),
       builder.CreateBinaryIntrinsic(Intrinsic::smin, high[0], rows),
       builder.CreateSub(high[1], low[1]), number(op.getCapacity()[2]),
       number(op.getInterleaveColumns()), number(bytes),
       number(int64_t(op.getPageStride()) * bytes)});
}

/// Row-major: the last coordinate moves fastest. The first one takes what is
/// left and needs no remainder.
void PhaseEmitter::emitCoordinates(Value *tile) {
  coordinates.assign(extents.size(), nullptr);
  Value *rest = tile;
  for (size_t dimension = extents.size(); dimension-- > 1;) {
    coordinates[dimension] = builder.CreateURem(rest, extents[dimension]);
    rest = builder.CreateUDiv(rest, extents[dimension]);
  }
  if (!extents.empty())
    coordinates[0] = rest;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

WordBox PhaseEmitter::emitBox(WaitAttr attribute) {
  WordBox box{attribute, &event(attribute.getEvent()), {}, {}};
  TensorOp tensor = box.tensor->op;
  box.low = emitAffine(builder, attribute.getLow(), operands());
  box.high = emitAffine(builder, attribute.getHigh(), operands());
  SmallVector<Value *> shape =
      emitAffine(builder, tensor.getShape(), {{}, symbols});
  for (auto [low, high, extent] : zip_equal(box.low, box.high, shape)) {
    low = builder.CreateBinaryIntrinsic(Intrinsic::smax, low,
                                        builder.getInt64(0));
    high = builder.CreateBinaryIntrinsic(Intrinsic::smin, high, extent);
  }
  return box;
}

/// What the word at `position` of the tensor must have counted up to: its base
/// before this step, plus the iterations that must be complete.
Value *PhaseEmitter::emitTarget(const WordBox &box, Value *position) {
  TensorOp tensor = box.tensor->op;
  SegmentOp notifier = box.tensor->notifier;
  Value *complete;
  if (notifier == segment)
    complete = builder.CreateAdd(function->getArg(kPhaseIteration),
                                 builder.getInt64(1 - box.wait.getDistance()));
  else
    complete = builder.getInt64(notifier.getRepeat());
  Value *count =
      emitAffine(builder, tensor.getCount().getResult(0), {{}, symbols});
  Value *base = builder.CreateLoad(
      builder.getInt32Ty(),
      builder.CreateInBoundsGEP(builder.getInt32Ty(), bases, position));
  return builder.CreateAdd(
      base, builder.CreateTrunc(builder.CreateMul(complete, count),
                                builder.getInt32Ty()));
}

Value *PhaseEmitter::eventWord(const plan::ProgramLayout::EventTensor &tensor,
                               Value *position) {
  return builder.CreateInBoundsGEP(
      builder.getInt32Ty(), events,
      builder.CreateMul(position, builder.getInt64(kEventWordStride)));
}

/// Position of a word among all event words.
static Value *emitPosition(IRBuilderBase &builder,
                           const plan::ProgramLayout::EventTensor &tensor,
                           ArrayRef<Value *> index) {
  TensorOp op = tensor.op;
  return builder.CreateAdd(emitRowMajorIndex(builder, index, op.getCapacity()),
                           builder.getInt64(tensor.firstWord));
}

/// Loads that wait for nothing go first: when the box's first word is not there
/// yet, the tile's weights start moving while this worker waits, each from its
/// operand's address on. A few pages hide the first misses; the hardware's
/// prefetcher continues from there.
void PhaseEmitter::emitPrefetches(const WordBox &box) {
  SmallSetVector<mlir::Attribute, 4> weights;
  // What is being fetched says nothing yet of where its panels are.
  const bool fetches = any_of(phasesOf(phase->getParentOfType<ProgramOp>()),
                              [](PhaseOp other) { return isTier(other); });
  auto findsPanels = [&](WeightAttr weight) {
    mlir::StringAttr name = weight.getParameter().getAttr();
    ParameterOp op = layout.parameters.find(name)->second.op;
    return layerFormatsOf(op) != nullptr;
  };
  for (auto call : phase.getBody().getOps<CallOp>())
    for (mlir::Attribute operand : call.getOperands_())
      if (auto weight = mlir::dyn_cast<WeightAttr>(operand);
          weight && !phase.usesEntries(weight.getOffset()) &&
          !(fetches && findsPanels(weight)))
        weights.insert(operand);
  if (weights.empty() || !phase.getPrefetchBytes())
    return;
  Value *waits = builder.getTrue();
  for (auto [low, high] : zip_equal(box.low, box.high))
    waits = builder.CreateAnd(waits, builder.CreateICmpSLT(low, high));
  emitIf(builder, "peek", waits, [&] {
    Value *position = emitPosition(builder, *box.tensor, box.low);
    // No acquire: nothing is read on the strength of this look.
    LoadInst *seen = builder.CreateAlignedLoad(
        builder.getInt32Ty(), eventWord(*box.tensor, position), Align(4));
    seen->setAtomic(AtomicOrdering::Monotonic);
    Value *missing = builder.CreateICmpSLT(
        builder.CreateSub(seen, emitTarget(box, position)),
        builder.getInt32(0));
    emitIf(builder, "prefetch", missing, [&] {
      for (mlir::Attribute weight : weights)
        builder.CreateCall(prefetch,
                           {emitWeight(mlir::cast<WeightAttr>(weight)),
                            builder.getInt64(phase.getPrefetchBytes())});
    });
  });
}

void PhaseEmitter::emitWait(const WordBox &box) {
  emitLoopNest(builder, "word", box.low, box.high,
               [&](ArrayRef<Value *> index) {
                 Value *position = emitPosition(builder, *box.tensor, index);
                 builder.CreateCall(wait, {eventWord(*box.tensor, position),
                                           emitTarget(box, position)});
               });
}

void PhaseEmitter::emitNotification(NotifyAttr attribute) {
  const plan::ProgramLayout::EventTensor &tensor = event(attribute.getEvent());
  SmallVector<Value *> index =
      emitAffine(builder, attribute.getIndex(), operands());
  builder.CreateCall(notify,
                     {eventWord(tensor, emitPosition(builder, tensor, index))});
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Reads the task's entries, which then are dimensions of maps.
void PhaseEmitter::emitEntries() {
  SmallVector<Value *> values;
  for (AddressAttr entry : phase.getEntryAttrs())
    values.push_back(builder.CreateSExt(
        builder.CreateLoad(
            builder.getInt32Ty(),
            emitAddress(buffer(entry.getBuffer()), entry.getIndex())),
        builder.getInt64Ty()));
  append_range(coordinates, values);
}

/// Whether the task has something to write; where entries say what, it may not.
Value *PhaseEmitter::emitHasWork() {
  Value *any = builder.getFalse();
  for (AccessAttr access : phase.getAccessAttrs()) {
    if (!access.getWrite())
      continue;
    Value *all = builder.getTrue();
    for (auto [low, high] :
         zip_equal(emitAffine(builder, access.getLow(), operands()),
                   emitAffine(builder, access.getHigh(), operands())))
      all = builder.CreateAnd(all, builder.CreateICmpSLT(low, high));
    any = builder.CreateOr(any, all);
  }
  return any;
}

/// Whether a running count grows over what is the task's.
Value *PhaseEmitter::emitCondition(ConditionAttr condition) {
  BufferOp op = buffer(condition.getBuffer());
  auto load = [&](Value *place) {
    return builder.CreateLoad(
        builder.getInt32Ty(),
        builder.CreateInBoundsGEP(builder.getInt32Ty(), bufferBase(op), place));
  };
  SmallVector<Value *> ends =
      emitAffine(builder, condition.getHigh(), operands());
  Value *end = ends.front();
  for (Value *other : drop_begin(ends))
    end = builder.CreateBinaryIntrinsic(Intrinsic::smin, end, other);
  Value *low = emitAffine(builder, condition.getLow(), operands()).front();
  return builder.CreateICmpSLT(load(low), load(end), "works");
}

void PhaseEmitter::emitIfWork(const Twine &name,
                              llvm::function_ref<void()> body) {
  if (!works)
    return body();
  emitIf(builder, name.str(), works, body);
}

/// Tables that the task has written hold what the plan says of them.
void PhaseEmitter::emitTableChecks() {
  for (TableOp table : phase.getWrittenTables()) {
    BufferOp op = buffer(table.getBufferAttr());
    AffineOperands of{{}, symbols};
    Type *i64 = builder.getInt64Ty(), *pointer = builder.getPtrTy();
    builder.CreateCall(emission.module.getOrInsertFunction(
                           "baton_check_table",
                           FunctionType::get(builder.getVoidTy(),
                                             {pointer, pointer, pointer, i64,
                                              i64, i64, builder.getInt32Ty()},
                                             false)),
                       {builder.CreateGlobalString(op.getSymName()),
                        builder.CreateGlobalString(phase.getName()),
                        bufferBase(op),
                        emitAffine(builder, op.getExtents(), of)[0],
                        emitAffine(builder, table.getLow(), of)[0],
                        emitAffine(builder, table.getHigh(), of)[0],
                        builder.getInt32(uint32_t(table.getProperty()))});
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value *PhaseEmitter::emitOperand(mlir::Attribute operand, Type *type) {
  if (auto address = mlir::dyn_cast<AddressAttr>(operand))
    return emitAddress(buffer(address.getBuffer()), address.getIndex());
  if (auto weight = mlir::dyn_cast<WeightAttr>(operand))
    return emitWeight(weight);
  if (auto count = mlir::dyn_cast<CountAttr>(operand)) {
    SmallVector<Value *> values =
        emitAffine(builder, count.getMap(), operands());
    Value *least = values.front();
    for (Value *value : drop_begin(values))
      least = builder.CreateBinaryIntrinsic(Intrinsic::smin, least, value);
    return least;
  }
  if (auto stride = mlir::dyn_cast<StrideAttr>(operand)) {
    int64_t elements = 0;
    for (auto [steps, length] :
         zip_equal(stride.getSteps(), buffer(stride.getBuffer()).getStrides()))
      elements += steps * length;
    return builder.getInt64(elements);
  }
  if (auto offset = mlir::dyn_cast<ScratchAttr>(operand))
    return builder.CreatePtrAdd(scratch, builder.getInt64(offset.getOffset()));
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(operand))
    return ConstantInt::get(type, integer.getValue());
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(operand))
    return ConstantFP::get(type, real.getValue());
  return ConstantPointerNull::get(cast<PointerType>(type));
}

Value *PhaseEmitter::emitAddress(BufferOp op, mlir::AffineMap index) {
  Value *position = builder.getInt64(0);
  // Bodies find rows of a state in pages.
  bool skipsRows = op.isPaged();
  for (auto [value, stride] :
       zip_equal(emitAffine(builder, index, operands()), op.getStrides())) {
    if (!std::exchange(skipsRows, false))
      position = builder.CreateAdd(
          position, builder.CreateMul(value, builder.getInt64(stride)));
  }
  return builder.CreatePtrAdd(
      bufferBase(op),
      builder.CreateMul(position, builder.getInt64(bytesOf(op.getElement()))),
      op.getSymName());
}

/// A panel of a layer whose first one says how far apart they are.
Value *PhaseEmitter::emitPanel(Value *layer, Value *panel, StringRef name) {
  Value *stride = builder.CreateZExt(
      builder.CreateAlignedLoad(
          builder.getInt32Ty(),
          builder.CreateConstGEP1_64(builder.getInt8Ty(), layer,
                                     offsetof(blocks::MixedHead, stride)),
          Align(alignof(blocks::MixedHead)), "stride"),
      builder.getInt64Ty());
  return builder.CreatePtrAdd(layer, builder.CreateMul(panel, stride), name);
}

Value *PhaseEmitter::emitWeight(WeightAttr weight) {
  mlir::StringAttr name = weight.getParameter().getAttr();
  ParameterOp op = layout.parameters.find(name)->second.op;
  const mlir::AffineExpr place = weight.getOffset().getResult(0);
  if (layerFormatsOf(op))
    return emitPanel(parameterBase(name),
                     emitAffine(builder,
                                place.floorDiv(panelBytes(
                                    mlir::cast<BlocksAttr>(op.getFormAttr()))),
                                operands()),
                     op.getSymName());
  Value *offset = emitAffine(builder, place, operands());
  return builder.CreatePtrAdd(
      parameterBase(name),
      builder.CreateMul(offset, builder.getInt64(bytesOf(op.getElement()))),
      op.getSymName());
}

void PhaseEmitter::emitCall(CallOp call) {
  Function *callee = emission.library.declare(
      emission.module, ("baton_task_" + call.getCallee()).str());
  auto emitIt = [&] {
    SmallVector<Value *> arguments;
    for (auto [operand, type] :
         zip_equal(call.getOperands_(), callee->getFunctionType()->params()))
      arguments.push_back(emitOperand(operand, type));
    emission.bodies.call(builder, callee, arguments);
  };
  if (call.getInvariant())
    emitIf(builder, "invariant", changed, emitIt);
  else
    emitIt();
}

void PhaseEmitter::emitAdvance(AdvanceOp op) {
  BufferOp logits = buffer(op.getLogitsAttr());
  Value *callee = loadContext(ProgramTypes::Advance, "advance");
  auto vocabulary =
      mlir::cast<mlir::AffineConstantExpr>(logits.getExtents().getResult(1));
  builder.CreateCall(types.advance, callee,
                     {function->getArg(kPhaseContext),
                      function->getArg(kPhaseStep),
                      function->getArg(kPhaseNext), bufferBase(logits),
                      builder.getInt64(logits.getStrides()[0]),
                      builder.getInt64(vocabulary.getValue())});
}

/// What is ahead has nothing to do in the last iteration.
void PhaseEmitter::emitIfNext(llvm::function_ref<void()> body) {
  if (!phase.getAhead())
    return body();
  Value *hasNext =
      builder.CreateICmpULT(function->getArg(kPhaseIteration),
                            builder.getInt64(segment.getRepeat() - 1));
  emitIf(builder, "next", hasNext, body);
}

/// Of each rank where rows go to experts; else none.
static int64_t countExperts(ExchangeOp op, const plan::ProgramLayout &layout) {
  if (!op.movesRows())
    return 0;
  BufferOp received =
      layout.buffers.find(op.getTable(ExchangeOp::received).getAttr())->second;
  return received.getCapacity()[0] - 2;
}

void PhaseEmitter::emitExchange(ExchangeOp op) {
  ArrayRef<mlir::Attribute> tensors = op.getTensors().getValue();
  Type *listed = ArrayType::get(types.exchanged, tensors.size());
  Value *list = entry.CreateAlloca(listed, nullptr, "tensors");
  for (auto [index, transfer] : enumerate(op.getTransfers())) {
    auto set = [&](ProgramTypes::ExchangeField field, Value *value) {
      builder.CreateStore(
          value, builder.CreateConstInBoundsGEP2_32(
                     types.exchanged,
                     builder.CreateConstInBoundsGEP2_64(listed, list, 0, index),
                     0, field));
    };
    BufferOp send = buffer(transfer.getSend());
    int64_t bytes = bytesOf(send.getElement());
    set(ProgramTypes::Send, bufferBase(send));
    BufferOp receive = buffer(transfer.getReceive());
    auto bytesOfCount = [&](mlir::AffineMap count) {
      return builder.CreateMul(
          emitAffine(builder, count, {{}, symbols}).front(),
          builder.getInt64(bytes));
    };
    set(ProgramTypes::Receive, bufferBase(receive));
    set(ProgramTypes::Bytes, bytesOfCount(transfer.getElements()));
    set(ProgramTypes::Part, bytesOfCount(transfer.getPart()));
    set(ProgramTypes::Distance,
        builder.getInt64(receive.getStrides()[0] * bytes));
    auto table = [&](ExchangeOp::Table table) -> Value * {
      return op.movesRows() ? bufferBase(buffer(op.getTable(table)))
                            : ConstantPointerNull::get(builder.getPtrTy());
    };
    set(ProgramTypes::Bounds, table(ExchangeOp::bounds));
    set(ProgramTypes::Counts, table(ExchangeOp::counts));
    set(ProgramTypes::Received, table(ExchangeOp::received));
    set(ProgramTypes::Experts, builder.getInt64(countExperts(op, layout)));
  }
  Value *iteration = builder.CreateTrunc(function->getArg(kPhaseIteration),
                                         builder.getInt32Ty());
  builder.CreateCall(types.exchange,
                     loadContext(ProgramTypes::Exchange, "exchange"),
                     {function->getArg(kPhaseContext),
                      builder.getInt32(layout.collectives.lookup(op)),
                      iteration, list, builder.getInt32(tensors.size())});
}

void PhaseEmitter::emitMessage(MessageOp op) {
  size_t count = op.getTensors().size();
  Type *listed = ArrayType::get(types.tensor, count);
  Value *list = entry.CreateAlloca(listed, nullptr, "tensors");
  for (auto [index, name] : enumerate(op.getBuffers())) {
    auto set = [&](ProgramTypes::MessageField field, Value *value) {
      builder.CreateStore(
          value, builder.CreateConstInBoundsGEP2_32(
                     types.tensor,
                     builder.CreateConstInBoundsGEP2_64(listed, list, 0, index),
                     0, field));
    };
    BufferOp tensor = buffer(name);
    SmallVector<Value *> extents =
        emitAffine(builder, tensor.getExtents(), operands());
    Value *bytes = builder.getInt64(bytesOf(tensor.getElement()));
    set(ProgramTypes::Data, bufferBase(tensor));
    set(ProgramTypes::TensorRows, extents.front());
    set(ProgramTypes::RowBytes,
        extents.size() == 2 ? builder.CreateMul(extents.back(), bytes) : bytes);
    set(ProgramTypes::Stride,
        builder.CreateMul(bytes,
                          builder.getInt64(tensor.getStrides().front())));
  }
  builder.CreateCall(types.message,
                     loadContext(ProgramTypes::Message, "message"),
                     {function->getArg(kPhaseContext),
                      builder.getInt32(layout.messages.lookup(op)), list,
                      builder.getInt32(count)});
}

void PhaseEmitter::emitTier() {
  builder.CreateCall(types.tier, loadContext(ProgramTypes::Tier, "tier"),
                     {function->getArg(kPhaseContext), builder.getInt32(rank),
                      builder.CreateTrunc(layer(), builder.getInt32Ty())});
}

//===----------------------------------------------------------------------===//
// Pointers that all tiles share
//===----------------------------------------------------------------------===//

Value *PhaseEmitter::loadContext(ProgramTypes::ContextField field,
                                 const Twine &name) {
  return entry.CreateLoad(entry.getPtrTy(),
                          entry.CreateStructGEP(types.context,
                                                function->getArg(kPhaseContext),
                                                field),
                          name);
}

/// table[index + layer]; `layer` may be null.
Value *PhaseEmitter::loadEntry(Value *table, int64_t index, Value *layer,
                               const Twine &name) {
  Value *position = entry.getInt64(index);
  if (layer)
    position = entry.CreateAdd(position, layer);
  return entry.CreateLoad(
      entry.getPtrTy(),
      entry.CreateInBoundsGEP(entry.getPtrTy(), table, position), name);
}

/// The iteration's copy of what has layers.
Value *PhaseEmitter::layer() {
  Value *iteration = function->getArg(kPhaseIteration);
  if (phase.getAhead())
    iteration = entry.CreateAdd(iteration, entry.getInt64(1));
  if (!segment.getReverse())
    return iteration;
  return entry.CreateSub(entry.getInt64(segment.getRepeat() - 1), iteration,
                         "layer");
}

/// Element 0 of the buffer, in the iteration's layer.
Value *PhaseEmitter::bufferBase(BufferOp op) {
  Value *&base = bufferBases[op.getSymNameAttr()];
  if (base)
    return base;
  if (op.getKind() == BufferKind::input)
    return base = loadContext(ProgramTypes::Tokens, op.getSymName());
  const plan::ProgramLayout::Storage &storage =
      layout.storages.find(op.getStorageAttr().getAttr())->second;
  Value *start = loadEntry(loadContext(ProgramTypes::Storages, "storages"),
                           storage.index, nullptr, *op.getStorage());
  Value *offset = entry.getInt64(op.getOffset());
  if (op.getLayers() > 1) {
    Value *copy = layer();
    if (op.getRing())
      copy = entry.CreateURem(copy, entry.getInt64(op.getLayers()));
    offset = entry.CreateAdd(
        offset, entry.CreateMul(copy, entry.getInt64(op.getLayerStride())));
  }
  return base = entry.CreatePtrAdd(
             start,
             entry.CreateMul(offset, entry.getInt64(bytesOf(op.getElement()))),
             op.getSymName());
}

/// The parameter's first byte, in the iteration's layer.
Value *PhaseEmitter::parameterBase(mlir::StringAttr name) {
  Value *&base = parameterBases[name];
  if (base)
    return base;
  auto [op, first] = layout.parameters.find(name)->second;
  return base = loadEntry(loadContext(ProgramTypes::Parameters, "parameters"),
                          first, op.getLayers() > 1 ? layer() : nullptr,
                          name.getValue());
}

Expected<Function *> baton::cpu::emitPhase(const Emission &emission,
                                           PhaseOp phase, uint32_t rank) {
  return PhaseEmitter(emission, phase, rank).emit();
}
