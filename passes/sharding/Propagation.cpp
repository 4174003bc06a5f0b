//===- Propagation.cpp - from what is known of some values to all ---------===//

#include "passes/sharding/Propagation.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

//===----------------------------------------------------------------------===//
// Slots and nodes
//===----------------------------------------------------------------------===//

unsigned Propagation::addSlot(Value value) {
  auto type = cast<StepTensorType>(value.getType());
  slots.push_back({nameOf(value), type, Shardings(type.getRank())});
  return slots.size() - 1;
}

void Propagation::addIdentity(Operation *op, ArrayRef<unsigned> ids,
                              ValueRange alike, bool isGradientsPlace) {
  nodes.push_back(
      {op, identityRule(alike), SmallVector<unsigned>(ids), isGradientsPlace});
}

/// Nothing of an op's tensors may be sharded.
static Rule wholeRule(Operation *op) {
  Rule rule;
  auto add = [&](Value value) {
    FactorLists tensor;
    for (int64_t size : cast<StepTensorType>(value.getType()).getShape()) {
      tensor.push_back({unsigned(rule.factors.size())});
      rule.factors.push_back(
          {'?', std::max<int64_t>(size, 0), FactorKind::replicated});
    }
    return tensor;
  };
  for (Value operand : op->getOperands())
    rule.operands.push_back(add(operand));
  for (Value result : op->getResults())
    rule.results.push_back(add(result));
  return rule;
}

LogicalResult Propagation::addOp(Operation *op) {
  auto slot = [&](Value value) { return slotOf.lookup(value); };
  // What several values share a slot for: a name and a type.
  auto shared = [&](Attribute name, Value value) {
    auto [entry, isNew] = named.try_emplace({name, value.getType()}, 0u);
    if (isNew)
      entry->second = addSlot(value);
    return entry->second;
  };
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    slotOf[op->getResult(0)] =
        shared(parameter.getSourcesAttr(), op->getResult(0));
    parameterSlots.insert(slotOf[op->getResult(0)]);
    return success();
  }
  if (auto saved = dyn_cast<SavedOp>(op)) {
    slotOf[op->getResult(0)] = shared(saved.getNameAttr(), op->getResult(0));
    return success();
  }
  if (auto save = dyn_cast<SaveOp>(op)) {
    addIdentity(op,
                {slot(save.getX()), shared(save.getNameAttr(), save.getX())},
                {save.getX(), save.getX()});
    return success();
  }
  if (auto gradient = dyn_cast<GradientOp>(op)) {
    unsigned place = gradientSlots[op] = addSlot(gradient.getGradient());
    addIdentity(op, {slot(gradient.getGradient()), place},
                {gradient.getGradient(), gradient.getGradient()});
    addIdentity(op, {place, slot(gradient.getParameter())},
                {gradient.getGradient(), gradient.getGradient()},
                /*isGradientsPlace=*/true);
    return success();
  }
  if (auto stack = dyn_cast<StackOp>(op)) {
    for (auto [argument, result] :
         llvm::zip(stack.getBody().getArguments(), stack.getResults()))
      slotOf[argument] = slotOf[result] = addSlot(result);
    for (auto [init, result] : llvm::zip(stack.getInits(), stack.getResults()))
      addIdentity(op, {slot(init), slot(result)}, {init, result});
    return success();
  }
  if (isa<YieldOp>(op)) {
    for (auto [value, result] :
         llvm::zip(op->getOperands(), op->getParentOp()->getResults()))
      addIdentity(op, {slot(value), slot(result)}, {value, result});
    return success();
  }
  std::optional<Rule> rule;
  if (hasRule(op->getName().getStringRef()))
    rule = ruleOf(op);
  else if (!whyWithoutRule(op->getName().getStringRef()).empty())
    rule = wholeRule(op);
  else
    return op->emitOpError() << "has no sharding rule";
  if (!rule)
    return failure();
  Node node{op, *rule, {}};
  for (Value result : op->getResults())
    slotOf[result] = addSlot(result);
  for (Value operand : op->getOperands())
    node.slots.push_back(slot(operand));
  for (Value result : op->getResults())
    node.slots.push_back(slot(result));
  nodes.push_back(node);
  return success();
}

