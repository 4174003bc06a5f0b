//===- Layout.cpp - which op of a training step runs at which position ----===//

#include "passes/pipeline/Layout.h"

#include "passes/pipeline/Cut.h"
#include "passes/pipeline/Flops.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <numeric>

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::pipeline;
using dist::PhaseKind;

static bool isReversed(Operation *op) {
  auto stack = dyn_cast<StackOp>(op);
  return stack && stack.getReverse();
}

//===----------------------------------------------------------------------===//
// Kinds of ops
//===----------------------------------------------------------------------===//

/// Parameters, tables of angles, views of them, and what a collective makes of
/// a parameter.
void Layout::findRemade() {
  auto isView = [](Operation &op) {
    return isa<ReshapeOp, TransposeOp, model::SliceOp>(op);
  };
  for (Operation &op : program.getBody().front()) {
    bool isRemadeToo =
        op.getNumOperands() &&
        llvm::all_of(op.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() && isRemade(operand.getDefiningOp());
        });
    auto isStatic = [](Type type) {
      auto tensor = dyn_cast<StepTensorType>(type);
      return tensor && tensor.isStatic();
    };
    bool isConstant = isMemoryEffectFree(&op) && op.getNumResults() &&
                      llvm::all_of(op.getResultTypes(), isStatic);
    if (isa<ParameterOp, RopeTableOp>(op) ||
        (isRemadeToo && (isView(op) || isConstant)))
      remade.insert(&op);
  }
}

/// Gradients are what a loss gives besides itself, and all that follows.
bool Layout::isGradient(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<CrossEntropyOp, PreferenceLossOp, RouterLossOp>(op))
    return cast<OpResult>(value).getResultNumber() > 0;
  return backward.contains(op) || isa<dist::LossGradientsOp>(op);
}

void Layout::findBackward() {
  for (Operation &op : program.getBody().front())
    if (isReversed(&op) || isa<GradientOp>(op) ||
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return isGradient(value); }))
      backward.insert(&op);
}

/// Ops of the program's body that lead to `ends`, which are among them.
static DenseSet<Operation *> findMakers(ArrayRef<Operation *> ends) {
  DenseSet<Operation *> makers;
  SmallVector<Operation *> open(ends);
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!makers.insert(op).second)
      continue;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && maker->getBlock() == op->getBlock())
          open.push_back(maker);
    });
  }
  return makers;
}

/// Forward is what leads to the loss, backward to a gradient that a reversed
/// stack carries, and the rest to gradients of parameters.
void Layout::classify() {
  Block &block = program.getBody().front();
  findRemade();
  findBackward();
  SmallVector<Operation *> losses = {block.getTerminator()}, carried;
  for (Operation &op : block) {
    if (isReversed(&op) && op.getNumResults())
      carried.push_back(&op);
    if (isa<dist::LossGradientsOp>(op) ||
        (isa<StackOp>(op) && !isReversed(&op)))
      losses.push_back(&op);
  }
  DenseSet<Operation *> forward = findMakers(losses);
  DenseSet<Operation *> passed = findMakers(carried);
  for (Operation &op : block.without_terminator()) {
    if (isRemade(&op))
      continue;
    if (forward.contains(&op))
      phases[unsigned(PhaseKind::forward)].push_back(&op);
    else if (passed.contains(&op) && backward.contains(&op))
      phases[unsigned(PhaseKind::input)].push_back(&op);
    else if (isa<StackOp, GradientOp>(op))
      phases[unsigned(PhaseKind::weight)].push_back(&op);
    else
      late.insert(&op);
  }
}

