//===- ExchangeExperts.cpp - rows go to experts of other ranks ------------===//
//
// After localize every rank along the axis has rows of its own, and all
// experts, whose gradients are sums over these ranks. Here each rank keeps some
// of the experts, and rows go to theirs. What experts make of a rank's rows is
// the same then, and so is the sum over all rows of which their gradients are:
// it is no longer one over ranks.
//
// A value of places is either of a rank's own rows, or of those that its
// experts have received. Which one follows from who makes it; where another one
// is read, rows are exchanged.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialects/Dist/Placement.h"
#include "dialects/Model/Places.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace baton::sharding {
#define GEN_PASS_DEF_EXCHANGEEXPERTS
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;

namespace {

/// Whose rows stand at the places of a value.
enum class Side { own, experts };

class Exchanger {
public:
  Exchanger(ProgramOp program, MeshOp mesh, StringAttr axis)
      : program(program), mesh(mesh), ranks(mesh.getSize(axis)), axis(axis),
        axes(ArrayAttr::get(axis.getContext(), {axis})) {}

  LogicalResult run();
  unsigned numExchanges = 0;

private:
  void mergeEqual();
  LogicalResult findExperts();
  LogicalResult keepSome(ParameterOp parameter);
  void keepOwnGradients(GradientOp gradient);
  void placeSaved();
  Side sideOf(Value value);
  void retype();
  LogicalResult bring(Operation *op);
  ExchangeCountsOp countsOf(DispatchOp dispatch);
  Value moved(Value value, Side to, Operation *before, DispatchOp dispatch);
  std::string payloadOf(StepTensorType type) {
    return countBytes(type, replicated(type.getContext(), type.getRank()),
                      mesh);
  }

  ProgramOp program;
  MeshOp mesh;
  int64_t ranks;
  StringAttr axis;
  ArrayAttr axes;
  /// Of ops that read values of places: where their rows stand.
  llvm::MapVector<Operation *, DispatchOp> readers;
  llvm::DenseMap<Value, Side> sides;
  llvm::StringMap<Side> saved;
  llvm::DenseMap<Operation *, ExchangeCountsOp> counts;
  llvm::DenseMap<std::pair<Value, Operation *>, Value> exchanged;
};

} // namespace

/// What is computed with the weights of experts, of places.
static bool isProduct(Operation *op) {
  return isa<GroupedLinearOp, GroupedLinearInputGradientOp,
             GroupedLinearWeightGradientOp>(op);
}

/// What adds up a row's places, or multiplies them by the row.
static bool isOfRows(Operation *op) {
  return isa<CombineOp, CombineWeightGradientOp, GatherGradientOp>(op);
}

static Value weightOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<GroupedLinearOp, GroupedLinearInputGradientOp>(
          [](auto product) { return product.getWeight(); })
      .Default(Value());
}

static OpOperand &boundsOf(Operation *op) {
  return *llvm::TypeSwitch<Operation *, OpOperand *>(op)
              .Case<GroupedLinearOp, GroupedLinearInputGradientOp,
                    GroupedLinearWeightGradientOp>(
                  [](auto product) { return &product.getBoundsMutable(); });
}

/// Where rows stand that an op reads or makes by places; null if it knows of
/// none.
static DispatchOp dispatchOf(Operation *op) {
  Operation *found = nullptr;
  if (isProduct(op))
    found = boundsOf(op).get().getDefiningOp();
  else if (auto sum = dyn_cast<CombineOp>(op))
    found = sum.getPlaces().getDefiningOp();
  else if (auto gradient = dyn_cast<CombineWeightGradientOp>(op))
    found = gradient.getPlaces().getDefiningOp();
  else if (auto gradient = dyn_cast<GatherGradientOp>(op))
    found = gradient.getPlaces().getDefiningOp();
  else if (op->getNumResults() == 1)
    found = segmentsOf(op->getResult(0));
  else if (auto save = dyn_cast<SaveOp>(op))
    found = segmentsOf(save.getX());
  return dyn_cast_or_null<DispatchOp>(found);
}

/// What is computed again has dispatches and gathers of its own. Of the same
/// experts one is enough: what is equal is not exchanged twice, nor by tables
/// of which nobody could show that they are equal.
void Exchanger::mergeEqual() {
  using Key = std::tuple<Block *, void *, void *>;
  auto merge = [](ArrayRef<Operation *> ops, unsigned operands) {
    llvm::DenseMap<Key, Operation *> first;
    for (Operation *op : ops) {
      void *keys[2] = {};
      for (unsigned i = 0; i < operands; ++i)
        keys[i] = op->getOperand(i).getAsOpaquePointer();
      auto [entry, isNew] =
          first.try_emplace(Key{op->getBlock(), keys[0], keys[1]}, op);
      if (isNew)
        continue;
      op->replaceAllUsesWith(entry->second->getResults());
      op->erase();
    }
  };
  auto allOf = [&](auto isWanted) {
    SmallVector<Operation *> ops;
    program.walk([&](Operation *op) {
      if (isWanted(op))
        ops.push_back(op);
    });
    return ops;
  };
  merge(allOf([](Operation *op) { return isa<DispatchOp>(op); }), 1);
  merge(allOf([](Operation *op) { return isa<GatherOp>(op); }), 2);
}

