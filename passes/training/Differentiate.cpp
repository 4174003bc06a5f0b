//===- Differentiate.cpp - the gradients of a training program's loss -----===//
//
// A block is walked from its end; gradients of values wait in a table until
// the op that makes the value is reached. A stack's pattern is walked in the
// same way, into the pattern of a reversed stack.
//
//===----------------------------------------------------------------------===//

#include "passes/training/Passes.h"
#include "passes/training/SavedValues.h"

#include "mlir/IR/IRMapping.h"

#include <functional>
#include <memory>

namespace baton::training {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/training/Passes.h.inc"
} // namespace baton::training

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::training;

namespace {

/// Values of one block as another one, which runs later, reads them: the block
/// itself, or the pattern of a stack as deep.
class Copies {
public:
  /// `there` is null where the later ops stand in `from` itself.
  Copies(Block &from, Block *there, SavedValues &saved)
      : from(from), there(there), saved(saved) {}

  Value of(Value value, OpBuilder &builder);

private:
  Block &from;
  Block *there;
  SavedValues &saved;
  llvm::DenseMap<Value, Value> made;
};

/// The walk back over one block.
class Walk : public Adjoint {
public:
  Walk(OpBuilder &builder, Block &block, Copies &copies)
      : Adjoint(builder, UnknownLoc::get(builder.getContext())), block(block),
        copies(copies) {}

  Value value(Value forward) override { return copies.of(forward, builder); }
  Value gradient(Value result) override;
  void add(Value operand, Value gradient) override;
  void addSlice(Value operand, Value gradient, int64_t axis,
                int64_t offset) override;

  /// What a failed walk has said.
  LogicalResult status = success();

  Block &block;
  Copies &copies;
  /// Sums so far, and parts of sums of slices.
  llvm::DenseMap<Value, Value> sums;
  struct Slice {
    int64_t axis, offset;
    Value gradient;
  };
  llvm::DenseMap<Value, SmallVector<Slice>> slices;

private:
  LogicalResult join(Value result, ArrayRef<Slice> parts);
};

/// One adjoint for parameters, left for later.
struct Pending {
  Differentiable op;
  SmallVector<std::pair<Value, Value>> gradients;
};

class Differentiator {
public:
  Differentiator(ProgramOp program, bool split)
      : program(program), split(split), builder(program.getContext()),
        saved(program) {}

  LogicalResult run();

private:
  LogicalResult walkBack(Walk &walk, SmallVectorImpl<Pending> &pending);
  StackOp reversed(StackOp stack, ValueRange inits);
  LogicalResult walkStack(StackOp stack, Walk &outside);
  void finishParameters(Walk &walk, ArrayRef<Pending> pending);