/// A reversed stack is the adjoint of the stack whose values it reads, or of
/// the one of the same layers.
LogicalResult Layout::matchStacks() {
  llvm::StringMap<unsigned> savers;
  for (Operation &op : program.getBody().front()) {
    auto stack = dyn_cast<StackOp>(op);
    if (!stack)
      continue;
    std::optional<unsigned> number;
    if (!stack.getReverse()) {
      number = stacks.size();
      stacks.push_back(stack);
    } else {
      for (auto saved : stack.getBody().getOps<SavedOp>())
        if (auto found = savers.find(saved.getName()); found != savers.end())
          number = found->second;
      for (auto [i, other] : llvm::enumerate(stacks))
        if (!number && other.getRepeat() == stack.getRepeat() &&
            other.getFirstLayer() == stack.getFirstLayer() &&
            other.getLayersPerIteration() == stack.getLayersPerIteration())
          number = i;
    }
    if (!number || stacks[*number].getRepeat() != stack.getRepeat())
      return stack.emitOpError() << "is the adjoint of no stack before it";
    stackNumbers[stack] = *number;
    for (auto save : stack.getBody().getOps<SaveOp>())
      savers[save.getName()] = *number;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void Layout::makeItems() {
  // Ops between stacks, forward or backward, are one item.
  std::vector<std::vector<Operation *>> between(stacks.size() + 1);
  size_t group = 0;
  for (Operation *op : phase(PhaseKind::forward)) {
    if (isa<StackOp>(op))
      group = stackNumbers[op] + 1;
    else
      between[group].push_back(op);
  }
  group = stacks.size();
  for (Operation *op : phase(PhaseKind::input)) {
    if (isa<StackOp>(op))
      group = stackNumbers[op];
    else
      between[group].push_back(op);
  }
  SmallVector<double> iterations(stacks.size());
  for (auto [op, number] : stackNumbers)
    iterations[number] += countFlops(op);
  for (size_t i = 0; i < between.size(); ++i) {
    if (!between[i].empty()) {
      double cost = 0;
      for (Operation *op : between[i]) {
        items[op] = int(costs.size());
        cost += countFlops(op);
      }
      costs.push_back(cost);
    }
    if (i == stacks.size())
      break;
    firstItems.push_back(int(costs.size()));
    costs.insert(costs.end(), stacks[i].getRepeat(), iterations[i]);
  }
}

int Layout::itemOf(Value value) const {
  Operation *op = value.getDefiningOp();
  auto stack = dyn_cast<StackOp>(op);
  if (!stack)
    return items.lookup(op);
  int first = firstItems[stackNumbers.lookup(op)];
  return stack.getReverse() ? first : first + int(stack.getRepeat()) - 1;
}

/// Values of the program that a pattern reads from around its stack.
void Layout::readPattern(StackOp stack, function_ref<void(Value)> visit) const {
  stack.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == stack->getBlock())
        visit(operand);
  });
}

/// Values with a place that an op reads, by itself or by what is made for it.
LogicalResult
Layout::forEachRead(Operation *op, int position,
                    function_ref<LogicalResult(Value)> visit) const {
  LogicalResult result = success();
  auto read = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    if (!maker || isRemade(maker) || failed(result))
      return;
    result = isLate(maker) ? forEachRead(maker, position, visit) : visit(value);
  };
  if (auto stack = dyn_cast<StackOp>(op))
    readPattern(stack, read);
  else
    llvm::for_each(op->getOperands(), read);
  return result;
}

/// A contribution to a gradient belongs to the last item that uses the
/// parameter and stands no later than the gradients that it is made of.
LogicalResult Layout::placeGradients() {
  Block &block = program.getBody().front();
  DenseSet<Operation *> counted;
  auto &weights = phases[unsigned(PhaseKind::weight)];
  SmallVector<Operation *> kept;
  for (Operation *op : weights) {
    auto gradient = dyn_cast<GradientOp>(op);
    if (!gradient) {
      kept.push_back(op);
      continue;
    }
    int limit = int(costs.size());
    (void)forEachRead(op, 0, [&](Value value) {
      if (isGradient(value))
        limit = std::min(limit, itemOf(value));
      return success();
    });
    if (limit == int(costs.size()))
      return op->emitOpError() << "does not depend on a loss";
    int owner = -1;
    SmallVector<Value> open = {gradient.getParameter()};
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        Operation *around = block.findAncestorOpInBlock(*user);
        if (isRemade(around))
          llvm::append_range(open, around->getResults());
        else if (items.contains(around) && items[around] <= limit &&
                 !backward.contains(around))
          owner = std::max(owner, items[around]);
      }
    items[op] = owner < 0 ? limit : owner;
    // What leads to it alone.
    SmallVector<Operation *> made = {op};
    while (!made.empty())
      for (Value operand : made.pop_back_val()->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && isLate(maker) && counted.insert(maker).second) {
          costs[items[op]] += countFlops(maker);
          made.push_back(maker);
        }
    // A gradient that the forward phase has made is as large as its parameter,
    // and not kept for each microbatch.
    Value source = gradient.getGradient();
    while (isLate(source.getDefiningOp()) &&
           source.getDefiningOp()->getNumOperands() == 1)
      source = source.getDefiningOp()->getOperand(0);
    bool isMade = !backward.contains(source.getDefiningOp()) &&
                  cast<StepTensorType>(source.getType()).isStatic();
    (isMade ? phases[unsigned(PhaseKind::forward)] : kept).push_back(op);
  }
  weights = kept;
  return success();
}

