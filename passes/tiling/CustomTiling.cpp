//===- CustomTiling.cpp - task grids of bodies that users wrote -----------===//
//
// An event.body states its grid and what a task touches of each value; here
// that becomes a phase like any other, with a call that passes memrefs.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/BodyLinears.h"
#include "passes/tiling/BodyScratch.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// The most tasks along each coordinate, in any step.
static SmallVector<int64_t> capacityOf(AffineMap grid,
                                       event::ProgramOp program) {
  int64_t rows = program.getMaxRows(), positions = program.getMaxSeq(),
          outputs = program.getMaxOutputs();
  SmallVector<int64_t> most(grid.getNumResults(), 0);
  for (int64_t r : {int64_t(1), rows})
    for (int64_t past : {int64_t(0), positions - r})
      for (int64_t o : {int64_t(0), std::min(r, outputs)})
        for (auto [i, extent] :
             llvm::enumerate(event::evaluate(grid, {}, {r, past, o})))
          most[i] = std::max(most[i], extent);
  return most;
}

namespace {
/// One argument of a body, and the value that it gets.
struct Argument {
  unsigned number;
  event::AccessAttr access;
  MemRefType type;
  bool isPacked;

  Box box() const {
    return {SmallVector<AffineExpr>(access.getLow().getResults()),
            SmallVector<AffineExpr>(access.getHigh().getResults())};
  }
  /// Whether neighbours in the last dimension have to lie side by side.
  bool isDense() const {
    return cast<StridedLayoutAttr>(type.getLayout()).getStrides().back() == 1;
  }
};
} // namespace

static InFlightDiagnostic complain(model::CustomOp op,
                                   const Argument &argument) {
  return op.emitOpError() << "argument " << argument.number << " of "
                          << op.getBodyAttr() << ", "
                          << argument.access.getBuffer() << ", ";
}

static LogicalResult expectFit(model::CustomOp op, const Argument &argument,
                               model::StepTensorType type, Type element) {
  if (argument.type.getRank() != type.getRank())
    return complain(op, argument) << "has " << argument.type.getRank()
                                  << " dimensions, the value is " << type;
  if (argument.type.getElementType() != element)
    return complain(op, argument) << "holds " << argument.type.getElementType()
                                  << ", the value " << element;
  return success();
}

/// Whether neighbours along a dimension lie side by side. The stride of the
/// first one may change when storage is given, unless a buffer has its own, as
/// parameters that train have.
static bool isContiguous(const View &view, unsigned dimension) {
  if (view.fixedStrideOf(dimension) == 1)
    return true;
  event::BufferOp buffer = view.buffer;
  auto steps = view.stepsOf(dimension);
  if (!buffer.getStorage() || !steps)
    return false;
  int64_t total = 0;
  for (auto [step, stride] : llvm::zip(*steps, buffer.getStrides()))
    total += step * stride;
  return total == 1;
}

/// A value of the step, of which the task has a box.
static LogicalResult passValue(model::CustomOp op, const Argument &argument,
                               const Box &box, const View &view,
                               PhaseBuilder &phase,
                               SmallVectorImpl<Attribute> &operands) {
  if (failed(expectFit(op, argument, view.type, view.buffer.getElement())))
    return failure();
  for (unsigned d = 0; d < box.low.size(); ++d)
    if (!view.stepsOf(d))
      return complain(op, argument)
             << "cannot be passed: dimension " << d << " has no fixed stride";
  if (argument.isDense() && !isContiguous(view, box.low.size() - 1))
    return complain(op, argument)
           << "cannot be passed: its last dimension is not contiguous";
  if (argument.access.getWrite())
    phase.writes(view, box);
  else
    phase.reads(view, box);
  appendMemref(phase, view, box, operands);
  return success();
}

