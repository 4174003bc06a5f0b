//===- PlacementProblem.cpp - where one axis should shard a program -------===//

#include "passes/planning/PlacementProblem.h"

#include "passes/pipeline/Flops.h"
#include "passes/sharding/Derivation.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::planning;
using namespace baton::sharding;

static StepTensorType typeOfValue(Value value) {
  return cast<StepTensorType>(value.getType());
}

PlacementProblem::PlacementProblem(Propagation &propagation, StringAttr axis,
                                   const DeviceFacts &facts, const Sizes &sizes,
                                   const Exchanges &may)
    : propagation(propagation), mesh(propagation.getMesh()), axis(axis),
      facts(facts), sizes(sizes), may(may),
      isTraining(propagation.getProgram().getTraining()),
      slots(propagation.getSlots().size()),
      nodes(propagation.getNodes().size()) {
  for (auto [i, node] : llvm::enumerate(propagation.getNodes()))
    if (!isa<SaveOp, GradientOp, StackOp, YieldOp>(node.op))
      nodeOf[node.op] = i;
  addKeptPlaces();
  propagation.getProgram().getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { addOp(op); });
  noteMemory();
  findParts();
  writeChoices();
  writeReads();
  writeResults();
}

//===----------------------------------------------------------------------===//
// Where values may lie
//===----------------------------------------------------------------------===//

/// Sizes of vocabularies, which alone may be uneven.
static llvm::SmallDenseSet<int64_t> vocabularies(Propagation &propagation) {
  llvm::SmallDenseSet<int64_t> sizes;
  for (const Propagation::Node &node : propagation.getNodes())
    if (isa<EmbeddingOp, CrossEntropyOp>(node.op))
      for (const Factor &factor : node.rule.factors)
        if (factor.letter == 'v')
          sizes.insert(factor.size);
  return sizes;
}

void PlacementProblem::addKeptPlaces() {
  const int64_t ranks = mesh.getSize(axis);
  llvm::SmallDenseSet<int64_t> uneven = vocabularies(propagation);
  for (auto [id, known] : llvm::enumerate(propagation.getSlots())) {
    PlacementAttr placement = propagation.placementOf(id);
    std::vector<Place> &places = slots[id].places;
    places.push_back({-1, placement});
    // What is stated stays.
    if (llvm::any_of(known.shardings, [&](const Sharding &sharding) {
          return sharding.has(axis);
        }))
      continue;
    ArrayRef<int64_t> shape = known.type.getShape();
    bool isWeight = llvm::none_of(shape, isSymbol);
    for (auto [i, size] : llvm::enumerate(shape)) {
      Sharding sharding = known.shardings[i];
      if (isSymbol(size)) {
        if (!may.rows || size != kRows || shape.size() > 2)
          continue;
      } else if (sharding.granularity) {
        continue;
      } else if (!divides(size, sharding.axes, ranks, mesh)) {
        if (!isWeight || i || !sharding.axes.empty() || !uneven.contains(size))
          continue;
        sharding.granularity = 1;
        for (int64_t rank = 0; rank < ranks; ++rank)
          sharding.units.push_back(size / ranks + (rank < size % ranks));
      }
      sharding.axes.push_back({axis, nullptr});
      places.push_back({int(i), placement.withDimension(
                                    i, sharding.attribute(mesh.getContext()))});
    }
  }
}

/// Whether an operand is a term of its op's sum.
static std::optional<Rule> ruleOfTerm(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (!hasRule(op->getName().getStringRef()))
    return std::nullopt;
  std::optional<Rule> rule = ruleOf(op);
  if (!rule || !llvm::is_contained(rule->terms, operand.getOperandNumber()))
    return std::nullopt;
  return rule;
}

/// As insert-reshards has it: one op adds to the sum, whoever saves it.
bool PlacementProblem::mayStayPartial(Value value) const {
  unsigned readers = 0;
  for (OpOperand &use : value.getUses())
    if (!isa<SaveOp>(use.getOwner()) && (++readers > 1 || !ruleOfTerm(use)))
      return false;
  return !value.use_empty() && !isa<StackOp>(value.getDefiningOp());
}