  ProgramOp program;
  bool split;
  OpBuilder builder;
  SavedValues saved;
  /// In split form: what is written once all other adjoints are.
  SmallVector<std::function<void()>> late;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values of the forward step
//===----------------------------------------------------------------------===//

Value Copies::of(Value value, OpBuilder &builder) {
  // Values around a stack are seen from both patterns.
  if (!there || value.getParentBlock() != &from)
    return value;
  Value &copy = made[value];
  if (copy)
    return copy;
  Operation *op = value.getDefiningOp();
  if (isNeverSaved(op)) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, of(operand, builder));
    Operation *again = builder.clone(*op, mapping);
    for (auto [result, copy] : llvm::zip(op->getResults(), again->getResults()))
      made[result] = copy;
    return made[value];
  }
  return made[value] = saved.read(value, *there);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void Walk::add(Value operand, Value gradient) {
  // Around a stack's pattern only what has no gradient is read.
  Operation *maker = operand.getDefiningOp();
  if (isa_and_nonnull<RopeTableOp>(maker))
    return;
  if (isa_and_nonnull<ParameterOp>(maker)) {
    if (succeeded(status) && !isFrozen(operand))
      status =
          emitError(location)
          << "cannot be differentiated: it has no adjoint for a parameter, "
             "which it reads as a value";
    return;
  }
  if (operand.getParentBlock() != &block) {
    if (succeeded(status))
      status = emitError(location)
               << "cannot be differentiated: a pattern reads a value from "
                  "around its stack that depends on parameters";
    return;
  }
  Value &sum = sums[operand];
  sum = sum ? builder.create<AddOp>(location, sum.getType(), sum, gradient)
                  .getResult()
            : gradient;
}

void Walk::addSlice(Value operand, Value gradient, int64_t axis,
                    int64_t offset) {
  slices[operand].push_back({axis, offset, gradient});
}

Value Walk::gradient(Value result) {
  if (auto found = slices.find(result); found != slices.end()) {
    SmallVector<Slice> parts = std::move(found->second);
    slices.erase(found);
    llvm::sort(parts, [](const Slice &a, const Slice &b) {
      return a.offset < b.offset;
    });
    if (succeeded(join(result, parts)) || failed(status))
      return sums.lookup(result);
    status = emitError(result.getLoc())
             << "cannot be differentiated: its slices overlap or leave out a "
                "part";
    return {};
  }
  return sums.lookup(result);
}

/// Adds what slices, in ascending order, contribute to a sum. Where they leave
/// out a part, the sum has to be there already, and is cut as they are.
LogicalResult Walk::join(Value result, ArrayRef<Slice> parts) {
  const int64_t axis = parts.front().axis;
  const int64_t width = typeOf(result).getDimension(axis);
  Value whole = sums.lookup(result);
  int64_t end = 0;
  bool isWhole = true;
  for (const Slice &part : parts) {
    if (part.axis != axis || part.offset < end)
      return failure();
    isWhole &= part.offset == end;
    end = part.offset + typeOf(part.gradient).getDimension(axis);
  }
  isWhole &= end == width;
  if (!isWhole && !whole)
    return failure();
  SmallVector<Value> values;
  auto sliceOf = [&](int64_t offset, int64_t size) -> Value {
    SmallVector<int64_t> shape(typeOf(result).getShape());
    shape[axis] = size;
    return builder.create<SliceOp>(location, typeOf(whole).withShape(shape),
                                   whole, axis, offset);
  };
  end = 0;
  for (const Slice &part : parts) {
    const int64_t size = typeOf(part.gradient).getDimension(axis);
    if (part.offset > end)
      values.push_back(sliceOf(end, part.offset - end));
    Value value = part.gradient;
    if (!isWhole)
      value = builder.create<AddOp>(location, value.getType(),
                                    sliceOf(part.offset, size), value);
    values.push_back(value);
    end = part.offset + size;
  }
  if (end < width)
    values.push_back(sliceOf(end, width - end));
  Value joined = values.front();
  if (values.size() > 1)
    joined = builder.create<JoinOp>(location, result.getType(), values, axis);
  if (isWhole)
    add(result, joined);
  else
    sums[result] = joined;
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Whether all parameters that an op reads are frozen: their adjoints would
/// save values for nothing.
static bool readsFrozenOnly(Operation *op) {
  auto parameters =
      llvm::make_filter_range(op->getOperands(), [](Value operand) {
        return bool(operand.getDefiningOp<ParameterOp>());
      });
  return !parameters.empty() && llvm::all_of(parameters, isFrozen);
}

/// Whether a loss depends on any result, or the op is one.
static bool hasGradient(Walk &walk, Operation *op) {
  bool any = isa<CrossEntropyOp, PreferenceLossOp, RouterLossOp>(op);
  for (Value result : op->getResults())
    any |= walk.gradient(result) != nullptr;
  return any;
}

/// Whether a body of the user's names the adjoints that are wanted of it.
static LogicalResult checkAdjoints(CustomOp op, Walk &walk) {
  Operation *body = SymbolTable::lookupNearestSymbolFrom(op, op.getBodyAttr());
  if (!body)
    return op.emitOpError() << "names " << op.getBodyAttr()
                            << ", and there is no event.body of that name";
  auto check = [&](StringRef attribute, const char *what) -> LogicalResult {
    auto adjoint = body->getAttrOfType<FlatSymbolRefAttr>(attribute);
    if (!adjoint)
      return op.emitOpError()
             << "cannot be differentiated: the body " << op.getBodyAttr()
             << " reads " << what << ", and has no " << attribute
             << "; name the body that makes their gradients";
    if (!SymbolTable::lookupNearestSymbolFrom(op, adjoint))
      return op.emitOpError()
             << "cannot be differentiated: " << op.getBodyAttr() << " names "
             << adjoint << " as its " << attribute
             << ", and there is no event.body of that name";
    return success();
  };
  for (OpResult result : op.getResults())
    if (!walk.gradient(result))
      return op.emitOpError()
             << "cannot be differentiated: no loss depends on its result "
             << result.getResultNumber()
             << ", and its adjoint takes the gradients of all";
  if (llvm::any_of(op.getInputs(), CustomOp::hasGradient) &&
      failed(check(kInputAdjointAttribute, "values")))
    return failure();
  if (llvm::any_of(op.getInputs(),
                   [](Value operand) {
                     return bool(operand.getDefiningOp<ParameterOp>());
                   }) &&
      failed(check(kWeightAdjointAttribute, "parameters")))
    return failure();
  return success();
}

LogicalResult Differentiator::walkBack(Walk &walk,
                                       SmallVectorImpl<Pending> &pending) {
  SmallVector<Operation *> ops;
  for (Operation &op : walk.block)
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    walk.location = op->getLoc();
    if (isa<ParameterOp, RopeTableOp, SaveOp, YieldOp, ReturnOp>(op))
      continue;
    bool needed = hasGradient(walk, op);
    if (failed(walk.status))
      return failure();
    if (!needed)
      continue;
    if (auto stack = dyn_cast<StackOp>(op)) {
      if (failed(walkStack(stack, walk)))
        return failure();
      continue;
    }
    if (auto custom = dyn_cast<CustomOp>(op);
        custom && failed(checkAdjoints(custom, walk)))
      return failure();
    if (auto linear = dyn_cast<LinearOp>(op);
        linear && (linear.getNorm() != Norm::identity ||
                   linear.getActivation() != Activation::identity))
      return linear.emitOpError()
             << "cannot be differentiated: it has a norm or activation; "
                "differentiate comes before norm-rewrites";
    auto differentiable = dyn_cast<Differentiable>(op);
    if (!differentiable)
      return op->emitOpError() << "cannot be differentiated: it has no adjoint";
    differentiable.differentiateInputs(walk);
    const bool trains = !readsFrozenOnly(op);
    if (trains && split) {
      Pending late{differentiable, {}};
      for (Value result : op->getResults())
        if (Value gradient = walk.gradient(result))
          late.gradients.push_back({result, gradient});
      pending.push_back(late);
    } else if (trains) {
      differentiable.differentiateParameters(walk);
    }
    if (failed(walk.status))
      return failure();
  }
  return success();
}

/// Adjoints for parameters alone, of the gradients that were left.
void Differentiator::finishParameters(Walk &walk, ArrayRef<Pending> pending) {
  for (const Pending &entry : pending) {
    Differentiable op = entry.op;
    walk.location = op.getLoc();
    for (auto [result, gradient] : entry.gradients)
      walk.sums[result] = gradient;
    op.differentiateParameters(walk);
  }
}

namespace {
/// Adjoints for parameters in a stack of their own read what the stack before
/// them made of gradients as they read the forward step.
class LateWalk : public Walk {
public:
  LateWalk(OpBuilder &builder, Block &block, Copies &copies, Copies &backward)
      : Walk(builder, block, copies), backward(backward) {}