LogicalResult Exchanger::findExperts() {
  bool found = false;
  WalkResult result = program.walk([&](Operation *op) {
    auto fail = [&](const Twine &why) {
      op->emitOpError() << "cannot be exchanged: " << why;
      return WalkResult::interrupt();
    };
    if (isa<GroupedGatedLinearOp>(op))
      return fail("so far rows go to experts of programs that train, whose "
                  "gates and ups are products of their own");
    if (auto linear = dyn_cast<GroupedLinearOp>(op); linear && linear.getBias())
      return fail("so far rows go to experts without biases only");
    if (isProduct(op)) {
      found = true;
      auto dispatch = boundsOf(op).get().getDefiningOp<DispatchOp>();
      if (!dispatch || dispatch.getAxes())
        return fail("ranks along other axes have some of its experts each");
    }
    if (llvm::any_of(op->getOperands(),
                     [](Value value) { return isOfPlaces(value); }))
      readers[op] = dispatchOf(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!found)
    return program.emitOpError() << "cannot be exchanged: it is no mixture of "
                                    "experts";
  return success();
}

/// Of the experts' weights a rank has those of its own.
LogicalResult Exchanger::keepSome(ParameterOp parameter) {
  auto type = typeOf(parameter.getResult());
  SmallVector<Attribute> shards;
  if (ArrayAttr others = parameter.getShardsAttr())
    llvm::append_range(shards, others);
  for (Attribute shard : shards)
    if (llvm::is_contained(cast<ShardAttr>(shard).getAxes(), axis))
      return success();
  for (Attribute shard : shards)
    if (cast<ShardAttr>(shard).getDimension() == 0)
      return parameter.emitOpError()
             << "cannot be exchanged: ranks along other axes have some of its "
                "experts each";
  const int64_t experts = type.getDimension(0);
  if (experts % ranks)
    return parameter.emitOpError()
           << "cannot be exchanged: " << ranks << " ranks along axis " << axis
           << " cannot have equally many of the " << experts << " experts of "
           << parameter.getSources()[0];
  shards.insert(shards.begin(),
                ShardAttr::get(axis.getContext(), 0, experts, axes, 1, {}));
  parameter.setShardsAttr(ArrayAttr::get(axis.getContext(), shards));
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= ranks;
  parameter.getResult().setType(type.withShape(shape));
  return success();
}

/// A rank's experts have seen the rows of all ranks along the axis.
void Exchanger::keepOwnGradients(GradientOp gradient) {
  auto without = [&](StringRef name) {
    SmallVector<Attribute> rest;
    if (auto list = gradient->getAttrOfType<ArrayAttr>(name))
      for (Attribute other : list)
        if (other != axis)
          rest.push_back(other);
    return rest;
  };
  SmallVector<Attribute> summed = without(kSummed),
                         scattered = without(kScatteredOver);
  if (summed.empty()) {
    for (StringRef name : {kSummed, kScattered, kScatteredOver})
      gradient->removeAttr(name);
    return;
  }
  Builder builder(gradient.getContext());
  gradient->setAttr(kSummed, builder.getArrayAttr(summed));
  if (scattered.empty() || scattered.size() == summed.size())
    gradient->removeAttr(kScatteredOver);
}

/// What is saved is what most readers want: a value of own rows where all of
/// them add up a row's places.
void Exchanger::placeSaved() {
  program.walk([&](SavedOp op) {
    if (!isOfPlaces(op.getResult()))
      return;
    const bool isOwn = llvm::all_of(op->getUsers(), isOfRows);
    auto [side, isNew] = saved.try_emplace(op.getName(), Side::own);
    if (!isOwn)
      side->second = Side::experts;
  });
}

Side Exchanger::sideOf(Value value) {
  if (auto known = sides.find(value); known != sides.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  Side side = Side::own;
  if (auto read = dyn_cast<SavedOp>(op))
    side = saved.lookup(read.getName());
  else if (isProduct(op))
    side = Side::experts;
  else if (!isa<GatherOp, CombineInputGradientOp>(op) &&
           llvm::any_of(op->getOperands(), [&](Value operand) {
             return isOfPlaces(operand) && sideOf(operand) == Side::experts;
           }))
    side = Side::experts;
  return sides[value] = side;
}

/// A row's places of all ranks' rows.
static StepTensorType ofExperts(StepTensorType type, int64_t ranks) {
  SmallVector<int64_t> shape(type.getShape());
  shape[1] *= ranks;
  return type.withShape(shape);
}

void Exchanger::retype() {
  program.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<StepTensorType>(result.getType()) && isOfPlaces(result))
        sideOf(result);
  });
  for (auto [value, side] : sides)
    if (side == Side::experts)
      value.setType(ofExperts(typeOf(value), ranks));
}