/// The same, where one reader's only term it is: then it does.
bool PlacementProblem::hasToStayPartial(Value value) const {
  if (!mayStayPartial(value))
    return false;
  for (OpOperand &use : value.getUses())
    if (!isa<SaveOp>(use.getOwner())) {
      std::optional<Rule> rule = ruleOfTerm(use);
      return rule->isLinear && rule->terms.size() == 1;
    }
  return false;
}

void PlacementProblem::addPartialPlaces(unsigned node) {
  const Propagation::Node &known = propagation.getNodes()[node];
  for (auto [i, result] : llvm::enumerate(known.op->getResults())) {
    if (!mayStayPartial(result))
      continue;
    std::vector<Place> &places = slots[propagation.slot(result)].places;
    llvm::SmallDenseSet<PlacementAttr> seen;
    for (const Way &way : nodes[node].ways) {
      PlacementAttr lies = way.results[i];
      if (!lies.isPartial() || !seen.insert(lies).second)
        continue;
      for (const Place &place : places)
        if (place.placement == lies.withoutPartial()) {
          places.push_back({place.dimension, lies});
          break;
        }
    }
  }
}

/// What is saved is partial where all that read it, now and then, are linear.
void PlacementProblem::addSavedPlaces(SaveOp save) {
  auto isLinear = [](OpOperand &use) {
    if (isa<SaveOp>(use.getOwner()))
      return true;
    std::optional<Rule> rule = ruleOfTerm(use);
    return rule && rule->isLinear;
  };
  bool may = llvm::all_of(save.getX().getUses(), isLinear);
  propagation.getProgram().getBody().walk([&](SavedOp saved) {
    if (saved.getName() == save.getName())
      may &= saved->hasOneUse() && isLinear(*saved->use_begin());
  });
  if (!may)
    return;
  for (const Place &place : slots[propagation.slot(save.getX())].places)
    if (place.placement.isPartial())
      slots[propagation.slot(save)].places.push_back(place);
}

SmallVector<PlacementAttr> PlacementProblem::placesOf(unsigned slot) const {
  SmallVector<PlacementAttr> list;
  for (const Place &place : slots[slot].places)
    list.push_back(place.placement);
  return list;
}

//===----------------------------------------------------------------------===//
// How ops may be computed
//===----------------------------------------------------------------------===//

static int64_t countParts(const Sharding &sharding, MeshOp mesh) {
  int64_t parts = 1;
  for (const Sharding::Use &use : sharding.axes)
    parts *= mesh.getSize(use.axis);
  return parts;
}

/// Products of experts are made of so many outputs at a time, and a bias is
/// added once.
static bool mayCutExperts(Operation *op, const Factor &factor, int64_t ranks) {
  if (auto linear = dyn_cast<GroupedLinearOp>(op); linear && linear.getBias())
    return false;
  if (!op->getName().getStringRef().contains("grouped") || factor.letter == 'e')
    return true;
  return factor.size % (ranks * kExpertOutputs) == 0;
}

bool PlacementProblem::mayCut(const Propagation::Node &node, unsigned index,
                              ArrayRef<Sharding> factors) const {
  const Factor &factor = node.rule.factors[index];
  const int64_t ranks = mesh.getSize(axis);
  if (factor.kind == FactorKind::replicated || factors[index].granularity)
    return false;
  if (factor.kind == FactorKind::expanded &&
      !(isa<CrossEntropyOp>(node.op) &&
        cast<CrossEntropyOp>(node.op).getTeacher().empty()))
    return false;
  if (!factor.size)
    return may.rows && factor.letter == 's';
  if (!mayCutExperts(node.op, factor, ranks))
    return false;
  bool even = divides(factor.size, factors[index].axes, ranks, mesh);
  if (!even && (factor.letter != 'v' || !factors[index].axes.empty()))
    return false;
  // Every dimension can show it: what is outside of it is sharded to its end.
  for (unsigned i = 0; i < node.slots.size(); ++i)
    for (const FactorList &list : node.tensor(i)) {
      if (!llvm::is_contained(list, index))
        continue;
      if (!even && list.size() > 1)
        return false;
      for (unsigned outer : list) {
        if (outer == index)
          break;
        if (countParts(factors[outer], mesh) != node.rule.factors[outer].size)
          return false;
      }
    }
  return true;
}