LogicalResult Layout::analyze() {
  if (!program.getTraining()) {
    if (failed(matchStacks()))
      return failure();
    classify();
    makeItems();
    return success();
  }
  bool hasGradients =
      program.walk([](GradientOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!hasGradients)
    return program.emitOpError()
           << "has no gradients; differentiate writes them";
  if (failed(matchStacks()))
    return failure();
  classify();
  makeItems();
  return placeGradients();
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Segment Layout::segmentOf(StackOp stack, int position) const {
  int first = firstItems[stackNumbers.lookup(stack)];
  ArrayRef<int> here =
      ArrayRef(positions).slice(first, size_t(stack.getRepeat()));
  auto [begin, end] = std::equal_range(here.begin(), here.end(), position);
  return {begin - here.begin(), end - here.begin()};
}

static void addTo(SmallVectorImpl<Crossing> &list, Crossing crossing) {
  if (!llvm::is_contained(list, crossing))
    list.push_back(crossing);
}

/// A value is at a position, if necessary by way of those between.
LogicalResult Layout::read(Value value, int position) {
  int from = positions[itemOf(value)];
  if (position > from && backward.contains(value.getDefiningOp()))
    return emitError(value.getLoc())
           << "cannot be cut: a gradient is read by a later part of the model";
  for (int at = from; at < position; ++at)
    addTo(up[at], {value, false});
  for (int at = position; at < from; ++at)
    addTo(down[at], {value, false});
  return success();
}

LogicalResult Layout::findCrossings() {
  for (auto kind : {PhaseKind::forward, PhaseKind::input, PhaseKind::weight})
    for (Operation *op : phase(kind)) {
      auto stack = dyn_cast<StackOp>(op);
      int first = stack ? firstItems[stackNumbers.lookup(op)] : items[op];
      int last = stack ? first + int(stack.getRepeat()) - 1 : first;
      for (int at = positions[first]; at <= positions[last]; ++at)
        if (failed(forEachRead(op, at,
                               [&](Value value) { return read(value, at); })))
          return failure();
      if (!stack)
        continue;
      int start = positions[stack.getReverse() ? last : first];
      for (Value init : stack.getInits()) {
        Operation *maker = init.getDefiningOp();
        if (maker && !isRemade(maker) && failed(read(init, start)))
          return failure();
      }
      for (int at = positions[first]; at < positions[last]; ++at)
        for (Value result : stack.getResults())
          addTo(stack.getReverse() ? down[at] : up[at], {result, true});
    }
  return success();
}

FailureOr<std::vector<int>> Layout::beginsOf(ArrayRef<int64_t> layers,
                                             int parts) {
  // The items that are layers, and how many layers each is.
  SmallVector<std::pair<int, int64_t>> iterations;
  int64_t all = 0;
  for (auto [stack, first] : llvm::zip(stacks, firstItems))
    for (int64_t i = 0; i < int64_t(stack.getRepeat()); ++i) {
      iterations.push_back({first + int(i), stack.getLayersPerIteration()});
      all += stack.getLayersPerIteration();
    }
  auto list = [&] {
    return llvm::join(
        llvm::map_range(layers, [](int64_t n) { return std::to_string(n); }),
        ",");
  };
  if (int(layers.size()) != parts ||
      std::accumulate(layers.begin(), layers.end(), int64_t(0)) != all)
    return program.emitOpError()
           << "cannot be cut into " << list() << " layers: it has " << all
           << ", and there are " << parts << " positions";
  std::vector<int> begins = {0};
  size_t at = 0;
  for (int64_t count : layers.drop_back()) {
    for (; count > 0 && at < iterations.size(); ++at)
      count -= iterations[at].second;
    if (count != 0 || at == iterations.size())
      return program.emitOpError()
             << "cannot be cut into " << list()
             << " layers: every position has at least one layer, and whole "
                "iterations of stacks";
    int item = iterations[at].first;
    if (item <= begins.back())
      return program.emitOpError()
             << "cannot be cut into " << list()
             << " layers: every position has at least one layer";
    begins.push_back(item);
  }
  return begins;
}

LogicalResult Layout::cut(int parts, ArrayRef<int64_t> layers) {
  if (int(costs.size()) < parts)
    return program.emitOpError()
           << "has " << costs.size() << " layers and ops between them, too few "
           << "for " << parts << " positions";
  std::vector<int> begins;
  if (layers.empty()) {
    begins = cutEvenly(costs, parts);
  } else {
    FailureOr<std::vector<int>> given = beginsOf(layers, parts);
    if (failed(given))
      return failure();
    begins = *given;
  }
  positions.assign(costs.size(), 0);
  for (int part = 0; part < parts; ++part)
    std::fill(positions.begin() + begins[part], positions.end(), part);
  up.resize(parts - 1);
  down.resize(parts - 1);
  return findCrossings();
}