  Value gradient(Value result) override {
    Value made = sums.lookup(result);
    return made ? backward.of(made, builder) : made;
  }

private:
  Copies &backward;
};
} // namespace

/// A stack of the same layers, last ones first.
StackOp Differentiator::reversed(StackOp stack, ValueRange inits) {
  auto made = builder.create<StackOp>(
      stack.getLoc(), TypeRange(inits), inits, stack.getRepeatAttr(),
      stack.getFirstLayerAttr(), stack.getLayersPerIterationAttr(),
      builder.getUnitAttr());
  Block &block = made.getBody().emplaceBlock();
  for (Value init : inits)
    block.addArgument(init.getType(), stack.getLoc());
  return made;
}

LogicalResult Differentiator::walkStack(StackOp stack, Walk &outside) {
  Location location = stack.getLoc();
  SmallVector<Value> gradients;
  for (Value result : stack.getResults()) {
    gradients.push_back(outside.gradient(result));
    if (!gradients.back())
      return stack.emitOpError()
             << "cannot be differentiated: no loss depends on one of its "
                "results";
  }
  StackOp backward = reversed(stack, gradients);
  Block &from = stack.getBody().front(), &to = backward.getBody().front();
  auto copies = std::make_shared<Copies>(from, &to, saved);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&to);
  Walk walk(builder, from, *copies);
  for (auto [yielded, argument] :
       llvm::zip(stack.getYield().getOperands(), to.getArguments()))
    walk.add(yielded, argument);
  SmallVector<Pending> pending;
  if (failed(walkBack(walk, pending)))
    return failure();
  SmallVector<Value> carried;
  for (BlockArgument argument : from.getArguments()) {
    carried.push_back(walk.gradient(argument));
    if (!carried.back())
      return stack.emitOpError()
             << "cannot be differentiated: what it makes does not depend on "
                "what it carries";
  }
  builder.create<YieldOp>(location, carried);
  // Sums with what else is read of an init stand behind the stack.
  builder.setInsertionPointAfter(backward);
  for (auto [init, gradient] :
       llvm::zip(stack.getInits(), backward.getResults()))
    outside.add(init, gradient);
  if (split && !pending.empty())
    late.push_back([this, stack, backward, pending]() mutable {
      StackOp parameters = reversed(stack, ValueRange());
      Block &from = stack.getBody().front();
      Block &to = parameters.getBody().front();
      Copies forward(from, &to, saved);
      Copies made(backward.getBody().front(), &to, saved);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&to);
      LateWalk walk(builder, from, forward, made);
      finishParameters(walk, pending);
      builder.create<YieldOp>(stack.getLoc(), ValueRange());
    });
  return success();
}