/// With the axes of another placement's sum, in the mesh's order.
static PlacementAttr withAxis(PlacementAttr placement, StringAttr axis,
                              MeshOp mesh) {
  SmallVector<StringAttr> axes;
  for (auto name : mesh.getNames().getAsRange<StringAttr>())
    if (name == axis || llvm::is_contained(placement.getPartialAxes(), name))
      axes.push_back(name);
  return placement.withPartial(Reduction::sum, axes);
}

std::optional<PlacementProblem::Way> PlacementProblem::wayOf(unsigned index,
                                                             int factor) const {
  const Propagation::Node &node = propagation.getNodes()[index];
  SmallVector<Sharding> factors = propagation.shardingsOf(node);
  if (factor >= 0) {
    if (!mayCut(node, factor, factors))
      return std::nullopt;
    Sharding &sharding = factors[factor];
    int64_t size = node.rule.factors[factor].size;
    int64_t ranks = mesh.getSize(axis);
    if (size && !divides(size, sharding.axes, ranks, mesh)) {
      sharding.granularity = 1;
      for (int64_t rank = 0; rank < ranks; ++rank)
        sharding.units.push_back(size / ranks + (rank < size % ranks));
    }
    sharding.axes.push_back({axis, nullptr});
  }
  Way way{factor, {}, {}, 0, {}};
  for (const FactorLists &tensor : node.rule.operands)
    way.operands.push_back(
        sharding::placementOf(tensor, factors, node.rule, mesh));
  for (const FactorLists &tensor : node.rule.results)
    way.results.push_back(computedPlacement(tensor, factors, node.rule, mesh));
  // A term of a sum that is partial is one of its parts.
  if (!node.rule.isLinear)
    for (unsigned term : node.rule.terms)
      way.operands[term] = way.operands[term].withPartial(
          Reduction::sum, way.results[0].getPartialAxes());
  // Ranks find the maximum of their logits and two sums over them, and each has
  // a part of the input's gradient.
  if (factor >= 0 && node.rule.factors[factor].kind == FactorKind::expanded) {
    auto loss = cast<CrossEntropyOp>(node.op);
    auto rows = typeOfValue(loss.getWeights());
    double bytes = planning::bytesOf(rows, way.operands[3], mesh, sizes);
    for (double numbers : {1, 2})
      way.inside += communicationOf(numbers * bytes, mesh.getSize(axis), true);
    unsigned dx = cast<OpResult>(loss.getDx()).getResultNumber();
    way.results[dx] = withAxis(way.results[dx], axis, mesh);
  }
  double parts = 1;
  for (const Sharding &sharding : factors)
    parts *= double(countParts(sharding, mesh));
  way.compute = computeSeconds(node.op, way, parts);
  return way;
}

/// Of a rank, the longer one of its part of the products and its bytes.
double PlacementProblem::computeSeconds(Operation *op, const Way &way,
                                        double parts) const {
  double bytes = 0, rows = sizes.rows;
  auto add = [&](Value value, PlacementAttr placement) {
    bytes += planning::bytesOf(typeOfValue(value), placement, mesh, sizes);
    ArrayRef<int64_t> shape = typeOfValue(value).getShape();
    if (!shape.empty() && shape.front() == kOutputs)
      rows = sizes.outputs;
  };
  for (auto [value, placement] : llvm::zip(op->getOperands(), way.operands))
    add(value, placement);
  for (auto [value, placement] : llvm::zip(op->getResults(), way.results))
    add(value, placement);
  double flops = pipeline::countFlops(op);
  // Logits and two products with their gradients; over a sharded vocabulary
  // logits are made once for statistics, and once for gradients.
  if (auto loss = dyn_cast<CrossEntropyOp>(op))
    flops = (way.inside.collectives > 0 ? 10.0 : 6.0) *
            double(typeOfValue(loss.getWeight()).getDimension(0)) *
            double(typeOfValue(loss.getWeight()).getDimension(1));
  return std::max(flops * rows / parts / facts.flops, bytes / facts.bandwidth);
}