/// A parameter: a vector in F32, or a matrix as the checkpoint stores it, or in
/// panels.
static LogicalResult passParameter(model::CustomOp op, const Argument &argument,
                                   const Box &box, Value value,
                                   const std::string &name, PhaseBuilder &phase,
                                   Tiler &tiler,
                                   SmallVectorImpl<Attribute> &operands) {
  auto type = cast<model::StepTensorType>(value.getType());
  auto parameter = value.getDefiningOp<model::ParameterOp>();
  if (!parameter)
    return complain(op, argument) << "cannot be passed: parameters side by "
                                  << "side are no one matrix";
  bool matrix = type.getRank() == 2;
  if (matrix && parameter.getTransposed())
    return complain(op, argument)
           << "cannot be passed: the checkpoint stores it transposed";
  Type element =
      matrix ? type.getElementType() : Float32Type::get(op.getContext());
  if (failed(expectFit(op, argument, type, element)))
    return failure();
  event::ParameterOp stored =
      argument.isPacked ? tiler.panels(name, value, /*alternating=*/false)
      : matrix          ? tiler.table(name, value)
                        : tiler.vector(name, value);
  AffineExpr offset = tiler.plan.constant(0);
  SmallVector<Attribute> sizes, strides;
  for (unsigned d = 0; d < box.low.size(); ++d) {
    int64_t stride = matrix && d == 0 ? type.getDimension(1) : 1;
    // Whole rows.
    if (argument.isPacked)
      offset = stored.getFormAttr().getOffset(box.low[0]);
    else
      offset = offset + box.low[d] * stride;
    sizes.push_back(
        phase.count({box.high[d] - box.low[d],
                     tiler.plan.constant(type.getDimension(d)) - box.low[d]}));
    strides.push_back(phase.integer(stride));
  }
  Attribute pointer = phase.weight(stored, offset);
  operands.append({pointer, pointer, phase.integer(0)});
  operands.append(sizes);
  operands.append(strides);
  return success();
}

/// Where a result is: of a state the positions that the step adds, behind
/// which the body counts; else all of it.
static View placeOf(model::CustomOp op, OpResult result,
                    const std::string &name, Tiler &tiler) {
  StringRef state = op.getState(result.getResultNumber());
  if (state.empty()) {
    unsigned number = result.getResultNumber();
    return tiler.bufferFor(
        result, number
                    ? tiler.plan.uniqueName(name + "." + std::to_string(number))
                    : name);
  }
  model::StackOp stack = tiler.stack;
  View whole = tiler.plan.state(
      tiler.plan.uniqueName(state), model::typeOf(result),
      stack ? static_cast<int64_t>(stack.getRepeat()) : 1, /*interleave=*/1,
      /*columns=*/1, op.getLoc());
  tiler.views[result] = whole;
  View rows = whole;
  SmallVector<int64_t> shape(whole.type.getShape());
  shape[0] = model::kRows;
  rows.type = whole.type.withShape(shape);
  SmallVector<AffineExpr> index;
  for (unsigned d = 0; d < shape.size(); ++d)
    index.push_back(getAffineDimExpr(d, op.getContext()));
  index[0] = index[0] + getAffineSymbolExpr(1, op.getContext());
  rows.map = AffineMap::get(shape.size(), event::kStepSymbols,
                            whole.indexOf(index), op.getContext());
  return rows;
}

static LogicalResult expectAccesses(model::CustomOp op, event::BodyOp body) {
  size_t inputs = op.getInputs().size(), results = op.getNumResults();
  if (body.getAccesses().size() != inputs + results)
    return op.emitOpError()
           << "has " << inputs << " operands and "
           << (results == 1 ? "a result" : std::to_string(results) + " results")
           << ", " << op.getBodyAttr() << " takes " << body.getAccesses().size()
           << " arguments";
  for (auto [i, access] : llvm::enumerate(body.getAccessAttrs()))
    if (access.getWrite() != (i >= inputs))
      return op.emitOpError()
             << op.getBodyAttr() << " states to "
             << (access.getWrite() ? "write " : "read ") << access.getBuffer()
             << ": of a model's op it writes the "
             << (results == 1 ? "result, which comes" : "results, which come")
             << " last, and reads the others";
  return success();
}

/// Passes operand `i` of the op, of which the task has a box.
static LogicalResult passOperand(model::CustomOp op, const Argument &argument,
                                 const Box &box, const std::string &name,
                                 PhaseBuilder &phase, Tiler &tiler,
                                 SmallVectorImpl<Attribute> &operands) {
  Value value = op.getInputs()[argument.number];
  View view = tiler.viewOf(value);
  // What trains is a buffer like any other.
  if (tiler.training && value.getDefiningOp<model::ParameterOp>() &&
      !model::isFrozen(value))
    view = tiler.training->trainable(value).weight;
  if (view.buffer)
    return passValue(op, argument, box, view, phase, operands);
  return passParameter(op, argument, box, value,
                       name + "." +
                           argument.access.getBuffer().getValue().str(),
                       phase, tiler, operands);
}