/// Adjoints begin at a cross-entropy, at what routers add to it, and at what is
/// made of it for pairs of answers, which have their losses' gradients already:
/// those of nothing else.
static LogicalResult checkLoss(ProgramOp program) {
  SmallVector<CrossEntropyOp> losses;
  program.walk([&](CrossEntropyOp op) { losses.push_back(op); });
  if (losses.size() > 1)
    return losses[1].emitOpError()
           << "cannot be differentiated: the program has another loss";
  auto end = cast<ReturnOp>(program.getBody().front().getTerminator());
  Value returned = end.getOperand(0);
  if (auto more = returned.getDefiningOp<RouterLossOp>())
    returned = more.getLoss();
  else if (auto pairs = returned.getDefiningOp<PreferenceLossOp>())
    returned = pairs.getLosses();
  if (losses.empty() || returned != losses[0].getLoss())
    return end.emitOpError() << "cannot be differentiated: it returns other "
                                "losses than those of a model.cross_entropy";
  return success();
}

LogicalResult Differentiator::run() {
  if (failed(checkLoss(program)))
    return failure();
  Block &block = program.getBody().front();
  builder.setInsertionPoint(block.getTerminator());
  Copies copies(block, nullptr, saved);
  Walk walk(builder, block, copies);
  SmallVector<Pending> pending;
  if (failed(walkBack(walk, pending)))
    return failure();
  finishParameters(walk, pending);
  for (auto &write : late)
    write();
  return success();
}

namespace {
struct Differentiate : baton::training::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (!program.getTraining()) {
        program.emitOpError() << "is no training program; training-form makes "
                                 "one";
        return signalPassFailure();
      }
      auto gradient =
          program.walk([](GradientOp) { return WalkResult::interrupt(); });
      if (gradient.wasInterrupted())
        continue;
      Differentiator differentiator(program, split);
      if (failed(differentiator.run()))
        return signalPassFailure();
      program.walk([&](SaveOp) { ++numSaved; });
      program.walk([&](GradientOp) { ++numGradients; });
    }
  }
};
} // namespace