/// An op that is linear in terms which are all parts of sums adds parts.
void PlacementProblem::addPassingWays(unsigned index) {
  const Propagation::Node &node = propagation.getNodes()[index];
  if (!node.rule.isLinear)
    return;
  unsigned first = node.rule.terms.front();
  std::vector<Way> passing;
  for (const Way &way : nodes[index].ways)
    for (const Place &place : slots[node.slots[first]].places) {
      PlacementAttr lies = place.placement;
      if (!lies.isPartial() || lies.withoutPartial() != way.operands[first] ||
          (way.factor >= 0 && llvm::is_contained(lies.getPartialAxes(), axis)))
        continue;
      Way pass = way;
      for (unsigned term : node.rule.terms)
        pass.operands[term] = pass.operands[term].withPartial(
            Reduction::sum, lies.getPartialAxes());
      auto results = deriveResults(node.rule, pass.operands, {}, mesh,
                                   [] { return InFlightDiagnostic(); });
      if (!results)
        continue;
      pass.results.assign(results->begin(), results->end());
      passing.push_back(pass);
    }
  llvm::append_range(nodes[index].ways, passing);
}

void PlacementProblem::addWays(unsigned index) {
  const Propagation::Node &node = propagation.getNodes()[index];
  std::vector<Way> &ways = nodes[index].ways;
  ways.push_back(*wayOf(index, -1));
  bool isStated =
      llvm::any_of(propagation.shardingsOf(node),
                   [&](const Sharding &factor) { return factor.has(axis); });
  for (unsigned factor = 0; factor < node.rule.factors.size() && !isStated;
       ++factor)
    if (auto way = wayOf(index, int(factor)))
      ways.push_back(*way);
  addPassingWays(index);
}

void PlacementProblem::addOp(Operation *op) {
  if (auto save = dyn_cast<SaveOp>(op))
    return addSavedPlaces(save);
  auto found = nodeOf.find(op);
  if (found == nodeOf.end())
    return;
  addWays(found->second);
  addPartialPlaces(found->second);
}

//===----------------------------------------------------------------------===//
// What it costs
//===----------------------------------------------------------------------===//

/// As localize and what comes after it know: sums of rows, rows and columns
/// that are gathered, columns that are taken, and sums of gradients.
bool PlacementProblem::mayStep(Value value, const ReshardStep &step) const {
  if (!llvm::is_contained(step.axes, axis))
    return true;
  if (step.kind == ReshardStep::firstRank)
    return true;
  StepTensorType type = typeOfValue(value);
  ArrayRef<int64_t> shape = type.getShape();
  if (value.getDefiningOp<ParameterOp>())
    return false;
  if (shape.empty() || shape.front() != kRows)
    return step.kind == ReshardStep::allReduce && isTraining &&
           llvm::none_of(shape, isSymbol);
  if (step.kind == ReshardStep::allReduce)
    return shape.size() <= 2;
  if (shape.size() != 2 || step.kind == ReshardStep::allToAll)
    return false;
  if (step.dimension == 0)
    return isTraining && may.rows && step.kind != ReshardStep::slice;
  return may.columns && step.kind != ReshardStep::reduceScatter &&
         !step.from.getDimensions()[1].isRagged() &&
         !step.to.getDimensions()[1].isRagged();
}

std::optional<Communication> PlacementProblem::bring(Value value,
                                                     PlacementAttr from,
                                                     PlacementAttr to) const {
  Communication sum;
  if (from == to)
    return sum;
  for (const ReshardStep &step : stepsOf(from, to)) {
    if (!mayStep(value, step))
      return std::nullopt;
    sum += communicationOf(step, typeOfValue(value), mesh, sizes);
  }
  return sum;
}