ExchangeCountsOp Exchanger::countsOf(DispatchOp dispatch) {
  ExchangeCountsOp &made = counts[dispatch];
  if (made)
    return made;
  OpBuilder builder(dispatch->getContext());
  builder.setInsertionPointAfter(dispatch);
  auto bounds = typeOf(dispatch.getBounds());
  const int64_t own = dispatch.countExperts() / ranks;
  auto table =
      bounds.withShape({ranks, static_cast<int64_t>(llvm::alignTo(own, 16))});
  made = builder.create<ExchangeCountsOp>(
      dispatch.getLoc(), bounds.withShape({own + 2}), table,
      dispatch.getBounds(), axes, payloadOf(table));
  return made;
}

Value Exchanger::moved(Value value, Side to, Operation *before,
                       DispatchOp dispatch) {
  Value &made = exchanged[{value, dispatch}];
  if (made)
    return made;
  ++numExchanges;
  ExchangeCountsOp by = countsOf(dispatch);
  OpBuilder builder(before);
  Location location = value.getLoc();
  auto type = typeOf(value);
  if (to == Side::experts) {
    made = builder.create<DispatchRowsOp>(
        location, ofExperts(type, ranks), value, dispatch.getBounds(),
        by.getResult(), by.getCounts(), axes, payloadOf(type));
    return made;
  }
  SmallVector<int64_t> shape(type.getShape());
  shape[1] /= ranks;
  auto own = type.withShape(shape);
  made = builder.create<CombineRowsOp>(location, own, value,
                                       dispatch.getBounds(), by.getResult(),
                                       by.getCounts(), axes, payloadOf(own));
  return made;
}

/// Operands to where the op reads them.
LogicalResult Exchanger::bring(Operation *op) {
  Side to = Side::own;
  if (isProduct(op))
    to = Side::experts;
  else if (auto save = dyn_cast<SaveOp>(op))
    to = saved.lookup(save.getName());
  else if (!isOfRows(op) && op->getNumResults() == 1 &&
           isOfPlaces(op->getResult(0)))
    to = sideOf(op->getResult(0));
  else if (!isOfRows(op))
    return op->emitOpError() << "cannot be exchanged: it reads rows by places "
                                "of experts, and so far only a layer does";
  DispatchOp dispatch = readers.lookup(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    auto side = sides.find(value);
    if (side == sides.end() || side->second == to)
      continue;
    if (!dispatch)
      return op->emitOpError() << "cannot be exchanged: nothing says at which "
                                  "places its rows stand";
    operand.set(moved(value, to, op, dispatch));
  }
  if (isProduct(op))
    boundsOf(op).set(countsOf(dispatch).getResult());
  return success();
}

LogicalResult Exchanger::run() {
  mergeEqual();
  if (failed(findExperts()))
    return failure();
  WalkResult kept = program.walk([&](Operation *op) {
    Value weight = weightOf(op);
    if (auto gradient = dyn_cast<GradientOp>(op);
        gradient && isa_and_present<GroupedLinearWeightGradientOp>(
                        gradient.getGradient().getDefiningOp())) {
      weight = gradient.getParameter();
      keepOwnGradients(gradient);
    }
    if (auto made = dyn_cast<GroupedLinearWeightGradientOp>(op)) {
      auto type = typeOf(made.getResult());
      SmallVector<int64_t> shape(type.getShape());
      shape[0] /= ranks;
      made.getResult().setType(type.withShape(shape));
    }
    if (!weight)
      return WalkResult::advance();
    auto parameter = weight.getDefiningOp<ParameterOp>();
    if (parameter)
      return WalkResult(keepSome(parameter));
    op->emitOpError() << "cannot be exchanged: its weights are no parameter";
    return WalkResult::interrupt();
  });
  if (kept.wasInterrupted())
    return failure();
  placeSaved();
  retype();
  for (auto [op, dispatch] : readers)
    if (failed(bring(op)))
      return failure();
  return success();
}

namespace {
struct ExchangeExperts
    : baton::sharding::impl::ExchangeExpertsBase<ExchangeExperts> {
  using ExchangeExpertsBase::ExchangeExpertsBase;

  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    auto name = StringAttr::get(&getContext(), axis);
    if (!mesh || !mesh.getSize(name)) {
      getOperation().emitError()
          << "exchange-experts: the mesh has no axis " << name;
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (!program.getTraining() || !mesh.isBatch(name)) {
        program.emitOpError()
            << "cannot be exchanged: ranks along axis " << name
            << " have the same rows, expected a batch axis of a program that "
               "trains";
        return signalPassFailure();
      }
      Exchanger exchanger(program, mesh, name);
      if (failed(exchanger.run()))
        return signalPassFailure();
      numExchanges += exchanger.numExchanges;
    }
  }
};
} // namespace