LogicalResult Propagation::collect() {
  for (BlockArgument argument : program.getBody().getArguments())
    slotOf[argument] = addSlot(argument);
  WalkResult result =
      program.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
        return failed(addOp(op)) ? WalkResult::interrupt()
                                 : WalkResult::advance();
      });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

void Propagation::beginTactic(StringRef name) {
  ++tactic;
  tacticName = name.str();
}

const Origin *Propagation::newOrigin(unsigned slot, unsigned dimension) {
  origins.push_back(
      {tactic, tacticName,
       "dimension " + std::to_string(dimension) + " of " + slots[slot].name});
  return &origins.back();
}

/// The first ranks have one index more.
static void makeUneven(Sharding &sharding, int64_t size, int64_t ranks) {
  sharding.granularity = 1;
  for (int64_t rank = 0; rank < ranks; ++rank)
    sharding.units.push_back(size / ranks + (rank < size % ranks));
}

LogicalResult Propagation::place(Operation *op, unsigned id, unsigned dimension,
                                 StringAttr axis, bool mayBeRagged) {
  Slot &slot = slots[id];
  // An earlier tactic has used it here.
  for (const Sharding &sharding : slot.shardings)
    if (sharding.has(axis))
      return success();
  Sharding &sharding = slot.shardings[dimension];
  int64_t size = slot.type.getDimension(dimension);
  // Rows that are cut inside of sequences are not cut between them.
  if (size == kRows && mesh.isBatch(axis) &&
      llvm::any_of(sharding.axes, [&](const Sharding::Use &use) {
        return !mesh.isBatch(use.axis);
      }))
    return success();
  int64_t ranks = mesh.getSize(axis);
  bool even = isSymbol(size) || (!sharding.granularity &&
                                 divides(size, sharding.axes, ranks, mesh));
  if (!even) {
    // What other tactics have cut already may be left as it is.
    bool isCut = llvm::any_of(sharding.axes, [&](const Sharding::Use &use) {
      return mayBeRagged || use.origin->tacticName != tacticName;
    });
    if (isCut)
      return success();
    if (!mayBeRagged) {
      int64_t parts = 1;
      for (const Sharding::Use &use : sharding.axes)
        parts *= mesh.getSize(use.axis);
      return op->emitOpError()
             << "cannot be sharded by tactic '" << tacticName << "': dimension "
             << dimension << " of " << slot.name << ", " << size
             << (parts > 1 ? " over " + std::to_string(parts) + " ranks" : "")
             << ", is not divisible by axis " << axis << " of size " << ranks;
    }
    makeUneven(sharding, size, ranks);
  }
  sharding.axes.push_back({axis, newOrigin(id, dimension)});
  return success();
}

LogicalResult Propagation::seed(Operation *op, Value value, unsigned dimension,
                                StringAttr axis, bool mayBeRagged) {
  return place(op, slotOf.lookup(value), dimension, axis, mayBeRagged);
}

LogicalResult Propagation::seedGradient(GradientOp op, unsigned dimension,
                                        StringAttr axis) {
  return place(op, gradientSlots.lookup(op), dimension, axis,
               /*mayBeRagged=*/true);
}

void Propagation::decide(StringAttr axis, ArrayRef<int> dimensions,
                         ArrayRef<int> factors) {
  const int64_t ranks = mesh.getSize(axis);
  for (auto [id, dimension] : llvm::enumerate(dimensions)) {
    if (dimension < 0)
      continue;
    Sharding &sharding = slots[id].shardings[dimension];
    int64_t size = slots[id].type.getDimension(dimension);
    if (!isSymbol(size) && !divides(size, sharding.axes, ranks, mesh))
      makeUneven(sharding, size, ranks);
    sharding.axes.push_back({axis, newOrigin(id, dimension)});
  }
  decisions.push_back({axis, factors.vec()});
}