double PlacementProblem::secondsOf(const Communication &communication) const {
  return communication.collectives * facts.latency +
         communication.sent / facts.link;
}

void PlacementProblem::noteMemory() {
  propagation.getProgram().getBody().walk([&](Operation *op) {
    double times = repeatsOf(op->getBlock());
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      bool trains = isTraining && !parameter.getFrozen();
      slots[propagation.slot(parameter.getResult())].parameterTimes =
          times * (trains ? facts.stateFactor : 1);
    } else if (auto save = dyn_cast<SaveOp>(op)) {
      slots[propagation.slot(save)].savedTimes = times;
    } else if (auto append = dyn_cast<KvAppendOp>(op)) {
      slots[propagation.slot(append.getResult())].stateTimes = times;
    }
  });
}

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

void PlacementProblem::writeChoices() {
  choices.memory = facts.memory;
  for (auto [slot, known] : llvm::zip(slots, propagation.getSlots())) {
    slot.choice = choices.choices.size();
    Choice choice{known.name, {}, {}};
    double times = slot.parameterTimes + slot.savedTimes + slot.stateTimes;
    for (const Place &place : slot.places) {
      choice.seconds.push_back(0);
      choice.bytes.push_back(
          times == 0 ? 0
                     : times * planning::bytesOf(known.type, place.placement,
                                                 mesh, sizes));
    }
    choices.choices.push_back(std::move(choice));
  }
  for (auto [node, known] : llvm::zip(nodes, propagation.getNodes())) {
    if (node.ways.empty())
      continue;
    node.choice = choices.choices.size();
    Choice choice{known.op->getName().getStringRef().str(), {}, {}};
    double times = repeatsOf(known.op->getBlock());
    for (const Way &way : node.ways)
      choice.seconds.push_back(times * (way.compute + secondsOf(way.inside)));
    choices.choices.push_back(std::move(choice));
  }
}

void PlacementProblem::read(Value value, unsigned choice,
                            SmallVector<PlacementAttr> forms) {
  readers[value].push_back({choice, std::move(forms)});
}

void PlacementProblem::addTransfer(unsigned from, ArrayRef<PlacementAttr> lies,
                                   ArrayRef<Reader> list, Value value) {
  SmallVector<PlacementAttr> forms;
  Transfer transfer{from, {}, {}};
  for (const Reader &reader : list) {
    Transfer::Reader &own = transfer.readers.emplace_back();
    own.choice = reader.choice;
    for (PlacementAttr form : reader.forms) {
      auto found = llvm::find(forms, form);
      own.form.push_back(found - forms.begin());
      if (found == forms.end())
        forms.push_back(form);
    }
  }
  double times = repeatsOf(value.getParentBlock());
  auto &counts = exchanged.emplace_back();
  for (PlacementAttr at : lies) {
    std::vector<double> &seconds = transfer.seconds.emplace_back();
    std::vector<Communication> &row = counts.emplace_back();
    for (PlacementAttr form : forms) {
      std::optional<Communication> one = bring(value, at, form);
      row.push_back(one.value_or(Communication()) * times);
      seconds.push_back(one ? times * secondsOf(*one) : kForbidden);
    }
  }
  choices.transfers.push_back(std::move(transfer));
  brought.push_back(value);
}

/// Both have the axis in the same dimension.
void PlacementProblem::tie(unsigned slot, unsigned other) {
  Transfer transfer{slots[slot].choice, {}, {}};
  Transfer::Reader &reader = transfer.readers.emplace_back();
  reader.choice = slots[other].choice;
  for (unsigned i = 0; i < slots[other].places.size(); ++i)
    reader.form.push_back(i);
  auto &counts = exchanged.emplace_back();
  for (const Place &place : slots[slot].places) {
    std::vector<double> &seconds = transfer.seconds.emplace_back();
    for (const Place &same : slots[other].places)
      seconds.push_back(place.dimension == same.dimension ? 0 : kForbidden);
    counts.emplace_back(seconds.size());
  }
  choices.transfers.push_back(std::move(transfer));
  brought.push_back({});
}

