//===- InsertReshards.cpp - values where they are read --------------------===//

#include "passes/sharding/Passes.h"

#include "passes/sharding/Derivation.h"
#include "passes/sharding/LossExpansion.h"

#include "llvm/ADT/StringMap.h"

namespace baton::sharding {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

namespace {

/// Walks a program in its order.
class Inserter {
public:
  Inserter(ProgramOp program, MeshOp mesh)
      : program(program), mesh(mesh), builder(program.getContext()) {}

  void run();
  unsigned numReshards = 0;

private:
  void readAnnotations();
  void visit(Operation *op);
  PlacementAttr wanted(OpOperand &operand);
  bool isLinearIn(OpOperand &operand);
  bool staysPartial(SaveOp save);
  bool passPartials(Operation *op, const Rule &rule);
  void bring(OpOperand &operand, PlacementAttr to);
  Value settle(Value value, PlacementAttr to);
  Value reshard(Value value, PlacementAttr to);

  ProgramOp program;
  MeshOp mesh;
  OpBuilder builder;
  /// Where values are to lie, and where they do so far.
  llvm::DenseMap<Value, PlacementAttr> kept, lies;
  /// Where parts of sums lie that are saved, by their names.
  llvm::StringMap<PlacementAttr> partial;
  /// How ops read their operands, if not as they are to lie.
  llvm::DenseMap<OpOperand *, PlacementAttr> reads;
  /// Partial values that were made whole, and values brought to a place.
  llvm::DenseMap<Value, Value> settled;
  llvm::DenseMap<std::tuple<Value, PlacementAttr, Block *>, Value> brought;
};

} // namespace

void Inserter::readAnnotations() {
  auto readBlock = [&](Block &block) {
    for (BlockArgument argument : block.getArguments())
      kept[argument] = lies[argument] = dist::placementOf(argument);
  };
  readBlock(program.getBody().front());
  program.getBody().walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        readBlock(block);
    auto computed = op->getAttrOfType<ArrayAttr>(kComputed);
    for (OpResult result : op->getResults()) {
      kept[result] = lies[result] = dist::placementOf(result);
      if (computed)
        lies[result] = cast<PlacementAttr>(computed[result.getResultNumber()]);
    }
    if (auto list = op->getAttrOfType<ArrayAttr>(kOperands))
      for (OpOperand &operand : op->getOpOperands())
        reads[&operand] = cast<PlacementAttr>(list[operand.getOperandNumber()]);
  });
}

/// Where an op reads an operand, if it is not a part of a sum.
PlacementAttr Inserter::wanted(OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  if (isa<StackOp>(operand.getOwner()))
    return kept[operand.getOwner()->getResult(index)];
  if (isa<YieldOp>(operand.getOwner()))
    return kept[operand.getOwner()->getParentOp()->getResult(index)];
  if (PlacementAttr placement = reads.lookup(&operand))
    return placement;
  return kept[operand.get()];
}

/// The value elsewhere, by an op at the builder's place.
Value Inserter::reshard(Value value, PlacementAttr to) {
  ++numReshards;
  Value result = builder.create<ReshardOp>(value.getLoc(), value.getType(),
                                           value, lies[value], to);
  lies[result] = kept[result] = to;
  return result;
}

/// A partial value made whole, right behind the op that makes it.
Value Inserter::settle(Value value, PlacementAttr to) {
  Value &result = settled[value];
  if (!result) {
    builder.setInsertionPointAfterValue(value);
    result = reshard(value, to);
  }
  return result;
}

void Inserter::bring(OpOperand &operand, PlacementAttr to) {
  Value value = operand.get();
  if (lies[value] == to)
    return;
  if (lies[value].isPartial() || lies[value] != kept[value]) {
    // At once to where the only reader wants it, else to where all read it.
    bool direct = value.hasOneUse() && !to.isPartial();
    Value whole = settle(value, direct ? to : kept[value]);
    operand.set(whole);
    return bring(operand, to);
  }
  Operation *reader = operand.getOwner();
  // What is the same in all iterations is brought once, in front of the stack.
  while (reader->getBlock() != value.getParentBlock())
    reader = reader->getParentOp();
  Value &result = brought[{value, to, reader->getBlock()}];
  if (!result) {
    builder.setInsertionPoint(reader);
    result = reshard(value, to);
  }
  operand.set(result);
}

