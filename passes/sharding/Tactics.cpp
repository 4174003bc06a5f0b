//===- Tactics.cpp - which values are sharded first -----------------------===//
//
// Values are found by what the program does with them, not by names, so that a
// tactic is the same for every family of models.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Tactics.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

static int64_t dimensionOf(Value value, int64_t index) {
  return cast<StepTensorType>(value.getType()).getDimension(index);
}

//===----------------------------------------------------------------------===//
// data, sequence
//===----------------------------------------------------------------------===//

static LogicalResult shardData(Propagation &propagation, StringAttr axis) {
  ProgramOp program = propagation.getProgram();
  if (!program.getTraining())
    return program.emitOpError()
           << "cannot be sharded by tactic 'data': it decodes, and its rows "
              "are those of one sequence";
  if (!propagation.getMesh().isBatch(axis))
    return program.emitOpError()
           << "cannot be sharded by tactic 'data': " << axis
           << " is no batch axis of the mesh";
  for (BlockArgument argument : program.getBody().getArguments())
    if (failed(propagation.seed(program, argument, 0, axis, false)))
      return failure();
  return success();
}

static LogicalResult shardSequence(Propagation &propagation, StringAttr axis) {
  if (propagation.getMesh().isBatch(axis))
    return propagation.getProgram().emitOpError()
           << "cannot be sharded by tactic 'sequence': " << axis
           << " is a batch axis of the mesh";
  for (auto stack : propagation.getProgram().getOps<StackOp>())
    for (Value carried : stack.getResults())
      if (failed(propagation.seed(stack, carried, 0, axis, false)))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

/// Query and key heads of any attention.
static std::pair<Value, Value> queryAndKey(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return {attention.getQ(), attention.getK()};
  if (auto attention = dyn_cast<SequenceAttentionOp>(op))
    return {attention.getQ(), attention.getK()};
  if (auto adjoint = dyn_cast<AttentionQueryGradientOp>(op))
    return {adjoint.getQ(), adjoint.getK()};
  if (auto adjoint = dyn_cast<AttentionKeyValueGradientOp>(op))
    return {adjoint.getQ(), adjoint.getK()};
  return {};
}

int64_t baton::sharding::keyHeadsOf(Operation *op) {
  Value key = queryAndKey(op).second;
  return key ? dimensionOf(key, 1) : 0;
}

void baton::sharding::shareHeads(ProgramOp program, int64_t ranks) {
  program.walk([&](Operation *op) {
    auto [q, k] = queryAndKey(op);
    if (!q)
      return;
    int64_t queries = dimensionOf(q, 1), keys = dimensionOf(k, 1);
    if (keys % ranks && ranks % keys == 0 && queries % ranks == 0)
      op->setAttr(kSharedHeads, UnitAttr::get(op->getContext()));
  });
}

void baton::sharding::shareOnlyHead(ProgramOp program, int64_t ranks) {
  int64_t most = 0;
  program.walk([&](Operation *op) { most = std::max(most, keyHeadsOf(op)); });
  if (most == 1)
    shareHeads(program, ranks);
}

static LogicalResult shardHeads(Propagation &propagation, Operation *op,
                                StringAttr axis) {
  auto [q, k] = queryAndKey(op);
  if (failed(propagation.seed(op, q, 1, axis, false)))
    return failure();
  // Further axes shard the query heads of one key/value head.
  int64_t ranks = 1;
  for (const Sharding::Use &use : propagation.shardingsOf(k)[1].axes)
    ranks *= propagation.getMesh().getSize(use.axis);
  if (op->hasAttr(kSharedHeads) || ranks == dimensionOf(k, 1))
    return success();
  return propagation.seed(op, k, 1, axis, false);
}

/// Whether a linear is one of a low-rank pair beside one that is frozen: what
/// ranks have of it follows from that.
static bool isOfPair(LinearOp linear) {
  return linear->getParentOfType<ProgramOp>()->hasAttr(kAdapter) &&
         !isFrozen(linear.getWeight());
}

/// The linears that make a value element by element; nothing, and false, where
/// something else takes part: a sum, or what is read elsewhere, too, is a
/// stream of the model, not a layer's inside.
static bool findMakers(Value value, SmallVectorImpl<Operation *> &makers) {
  Operation *op = value.getDefiningOp();
  // An adapter's pair adds to what a linear makes.
  if (auto linear = dyn_cast_or_null<LinearOp>(op);
      linear && isOfPair(linear) && linear.getResidual())
    return findMakers(linear.getResidual(), makers);
  if (auto scaled = dyn_cast_or_null<MagnitudeOp>(op))
    return findMakers(scaled.getX(), makers);
  if (isa_and_nonnull<LinearOp, GatedLinearOp>(op)) {
    makers.push_back(op);
    return true;
  }
  if (!isa_and_nonnull<Elementwise>(op) || isa<AddOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return findMakers(operand, makers);
  });
}