static SmallVector<Argument> argumentsOf(event::BodyOp body) {
  SmallVector<Argument> arguments;
  Block &block = body.getBody().front();
  for (auto [i, access] : llvm::enumerate(body.getAccessAttrs()))
    arguments.push_back({unsigned(i), access,
                         cast<MemRefType>(block.getArgument(i).getType()),
                         isPacked(body, i)});
  return arguments;
}

static FailureOr<event::BodyOp> bodyOf(model::CustomOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto body = module.lookupSymbol<event::BodyOp>(op.getBodyAttr());
  if (!body)
    return op.emitOpError() << "names " << op.getBodyAttr()
                            << ", and there is no event.body of that name";
  if (failed(expectAccesses(op, body)))
    return failure();
  return body;
}

/// How large a dimension of a box is at most, of a value of that type.
static int64_t mostOf(const Box &box, model::StepTensorType type, unsigned d,
                      Tiler &tiler) {
  int64_t most = tiler.plan.bound(type.getDimension(d));
  AffineExpr difference = box.high[d] - box.low[d];
  AffineMap map =
      AffineMap::inferFromExprList(ArrayRef<ArrayRef<AffineExpr>>{difference},
                                   difference.getContext())
          .front();
  if (auto size = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
          difference, map.getNumDims(), map.getNumSymbols())))
    most = std::min(most, size.getValue());
  return most;
}

/// How large a dimension of a box is in all tasks, of a value of that type.
static std::optional<int64_t> exactOf(const Box &box,
                                      model::StepTensorType type, unsigned d) {
  auto low = dyn_cast<AffineConstantExpr>(box.low[d]),
       high = dyn_cast<AffineConstantExpr>(box.high[d]);
  if (!low || !high || model::isSymbol(type.getDimension(d)))
    return std::nullopt;
  return std::min(high.getValue(), type.getDimension(d)) - low.getValue();
}

/// Passes scratch from `offset` on to a body that takes some, of which `boxes`
/// are what it gets of its values, of these types.
static LogicalResult passScratch(event::BodyOp body, ArrayRef<Box> boxes,
                                 ArrayRef<model::StepTensorType> types,
                                 int64_t offset, PhaseBuilder &phase,
                                 Tiler &tiler,
                                 SmallVectorImpl<Attribute> &operands) {
  auto exact = [&](unsigned argument, unsigned dimension) {
    return exactOf(boxes[argument], types[argument], dimension);
  };
  if (failed(checkLibraryCalls(body, exact)))
    return failure();
  if (!body.usesScratch())
    return success();
  auto bytes = scratchOf(body, [&](unsigned argument, unsigned dimension) {
    return mostOf(boxes[argument], types[argument], dimension, tiler);
  });
  if (failed(bytes))
    return failure();
  phase.needsScratch(offset + *bytes);
  Attribute pointer = phase.scratch(offset);
  operands.append({pointer, pointer, phase.integer(0), phase.integer(*bytes),
                   phase.integer(1)});
  return success();
}