void PlacementProblem::writeReads() {
  propagation.getProgram().getBody().walk([&](Operation *op) {
    auto readInto = [&](Value value, unsigned slot) {
      read(value, slots[slot].choice, placesOf(slot));
    };
    if (auto stack = dyn_cast<StackOp>(op)) {
      for (auto [init, result] :
           llvm::zip(stack.getInits(), stack.getResults()))
        readInto(init, propagation.slot(result));
    } else if (isa<YieldOp>(op)) {
      for (auto [value, result] :
           llvm::zip(op->getOperands(), op->getParentOp()->getResults()))
        readInto(value, propagation.slot(result));
    } else if (auto save = dyn_cast<SaveOp>(op)) {
      readInto(save.getX(), propagation.slot(save));
    } else if (auto gradient = dyn_cast<GradientOp>(op)) {
      readInto(gradient.getGradient(), propagation.slot(gradient));
      tie(propagation.slot(gradient),
          propagation.slot(gradient.getParameter()));
    } else if (auto found = nodeOf.find(op); found != nodeOf.end()) {
      const Node &node = nodes[found->second];
      for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
        SmallVector<PlacementAttr> forms;
        for (const Way &way : node.ways)
          forms.push_back(way.operands[i]);
        read(operand, node.choice, std::move(forms));
      }
    }
  });
  for (auto &[value, list] : readers) {
    unsigned slot = propagation.slot(value);
    addTransfer(slots[slot].choice, placesOf(slot), list, value);
  }
}

/// From how an op is computed to where its results lie.
void PlacementProblem::writeResults() {
  for (auto [node, known] : llvm::zip(nodes, propagation.getNodes())) {
    if (node.ways.empty())
      continue;
    for (auto [i, result] : llvm::enumerate(known.op->getResults())) {
      // Of what nobody reads nothing is brought anywhere.
      if (result.use_empty())
        continue;
      unsigned slot = propagation.slot(result);
      SmallVector<PlacementAttr> lies;
      for (const Way &way : node.ways)
        lies.push_back(way.results[i]);
      addTransfer(node.choice, lies, Reader{slots[slot].choice, placesOf(slot)},
                  result);
      // A sum's part stays as it was made.
      Transfer &transfer = choices.transfers.back();
      bool hasTo = hasToStayPartial(result);
      for (auto [way, row] : llvm::zip(lies, transfer.seconds))
        for (auto [place, seconds] : llvm::zip(slots[slot].places, row))
          if (place.placement.isPartial() ? place.placement != way
                                          : hasTo && way.isPartial())
            seconds = kForbidden;
    }
  }
}

//===----------------------------------------------------------------------===//
// What was chosen
//===----------------------------------------------------------------------===//

/// Stacks that run backwards are the adjoints of the others, the last one
/// first.
void PlacementProblem::findParts() {
  Block &body = propagation.getProgram().getBody().front();
  SmallVector<StackOp> forward, reversed;
  for (auto stack : body.getOps<StackOp>())
    (stack.getReverse() ? reversed : forward).push_back(stack);
  partLayers = {0};
  for (StackOp stack : forward) {
    ranges[stack] = {unsigned(partLayers.size()), unsigned(stack.getRepeat())};
    partLayers.insert(partLayers.end(), stack.getRepeat(),
                      stack.getLayersPerIteration());
  }
  partLayers.push_back(0);
  const unsigned last = partLayers.size() - 1;
  for (auto [i, stack] : llvm::enumerate(reversed)) {
    Range all{1, last - 1};
    if (reversed.size() == forward.size())
      all = ranges[forward[forward.size() - 1 - i]];
    ranges[stack] = all;
  }
  // What stands between the first stack and the last one's adjoint is the
  // model's end.
  Operation *begin = forward.empty() ? nullptr : forward.front();
  Operation *end = reversed.empty() ? nullptr : reversed.back();
  bool isEnd = false;
  for (Operation &op : body) {
    if (&op == begin)
      isEnd = true;
    if (!isa<StackOp>(op))
      ranges[&op] = {isEnd ? last : 0, 1};
    if (&op == end)
      isEnd = false;
  }
}