/// A linear that reads what others made of one input: its input's width is the
/// inside of a feed-forward layer.
static bool endsFeedForward(LinearOp linear) {
  SmallVector<Operation *> makers;
  return findMakers(linear.getX(), makers) &&
         llvm::all_of(makers, [&](Operation *maker) {
           return maker->getOperand(0) == makers.front()->getOperand(0);
         });
}

/// The linear that makes logits, through factors and caps.
static LinearOp findProjection(ProgramOp program) {
  Value value = program.getBody().front().getTerminator()->getOperand(0);
  while (isa_and_nonnull<ScaleOp, TanhOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value.getDefiningOp<LinearOp>();
}

/// The rows of what makes logits, in a loss or alone, which may be uneven.
static LogicalResult shardVocabulary(Propagation &propagation, Operation *op,
                                     LinearOp projection, StringAttr axis) {
  if (auto loss = dyn_cast<CrossEntropyOp>(op))
    return propagation.seed(op, loss.getWeight(), 0, axis, true);
  if (op == projection)
    return propagation.seed(op, projection.getWeight(), 0, axis, true);
  return success();
}

/// Whether it is the second product of experts, of what others made of rows.
static bool endsExperts(GroupedLinearOp linear) {
  return !linear.getX().getDefiningOp<GatherOp>();
}

/// The inside of experts.
static LogicalResult shardInside(Propagation &propagation, GroupedLinearOp op,
                                 StringAttr axis) {
  Value weight = op.getWeight();
  // An earlier tactic has spread experts over it, or another product with the
  // same weights has been seen, as where layers are computed again.
  if (propagation.shardingsOf(weight)[0].has(axis) ||
      propagation.shardingsOf(weight)[2].has(axis))
    return success();
  int64_t ranks = propagation.getMesh().getSize(axis);
  for (const Sharding::Use &use : propagation.shardingsOf(weight)[2].axes)
    ranks *= propagation.getMesh().getSize(use.axis);
  int64_t width = dimensionOf(weight, 2);
  if (width % (ranks * kExpertOutputs))
    return op.emitOpError()
           << "cannot be sharded by tactic 'tensor': experts are " << width
           << " wide inside, which " << ranks << " ranks along axis " << axis
           << " cannot cut into multiples of " << kExpertOutputs;
  return propagation.seed(op, weight, 2, axis, false);
}

static LogicalResult shardTensor(Propagation &propagation, StringAttr axis) {
  ProgramOp program = propagation.getProgram();
  LinearOp projection = findProjection(program);
  Value tokens = program.getBody().getArgument(0);
  WalkResult result = program.walk([&](Operation *op) {
    LogicalResult seeded = success();
    if (queryAndKey(op).first)
      seeded = shardHeads(propagation, op, axis);
    else if (auto embedding = dyn_cast<EmbeddingOp>(op))
      // Positions have tables, too, which are small.
      seeded = embedding.getTokens() != tokens
                   ? success()
                   : propagation.seed(op, embedding.getTable(), 0, axis, true);
    else if (auto linear = dyn_cast<LinearOp>(op);
             linear && linear != projection && !isOfPair(linear) &&
             endsFeedForward(linear))
      seeded = propagation.seed(op, linear.getWeight(), 1, axis, false);
    // Experts with biases stay whole: a sum over ranks would add one each.
    else if (auto linear = dyn_cast<GroupedLinearOp>(op);
             linear && !linear.getBias() && endsExperts(linear))
      seeded = shardInside(propagation, linear, axis);
    else
      seeded = shardVocabulary(propagation, op, projection, axis);
    return failed(seeded) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// experts
//===----------------------------------------------------------------------===//

static LogicalResult shardExperts(Propagation &propagation, StringAttr axis) {
  ProgramOp program = propagation.getProgram();
  bool found = false;
  WalkResult result = program.walk([&](GroupedLinearOp op) {
    found = true;
    return failed(propagation.seed(op, op.getWeight(), 0, axis, false))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!found)
    return program.emitOpError() << "cannot be sharded by tactic 'experts': it "
                                    "is no mixture of experts";
  return success();
}

//===----------------------------------------------------------------------===//
// bottleneck
//===----------------------------------------------------------------------===//

/// What a linear of more outputs than inputs widens again: the linear, of fewer
/// outputs than inputs, that makes its input, a norm's division aside.
static LinearOp findNarrow(LinearOp wide) {
  Value x = wide.getX();
  if (auto end = x.getDefiningOp<NormEndOp>())
    x = end.getX();
  auto narrow = x.getDefiningOp<LinearOp>();
  if (!narrow ||
      dimensionOf(wide.getWeight(), 0) <= dimensionOf(wide.getWeight(), 1) ||
      dimensionOf(narrow.getWeight(), 0) >= dimensionOf(narrow.getWeight(), 1))
    return {};
  return narrow;
}

/// What is narrowed is sharded, and the streams of stacks; what widens them
/// again follows from what reads it. Ranks exchange narrow values alone.
static LogicalResult shardBottleneck(Propagation &propagation,
                                     StringAttr axis) {
  ProgramOp program = propagation.getProgram();
  LinearOp projection = findProjection(program);
  bool found = false;
  WalkResult result = program.walk([&](Operation *op) {
    LogicalResult seeded = success();
    if (queryAndKey(op).first) {
      seeded = shardHeads(propagation, op, axis);
    } else if (auto wide = dyn_cast<LinearOp>(op)) {
      if (LinearOp narrow = findNarrow(wide)) {
        found = true;
        seeded = propagation.seed(narrow, narrow.getWeight(), 1, axis, false);
      }
    }
    return failed(seeded) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!found)
    return program.emitOpError()
           << "cannot be sharded by tactic 'bottleneck': it has no linear that "
              "widens what another one has narrowed";
  for (auto stack : program.getOps<StackOp>())
    for (Value carried : stack.getResults())
      if (failed(propagation.seed(stack, carried, 1, axis, false)))
        return failure();
  result = program.walk([&](Operation *op) {
    return failed(shardVocabulary(propagation, op, projection, axis))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// zero, gradients
//===----------------------------------------------------------------------===//

/// The first dimension that the axis divides further, else the first one that
/// nothing shards, uneven; -1 if there is none.
static int64_t chooseDimension(ArrayRef<int64_t> shape,
                               const Shardings &shardings, StringAttr axis,
                               MeshOp mesh) {
  for (auto [i, size] : llvm::enumerate(shape))
    if (!shardings[i].granularity &&
        divides(size, shardings[i].axes, mesh.getSize(axis), mesh))
      return i;
  for (unsigned i = 0; i < shape.size(); ++i)
    if (shardings[i].axes.empty())
      return i;
  return -1;
}

static LogicalResult shardParameters(Propagation &propagation,
                                     StringAttr axis) {
  WalkResult result = propagation.getProgram().walk([&](ParameterOp op) {
    Value value = op.getResult();
    // What does not train each rank has, packed.
    if (op.getFrozen())
      return WalkResult::advance();
    int64_t dimension =
        chooseDimension(op.getType().getShape(), propagation.shardingsOf(value),
                        axis, propagation.getMesh());
    if (dimension >= 0 &&
        failed(propagation.seed(op, value, dimension, axis, true)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult shardGradients(Propagation &propagation, StringAttr axis) {
  propagation.cutGradients();
  WalkResult result = propagation.getProgram().walk([&](GradientOp op) {
    auto shape = cast<StepTensorType>(op.getGradient().getType()).getShape();
    int64_t dimension = chooseDimension(shape, propagation.shardingsOf(op),
                                        axis, propagation.getMesh());
    if (dimension >= 0 && failed(propagation.seedGradient(op, dimension, axis)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult baton::sharding::applyTactic(Propagation &propagation,
                                           StringRef name, StringAttr axis) {
  using Apply = LogicalResult (*)(Propagation &, StringAttr);
  auto apply = llvm::StringSwitch<Apply>(name)
                   .Case("data", shardData)
                   .Case("tensor", shardTensor)
                   .Case("experts", shardExperts)
                   .Case("bottleneck", shardBottleneck)
                   .Case("sequence", shardSequence)
                   .Case("zero", shardParameters)
                   .Case("gradients", shardGradients)
                   .Default(nullptr);
  if (!apply)
    return propagation.getProgram().emitOpError()
           << "cannot be sharded by '" << name
           << "': tactics are data, tensor, experts, bottleneck, sequence, "
              "zero, gradients";
  return apply(propagation, axis);
}