LogicalResult tasks::tileCustom(model::CustomOp op, Tiler &tiler) {
  auto body = bodyOf(op);
  if (failed(body))
    return failure();
  // Whoever reads it calls the body.
  if (isRecomputed(op.getResult(0)))
    return success();
  event::BodyOp called = bodyOfTasks(op, *body, tiler);
  std::string name = tiler.plan.uniqueName(nameOf(op));
  SmallVector<View> places;
  for (OpResult result : op.getResults())
    places.push_back(placeOf(op, result, name, tiler));
  SmallVector<int64_t> capacity =
      capacityOf(body->getGrid(), tiler.plan.program);
  if (llvm::any_of(capacity, [](int64_t most) { return most < 1; }))
    return op.emitOpError() << "never runs: the grid of " << op.getBodyAttr()
                            << " is empty in every step";
  PhaseBuilder phase = tiler.plan.phase(name, op.getLoc(),
                                        body->getGrid().getResults(), capacity);
  SmallVector<Attribute> operands;
  size_t inputs = op.getInputs().size();
  SmallVector<Box> boxes;
  SmallVector<model::StepTensorType> types;
  for (const Argument &argument : argumentsOf(called)) {
    boxes.push_back(argument.box());
    types.push_back(argument.number < inputs
                        ? model::typeOf(op.getInputs()[argument.number])
                        : places[argument.number - inputs].type);
    if (failed(argument.number < inputs
                   ? passOperand(op, argument, argument.box(), name, phase,
                                 tiler, operands)
                   : passValue(op, argument, argument.box(),
                               places[argument.number - inputs], phase,
                               operands)))
      return failure();
  }
  if (failed(passScratch(called, boxes, types, /*offset=*/0, phase, tiler,
                         operands)))
    return failure();
  phase.call(called.getSymName(), operands);
  return success();
}

bool tasks::isRecomputed(Value value) {
  auto custom = value.getDefiningOp<model::CustomOp>();
  return custom && custom->hasAttr(kRecomputeAttribute);
}

LogicalResult tasks::callRecomputed(model::CustomOp op, PhaseBuilder &phase,
                                    const RowTiles &rows, int64_t stride,
                                    Tiler &tiler) {
  auto body = bodyOf(op);
  if (failed(body))
    return failure();
  SmallVector<Argument> arguments = argumentsOf(*body);
  model::StepTensorType type = model::typeOf(op.getResult(0));
  if (failed(expectFit(op, arguments.back(), type, type.getElementType())))
    return failure();
  SmallVector<Attribute> operands;
  SmallVector<Box> boxes;
  SmallVector<model::StepTensorType> types;
  for (const Argument &argument : ArrayRef(arguments).drop_back()) {
    // The task's rows, instead of those of the body's own tile.
    Box box = argument.box();
    ArrayRef<int64_t> shape =
        model::typeOf(op.getInputs()[argument.number]).getShape();
    for (auto [d, size] : llvm::enumerate(shape))
      if (model::isSymbol(size) && d < box.low.size())
        narrow(box, d, phase.coordinate(0), rows.size);
    boxes.push_back(box);
    types.push_back(model::typeOf(op.getInputs()[argument.number]));
    if (failed(
            passOperand(op, argument, box, nameOf(op), phase, tiler, operands)))
      return failure();
  }
  operands.append({phase.scratch(0), phase.scratch(0), phase.integer(0),
                   rows.count(phase), phase.integer(type.getDimension(1)),
                   phase.integer(stride), phase.integer(1)});
  Box made = arguments.back().box();
  narrow(made, 0, phase.coordinate(0), rows.size);
  boxes.push_back(made);
  types.push_back(type);
  // Behind what the body makes, from a line on.
  const auto offset = static_cast<int64_t>(
      llvm::alignTo(rows.size * stride * sizeof(float), 64));
  if (failed(passScratch(*body, boxes, types, offset, phase, tiler, operands)))
    return failure();
  phase.call(body->getSymName(), operands, /*invariant=*/true);
  return success();
}

LogicalResult tasks::tileCustomGradient(model::GradientOp op, Tiler &tiler,
                                        Training &training) {
  PlanBuilder &plan = tiler.plan;
  View made = tiler.viewOf(op.getGradient());
  Trainable &target = training.trainable(op.getParameter());
  // A row of numbers is a sum of one.
  const int64_t rank = made.type.getRank();
  const int64_t rows = rank > 1 ? made.type.getDimension(0) : 1,
                columns = made.type.getDimension(rank - 1);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(target.name + ".weight_gradient"), op.getLoc(),
                 {plan.constant(rows)}, {rows});
  Box box = phase.whole(target.gradient), in = phase.whole(made);
  if (rank > 1) {
    narrow(box, 0, phase.coordinate(0), 1);
    narrow(in, 0, phase.coordinate(0), 1);
  }
  phase.reads(made, in);
  Attribute adds = contribute(target, phase, box, training);
  phase.call("sum_rows", {phase.address(target.gradient, box),
                          phase.address(made, in), phase.integer(0),
                          phase.integer(1), phase.integer(columns), adds});
  return success();
}