LogicalResult Propagation::placeAll(Operation *op, unsigned slot,
                                    PlacementAttr placement) {
  bool isStated =
      llvm::any_of(slots[slot].shardings, [](const Sharding &sharding) {
        return !sharding.axes.empty();
      });
  if (isStated && placementOf(slot) != placement)
    return op->emitOpError()
           << "states " << placement << " where " << slots[slot].name
           << ", of which there is one, is stated to lie in "
           << placementOf(slot);
  for (auto [i, dimension] : llvm::enumerate(placement.getDimensions()))
    slots[slot].shardings[i] =
        sharding::shardingsOf(placement, newOrigin(slot, i))[i];
  return success();
}

LogicalResult Propagation::seedStated() {
  auto placeValues = [&](Operation *op, StringRef name,
                         ValueRange values) -> LogicalResult {
    auto list = op->getAttrOfType<ArrayAttr>(name);
    if (!list)
      return success();
    for (auto [value, attribute] : llvm::zip(values, list)) {
      auto placement = cast<PlacementAttr>(attribute);
      if (placement.isPartial())
        return op->emitOpError() << "states a partial placement, which only "
                                    "follows from others";
      if (failed(placeAll(op, slotOf.lookup(value), placement)))
        return failure();
    }
    return success();
  };
  if (failed(
          placeValues(program, kArguments, program.getBody().getArguments())))
    return failure();
  WalkResult result = program.getBody().walk([&](Operation *op) {
    if (failed(placeValues(op, kPlacements, op->getResults())))
      return WalkResult::interrupt();
    if (auto placement = op->getAttrOfType<PlacementAttr>(kGradient)) {
      cutGradients();
      if (failed(placeAll(op, gradientSlots.lookup(op), placement)))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Factors of a node
//===----------------------------------------------------------------------===//

SmallVector<Propagation::Claim> Propagation::claimsOf(const Node &node) const {
  SmallVector<Claim> claims;
  for (auto [value, slot] : llvm::enumerate(node.slots))
    for (auto [dimension, list] : llvm::enumerate(node.tensor(value))) {
      const Sharding &whole = slots[slot].shardings[dimension];
      for (auto [index, part] :
           llvm::zip(list, split(whole, list, node.rule, mesh)))
        for (auto [position, use] : llvm::enumerate(part.axes))
          claims.push_back({index, unsigned(position), use, unsigned(value),
                            unsigned(dimension), &whole});
    }
  auto order = [](const Claim &claim) {
    return std::tuple(claim.use.origin->tactic, claim.position, claim.factor,
                      claim.value, claim.dimension);
  };
  llvm::erase_if(claims, [&](const Claim &claim) {
    return llvm::any_of(decisions, [&](const auto &decision) {
      return decision.first == claim.use.axis;
    });
  });
  llvm::sort(claims, [&](const Claim &a, const Claim &b) {
    return order(a) < order(b);
  });
  return claims;
}

/// Whether an unused axis may follow those that the factor has.
bool Propagation::accepts(const Node &node, ArrayRef<Sharding> factors,
                          const Claim &claim) const {
  const Factor &factor = node.rule.factors[claim.factor];
  const Sharding &sharding = factors[claim.factor];
  if (factor.kind == FactorKind::replicated ||
      claim.position != sharding.axes.size())
    return false;
  // Ranks of a batch axis have other rows. What is made of weights alone all of
  // them make, however parts of a weight are kept.
  auto isParameter = [](Value value) {
    return bool(value.getDefiningOp<ParameterOp>());
  };
  if (node.op->getNumOperands() > 0 &&
      llvm::all_of(node.op->getOperands(), isParameter) &&
      mesh.isBatch(claim.use.axis))
    return false;
  // The same axes outside of it.
  const FactorList &own = node.tensor(claim.value)[claim.dimension];
  SmallVector<Sharding, 2> parts = split(*claim.part, own, node.rule, mesh);
  const Sharding &part = parts[llvm::find(own, claim.factor) - own.begin()];
  for (unsigned i = 0; i < claim.position; ++i)
    if (part.axes[i].axis != sharding.axes[i].axis)
      return false;
  bool ragged = claim.part->granularity;
  if (!ragged &&
      (sharding.granularity || !divides(factor.size, sharding.axes,
                                        mesh.getSize(claim.use.axis), mesh)))
    return false;
  // Every dimension can show it: what is outside of it is sharded to its end.
  for (unsigned value = 0; value < node.slots.size(); ++value)
    for (const FactorList &list : node.tensor(value)) {
      if (!llvm::is_contained(list, claim.factor) || node.rule.isRows(list))
        continue;
      if (ragged && list.size() > 1)
        return false;
      for (unsigned outer : list) {
        if (outer == claim.factor)
          break;
        int64_t parts = 1;
        for (const Sharding::Use &use : factors[outer].axes)
          parts *= mesh.getSize(use.axis);
        if (parts != node.rule.factors[outer].size)
          return false;
      }
    }
  return true;
}

SmallVector<Sharding>
Propagation::factorsOf(const Node &node,
                       SmallVectorImpl<Conflict> *lost) const {
  SmallVector<Sharding> factors(node.rule.factors.size());
  for (const auto &[axis, chosen] : decisions)
    if (int index = chosen[&node - nodes.data()]; index >= 0) {
      Sharding &factor = factors[index];
      int64_t size = node.rule.factors[index].size;
      if (size && !divides(size, factor.axes, mesh.getSize(axis), mesh))
        makeUneven(factor, size, mesh.getSize(axis));
      factor.axes.push_back({axis, nullptr});
    }
  SmallVector<Claim> claims = claimsOf(node);
  llvm::SmallDenseMap<StringAttr, const Claim *> winners;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Claim &claim : claims) {
      if (winners.contains(claim.use.axis) || !accepts(node, factors, claim))
        continue;
      Sharding &factor = factors[claim.factor];
      factor.axes.push_back(claim.use);
      factor.granularity = claim.part->granularity;
      factor.units = claim.part->units;
      winners[claim.use.axis] = &claim;
      changed = true;
    }
  }
  if (!lost)
    return factors;
  for (const Claim &claim : claims) {
    const Claim *winner = winners.lookup(claim.use.axis);
    if (winner && winner->factor != claim.factor &&
        node.rule.factors[claim.factor].kind != FactorKind::replicated)
      lost->push_back({claim, *winner});
  }
  return factors;
}

//===----------------------------------------------------------------------===//
// The fixed point
//===----------------------------------------------------------------------===//

bool Propagation::mayTake(unsigned slot, StringAttr axis) const {
  if (llvm::any_of(decisions, [&](const auto &decision) {
        return decision.first == axis;
      }))
    return false;
  return !llvm::is_contained(kept, axis) || !parameterSlots.contains(slot);
}

bool Propagation::propagate(const Node &node) {
  if (!isActive(node))
    return false;
  SmallVector<Sharding> factors = factorsOf(node);
  bool changed = false;
  for (auto [value, id] : llvm::enumerate(node.slots))
    for (auto [dimension, list] : llvm::enumerate(node.tensor(value))) {
      Slot &slot = slots[id];
      Sharding &has = slot.shardings[dimension];
      Sharding wanted = combine(list, factors, node.rule, mesh);
      if (wanted.axes.size() <= has.axes.size() ||
          !llvm::all_of(llvm::zip_first(has.axes, wanted.axes), [](auto pair) {
            return std::get<0>(pair).axis == std::get<1>(pair).axis;
          }))
        continue;
      for (const Sharding::Use &use :
           ArrayRef(wanted.axes).drop_front(has.axes.size())) {
        // A dimension of the value that has the axis keeps it.
        if (!mayTake(id, use.axis) ||
            llvm::any_of(slot.shardings, [&](const Sharding &sharding) {
              return sharding.has(use.axis);
            }))
          break;
        has.axes.push_back(use);
        has.granularity = wanted.granularity;
        has.units = wanted.units;
        changed = true;
      }
    }
  return changed;
}

void Propagation::propagate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node &node : nodes)
      changed |= propagate(node);
    for (const Node &node : llvm::reverse(nodes))
      changed |= propagate(node);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

PlacementAttr Propagation::placementOf(unsigned slot) const {
  SmallVector<DimensionAttr> dimensions;
  for (const Sharding &sharding : slots[slot].shardings)
    dimensions.push_back(sharding.attribute(mesh.getContext()));
  return PlacementAttr::get(mesh.getContext(), dimensions, Reduction::sum, {});
}

void Propagation::annotate() {
  MLIRContext *context = mesh.getContext();
  auto set = [&](Operation *op, StringRef name, ArrayRef<Attribute> list,
                 ArrayRef<Attribute> unless) {
    if (list == unless)
      op->removeAttr(name);
    else
      op->setAttr(name, ArrayAttr::get(context, list));
  };
  auto setValues = [&](Operation *op, StringRef name, ValueRange values) {
    SmallVector<Attribute> list, whole;
    for (Value value : values) {
      list.push_back(placementOf(slotOf.lookup(value)));
      whole.push_back(
          replicated(context, cast<StepTensorType>(value.getType()).getRank()));
    }
    set(op, name, list, whole);
  };
  setValues(program, kArguments, program.getBody().getArguments());
  program.getBody().walk(
      [&](Operation *op) { setValues(op, kPlacements, op->getResults()); });
  for (const Node &node : nodes) {
    SmallVector<Attribute> read, written, lie;
    for (unsigned slot : node.slots)
      lie.push_back(placementOf(slot));
    if (auto gradient = dyn_cast<GradientOp>(node.op)) {
      if (!node.isGradientsPlace)
        continue;
      if (lie[0] != lie[1])
        node.op->setAttr(kGradient, lie[0]);
      set(node.op, kOperands, lie,
          {placementOf(slotOf.lookup(gradient.getGradient())), lie[1]});
      continue;
    }
    if (isa<SaveOp>(node.op)) {
      set(node.op, kOperands, lie[1], lie[0]);
      continue;
    }
    if (isa<StackOp, YieldOp>(node.op))
      continue;
    SmallVector<Sharding> factors = factorsOf(node);
    for (const FactorLists &tensor : node.rule.operands)
      read.push_back(sharding::placementOf(tensor, factors, node.rule, mesh));
    for (const FactorLists &tensor : node.rule.results)
      written.push_back(computedPlacement(tensor, factors, node.rule, mesh));
    set(node.op, kOperands, read, ArrayRef(lie).take_front(read.size()));
    set(node.op, kComputed, written, ArrayRef(lie).drop_front(read.size()));
  }
}

std::string Propagation::describe(const Node &node, const Claim &claim) const {
  return "dimension " + std::to_string(claim.dimension) + " of " +
         slots[node.slots[claim.value]].name + " (tactic '" +
         claim.use.origin->tacticName + "', from " + claim.use.origin->where +
         ")";
}

void Propagation::explain() {
  for (const Node &node : nodes) {
    if (!isActive(node))
      continue;
    SmallVector<Conflict> conflicts;
    factorsOf(node, &conflicts);
    // Several values may claim the same for one factor.
    llvm::SmallSetVector<std::pair<StringAttr, unsigned>, 4> said;
    for (const Conflict &conflict : conflicts)
      if (said.insert({conflict.lost.use.axis, conflict.lost.factor}))
        node.op->emitRemark() << "axis " << conflict.lost.use.axis << " shards "
                              << describe(node, conflict.won) << ", not "
                              << describe(node, conflict.lost);
  }
}