/// Whether an op may read a part of a sum there.
bool Inserter::isLinearIn(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (!hasRule(op->getName().getStringRef()))
    return false;
  std::optional<Rule> rule = ruleOf(op);
  return rule && rule->isLinear &&
         llvm::is_contained(rule->terms, operand.getOperandNumber());
}

/// Whether all that read a value, now and where it was saved, may read parts of
/// it: then each rank saves its own.
bool Inserter::staysPartial(SaveOp save) {
  auto mayRead = [&](OpOperand &use) {
    return isa<SaveOp>(use.getOwner()) || isLinearIn(use);
  };
  if (!llvm::all_of(save.getX().getUses(), mayRead))
    return false;
  return !program.getBody()
              .walk([&](SavedOp saved) {
                bool fits = saved.getName() != save.getName() ||
                            llvm::all_of(saved->getUses(), mayRead);
                return fits ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Where all terms of an op are parts of sums that nothing else reads, but for
/// who saves them, and lie alike, the op adds parts where they lie, and the sum
/// over ranks comes after it.
bool Inserter::passPartials(Operation *op, const Rule &rule) {
  if (!rule.isLinear || !lies[op->getOperand(rule.terms.front())].isPartial())
    return false;
  if (auto save = dyn_cast<SaveOp>(op)) {
    if (!staysPartial(save))
      return false;
    partial[save.getName()] = lies[save.getX()];
    return true;
  }
  SmallVector<PlacementAttr> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isTerm = llvm::is_contained(rule.terms, operand.getOperandNumber());
    operands.push_back(isTerm ? lies[operand.get()] : wanted(operand));
    for (Operation *user : operand.get().getUsers())
      if (isTerm && user != op && !isa<SaveOp>(user))
        return false;
  }
  auto results = deriveResults(rule, operands, {}, mesh,
                               [] { return InFlightDiagnostic(); });
  if (!results)
    return false;
  for (auto [result, placement] : llvm::zip(op->getResults(), *results))
    lies[result] = placement;
  return true;
}

void Inserter::visit(Operation *op) {
  if (auto saved = dyn_cast<SavedOp>(op))
    if (PlacementAttr placement = partial.lookup(saved.getName()))
      lies[saved.getResult()] = placement;
  std::optional<Rule> rule;
  if (hasRule(op->getName().getStringRef()))
    rule = ruleOf(op);
  bool passes = rule && passPartials(op, *rule);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isTerm =
        rule && llvm::is_contained(rule->terms, operand.getOperandNumber());
    if (passes && isTerm)
      continue;
    PlacementAttr to = wanted(operand);
    // A term of a sum that is partial is one of its parts; one that results
    // are linear in is not, whatever else they are sums over.
    if (isTerm && !rule->isLinear)
      to = to.withPartial(Reduction::sum,
                          lies[op->getResult(0)].getPartialAxes());
    bring(operand, to);
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : llvm::make_early_inc_range(block))
        visit(&inner);
}

void Inserter::run() {
  readAnnotations();
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front()))
    visit(&op);
  program.getBody().walk([&](Operation *op) {
    op->removeAttr(kOperands);
    op->removeAttr(kComputed);
    if (op->getNumResults() == 0 || isa<ReshardOp>(op))
      return;
    SmallVector<Attribute> list, whole;
    for (Value result : op->getResults()) {
      list.push_back(lies[result]);
      whole.push_back(
          replicated(op->getContext(), lies[result].getDimensions().size()));
    }
    if (list == whole)
      op->removeAttr(kPlacements);
    else
      op->setAttr(kPlacements, ArrayAttr::get(op->getContext(), list));
  });
}

namespace {
struct InsertReshards
    : baton::sharding::impl::InsertReshardsBase<InsertReshards> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (failed(expandLosses(program, mesh)))
        return signalPassFailure();
      Inserter inserter(program, mesh);
      inserter.run();
      numReshards += inserter.numReshards;
    }
  }
};
} // namespace
