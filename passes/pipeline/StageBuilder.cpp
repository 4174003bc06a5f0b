//===- StageBuilder.cpp - what one position of a pipeline does ------------===//

#include "passes/pipeline/StageBuilder.h"

#include "dialects/Dist/Placement.h"
#include "dialects/Model/LayerFormats.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::pipeline;

bool StageBuilder::isHere(Operation *op) const {
  return isa<StackOp>(op)
             ? layout.segmentOf(cast<StackOp>(op), position).size() > 0
             : layout.positionOf(op) == position;
}

/// What has no place of its own is made again in each phase.
void StageBuilder::begin(PhaseKind phase) {
  for (Value value : remade)
    mapping.erase(value);
  remade.clear();
  builder.create<PhaseOp>(program.getLoc(), phase);
}

void StageBuilder::receive(ArrayRef<Crossing> crossings, Neighbor from) {
  for (auto [value, isCarried] : crossings) {
    auto type = cast<StepTensorType>(value.getType());
    PlacementAttr placement = placementOf(value);
    auto received = builder.create<ReceiveOp>(
        value.getLoc(), type, from,
        countBytes(type, placement, findMesh(program)));
    if (placement != replicated(program.getContext(), type.getRank()))
      received->setAttr(kPlacements, builder.getArrayAttr({placement}));
    if (isCarried)
      carriedIn[value] = received;
    else
      mapping.map(value, received.getResult());
  }
}

/// What this position has of a value that goes on.
Value StageBuilder::made(const Crossing &crossing) const {
  return crossing.isCarried ? carriedOut.lookup(crossing.value)
                            : mapping.lookup(crossing.value);
}

void StageBuilder::send(ArrayRef<Crossing> crossings, Neighbor to) {
  for (auto [value, isCarried] : crossings) {
    auto type = cast<StepTensorType>(value.getType());
    builder.create<SendOp>(
        value.getLoc(), made({value, isCarried}), to,
        countBytes(type, placementOf(value), findMesh(program)));
  }
}

/// Makes what has no place of its own.
void StageBuilder::need(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || mapping.contains(value))
    return;
  assert((layout.isRemade(op) || layout.isLate(op)) && "has another place");
  for (Value operand : op->getOperands())
    need(operand);
  builder.clone(*op, mapping);
  llvm::append_range(remade, op->getResults());
}

/// A stack of the layers that are here.
void StageBuilder::addStack(StackOp stack) {
  Segment segment = layout.segmentOf(stack, position);
  bool isFirst = stack.getReverse() ? segment.end == int64_t(stack.getRepeat())
                                    : segment.begin == 0;
  SmallVector<Value> inits;
  for (auto [init, result] : llvm::zip(stack.getInits(), stack.getResults())) {
    if (isFirst)
      need(init);
    inits.push_back(isFirst ? mapping.lookupOrDefault(init)
                            : carriedIn.lookup(result));
  }
  stack.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == stack->getBlock())
        need(operand);
  });
  auto part = cast<StackOp>(builder.clone(*stack, mapping));
  part->setOperands(inits);
  part.setRepeat(segment.size());
  part.setFirstLayer(stack.getFirstLayer() +
                     segment.begin * stack.getLayersPerIteration() -
                     firstLayer);
  part.walk([&](ParameterOp parameter) {
    if (ArrayAttr formats = layerFormatsOf(parameter))
      parameter->setAttr(kLayerFormats,
                         builder.getArrayAttr(formats.getValue().slice(
                             segment.begin, segment.size())));
  });
  if (stack.getFirstLayer() > 0)
    part->setAttr(kPartOf, stack.getFirstLayerAttr());
  for (auto [result, made] : llvm::zip(stack.getResults(), part.getResults()))
    carriedOut[result] = made;
}

void StageBuilder::add(Operation *op) {
  if (!isHere(op))
    return;
  if (auto stack = dyn_cast<StackOp>(op))
    return addStack(stack);
  for (Value operand : op->getOperands())
    need(operand);
  builder.clone(*op, mapping);
}

void StageBuilder::build() {
  ArrayRef<Crossing> none;
  bool isFirst = position == 0, isLast = position + 1 == count;
  ArrayRef<Crossing> back = isFirst ? none : layout.downwards(position - 1);
  begin(PhaseKind::forward);
  receive(isFirst ? none : layout.upwards(position - 1), Neighbor::previous);
  for (Operation *op : layout.phase(PhaseKind::forward))
    add(op);
  send(isLast ? none : layout.upwards(position), Neighbor::next);
  begin(PhaseKind::input);
  receive(isLast ? none : layout.downwards(position), Neighbor::next);
  for (Operation *op : layout.phase(PhaseKind::input))
    add(op);
  if (!fused)
    send(back, Neighbor::previous);
  begin(PhaseKind::weight);
  for (Operation *op : layout.phase(PhaseKind::weight))
    add(op);
  if (fused)
    send(back, Neighbor::previous);
  SmallVector<Value> losses;
  for (Value loss : program.getBody().front().getTerminator()->getOperands())
    if (layout.positionOf(loss.getDefiningOp()) == position)
      losses.push_back(mapping.lookup(loss));
  builder.create<StageEndOp>(program.getLoc(), losses);
}

/// The last rows of a value of rows, as a matrix.
static FailureOr<Value> lastRows(Value value, OpBuilder &builder) {
  auto type = cast<StepTensorType>(value.getType());
  int64_t width = 1;
  for (int64_t extent : type.getShape().drop_front()) {
    if (isSymbol(extent) || !type.getElementType().isF32())
      return emitError(value.getLoc())
             << "cannot be cut: a stage hands over " << type
             << ", expected rows of one length in f32";
    width *= extent;
  }
  Location location = value.getLoc();
  if (type.getRank() != 2)
    value = builder.create<ReshapeOp>(location, type.withShape({kRows, width}),
                                      value);
  return builder
      .create<LastRowsOp>(location, type.withShape({kOutputs, width}), value)
      .getResult();
}

LogicalResult StageBuilder::buildDecoding(ValueRange arguments) {
  Block &block = program.getBody().front();
  mapping.map(block.getArguments(), arguments);
  bool isLast = position + 1 == count;
  if (position > 0)
    receive(layout.upwards(position - 1), Neighbor::previous);
  for (Operation *op : layout.phase(PhaseKind::forward))
    add(op);
  Value result;
  if (isLast) {
    result = mapping.lookup(block.getTerminator()->getOperand(0));
  } else {
    ArrayRef<Crossing> crossings = layout.upwards(position);
    FailureOr<Value> rows = lastRows(made(crossings.back()), builder);
    if (failed(rows))
      return failure();
    result = *rows;
    send(crossings, Neighbor::next);
  }
  builder.create<ReturnOp>(program.getLoc(), result);
  return success();
}