PlacementProblem::Range PlacementProblem::partsOf(Operation *op) const {
  while (op->getBlock() != &propagation.getProgram().getBody().front())
    op = op->getParentOp();
  return ranges.lookup(op);
}

PlacementProblem::Range PlacementProblem::partsOf(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return partsOf(op);
  Operation *parent = value.getParentBlock()->getParentOp();
  return isa<ProgramOp>(parent) ? Range() : partsOf(parent);
}

PlacementSummary PlacementProblem::summarize(ArrayRef<unsigned> options) const {
  PlacementSummary summary;
  for (int64_t layers : partLayers)
    summary.parts.push_back({0, 0, 0, layers});
  auto share = [&](Range range, double PartSummary::*what, double amount) {
    for (unsigned i = 0; i < range.count; ++i)
      summary.parts[range.first + i].*what += amount / range.count;
  };
  auto exchange = [&](const Communication &communication, Range range) {
    summary.communication += communication;
    summary.exchange += secondsOf(communication);
    share(range, &PartSummary::seconds, secondsOf(communication));
  };
  for (auto [node, known] : llvm::zip(nodes, propagation.getNodes())) {
    if (node.ways.empty())
      continue;
    const Way &way = node.ways[options[node.choice]];
    double times = repeatsOf(known.op->getBlock());
    summary.compute += times * way.compute;
    share(partsOf(known.op), &PartSummary::seconds, times * way.compute);
    exchange(way.inside * times, partsOf(known.op));
  }
  for (auto [transfer, counts, value] :
       llvm::zip(choices.transfers, exchanged, brought)) {
    llvm::SmallDenseSet<unsigned> forms;
    for (const Transfer::Reader &reader : transfer.readers)
      if (unsigned form = reader.form[options[reader.choice]];
          value && forms.insert(form).second)
        exchange(counts[options[transfer.from]][form], partsOf(value));
  }
  auto bytes = [&](unsigned slot) {
    return planning::bytesOf(
        propagation.getSlots()[slot].type,
        slots[slot].places[options[slots[slot].choice]].placement, mesh, sizes);
  };
  for (unsigned i = 0; i < slots.size(); ++i) {
    auto add = [&](double &sum, double times) {
      if (times > 0)
        sum += times * bytes(i);
    };
    add(summary.parameterBytes, slots[i].parameterTimes);
    add(summary.savedBytes, slots[i].savedTimes);
    add(summary.stateBytes, slots[i].stateTimes);
  }
  llvm::DenseSet<std::pair<unsigned, unsigned>> counted;
  propagation.getProgram().getBody().walk([&](Operation *op) {
    Range range = partsOf(op);
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      unsigned slot = propagation.slot(parameter.getResult());
      if (counted.insert({slot, range.first}).second)
        share(range, &PartSummary::parameterBytes,
              slots[slot].parameterTimes * bytes(slot));
    } else if (auto save = dyn_cast<SaveOp>(op)) {
      unsigned slot = propagation.slot(save);
      share(range, &PartSummary::savedBytes,
            slots[slot].savedTimes * bytes(slot));
    }
  });
  auto stacks = propagation.getProgram().getBody().getOps<StackOp>();
  if (!stacks.empty())
    for (Value carried : (*stacks.begin()).getResults())
      summary.carriedBytes += bytes(propagation.slot(carried));
  return summary;
}

void PlacementProblem::apply(ArrayRef<unsigned> options) {
  SmallVector<int> dimensions, factors;
  for (const Slot &slot : slots)
    dimensions.push_back(slot.places[options[slot.choice]].dimension);
  for (const Node &node : nodes)
    factors.push_back(
        node.ways.empty() ? -1 : node.ways[options[node.choice]].factor);
  propagation.beginTactic("plan");
  propagation.decide(axis, dimensions, factors);
}
