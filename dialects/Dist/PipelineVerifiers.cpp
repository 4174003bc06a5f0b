//===- PipelineVerifiers.cpp - what pipeline ops promise ------------------===//
//
// Each check is a line under **Constraints** in DistOps.td and a case in
// test/dialects/Dist/errors_pipeline.mlir.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Placement.h"
#include "dialects/Dist/ScheduleProof.h"

#include "dialects/Model/Verification.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Sends, or receives, of a stage that go to a neighbour, or come from it.
template <typename OpT>
static SmallVector<OpT> messagesOf(StageOp stage, Neighbor neighbor) {
  SmallVector<OpT> list;
  for (auto op : stage.getBody().getOps<OpT>()) {
    Neighbor other;
    if constexpr (std::is_same_v<OpT, SendOp>)
      other = op.getTo();
    else
      other = op.getFrom();
    if (other == neighbor)
      list.push_back(op);
  }
  return list;
}

/// What one position sends is what the other one receives.
static LogicalResult verifyBorder(int64_t sender, StageOp from,
                                  int64_t receiver, StageOp to) {
  bool isForward = sender < receiver;
  auto sends =
      messagesOf<SendOp>(from, isForward ? Neighbor::next : Neighbor::previous);
  auto receives = messagesOf<ReceiveOp>(to, isForward ? Neighbor::previous
                                                      : Neighbor::next);
  if (sends.size() != receives.size())
    return from.emitOpError()
           << "position " << sender << " sends " << sends.size()
           << " values to position " << receiver << ", which receives "
           << receives.size();
  for (auto [send, receive] : llvm::zip(sends, receives))
    if (send.getX().getType() != receive.getResult().getType())
      return receive.emitOpError()
             << "position " << receiver << " receives "
             << receive.getResult().getType() << ", but position " << sender
             << " sends " << send.getX().getType();
  for (auto [send, receive] : llvm::zip(sends, receives)) {
    if (!isa<StepTensorType>(send.getX().getType()))
      continue; // The messages say so themselves.
    PlacementAttr sent = placementOf(send.getX());
    PlacementAttr received = placementOf(receive.getResult());
    if (sent != received)
      return receive.emitOpError()
             << "position " << receiver << " receives a value placed "
             << received << ", but position " << sender << " sends one placed "
             << sent;
  }
  return success();
}

/// Nothing comes from beyond the model's ends, or goes there.
static LogicalResult verifyEnd(StageOp stage, int64_t position,
                               Neighbor neighbor) {
  if (messagesOf<SendOp>(stage, neighbor).empty() &&
      messagesOf<ReceiveOp>(stage, neighbor).empty())
    return success();
  return stage.emitOpError()
         << "position " << position << " has nothing "
         << (neighbor == Neighbor::next ? "after" : "before") << " it";
}

static LogicalResult verifyPositions(ScheduleOp op) {
  int64_t count = op.countPositions();
  SmallVector<StageOp> stages(count);
  for (auto stage : op->getBlock()->getOps<StageOp>())
    for (int64_t position : stage.getPositions()) {
      if (position < 0 || position >= count)
        continue; // The stage says so itself.
      if (stages[position])
        return stage.emitOpError()
               << "position " << position << " has two stages";
      stages[position] = stage;
    }
  for (auto [position, stage] : llvm::enumerate(stages))
    if (!stage)
      return op.emitOpError() << "position " << position << " has no stage";
  for (int64_t position = 1; position < count; ++position)
    if (failed(verifyBorder(position - 1, stages[position - 1], position,
                            stages[position])) ||
        failed(verifyBorder(position, stages[position], position - 1,
                            stages[position - 1])))
      return failure();
  if (failed(verifyEnd(stages.front(), 0, Neighbor::previous)))
    return failure();
  return verifyEnd(stages.back(), count - 1, Neighbor::next);
}

LogicalResult ScheduleOp::verify() {
  auto program = dyn_cast<ProgramOp>((*this)->getParentOp());
  if (!program || !program.getTraining())
    return emitOpError() << "stands outside of a training program";
  if (findSchedule(program) != *this)
    return emitOpError() << "is the program's second schedule";
  if (!countStages())
    return emitOpError() << "the mesh has no axis " << getAxisAttr();
  int64_t microbatches = getMicrobatchesAttr().getInt();
  int64_t chunks = getChunksAttr().getInt();
  if (microbatches < 1 || microbatches > (1 << 20) || chunks < 1 ||
      chunks > (1 << 20))
    return emitOpError() << "has " << microbatches << " microbatches and "
                         << chunks << " chunks, expected 1 to 1048576";
  if (int64_t(getTables().size()) != countStages() ||
      int64_t(getInFlight().size()) != countStages())
    return emitOpError() << "has " << getTables().size() << " tables and "
                         << getInFlight().size() << " numbers in flight for "
                         << countStages() << " stages";
  std::string wrong;
  pipeline::Schedule schedule = getSchedule(&wrong);
  if (!wrong.empty())
    return emitOpError() << "'" << wrong
                         << "' is no step, such as F0, B12 or W3.1";
  if (std::string fault = pipeline::findFault(schedule); !fault.empty())
    return emitOpError() << fault;
  for (auto [stage, reached] :
       llvm::enumerate(pipeline::countInFlight(schedule)))
    if (reached != getInFlight()[stage])
      return emitOpError() << "stage " << stage << ": " << reached
                           << " are in flight, not " << getInFlight()[stage];
  return verifyPositions(*this);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

LogicalResult StageOp::verify() {
  ScheduleOp schedule = findSchedule(*this);
  if (!isa<ProgramOp>((*this)->getParentOp()) || !schedule ||
      !schedule->isBeforeInBlock(*this))
    return emitOpError() << "stands outside of a program with a schedule "
                            "before it";
  if (getPositions().empty())
    return emitOpError() << "has no position";
  int64_t before = -1;
  for (int64_t position : getPositions()) {
    if (position <= before)
      return emitOpError() << "positions do not ascend from 0";
    if (position >= schedule.countPositions())
      return emitOpError() << "has position " << position << " of "
                           << schedule.countPositions();
    before = position;
  }
  ArrayRef<int64_t> offsets = getOffsets();
  if (offsets.size() != getPositions().size() || offsets.front() != 0)
    return emitOpError() << "expected an offset for each position, 0 at first";
  for (int64_t offset : offsets)
    if (offset < 0)
      return emitOpError() << "has a negative offset";
  return success();
}

/// Where an op stands in its phase.
enum class Place { receives, computes, sends };

static LogicalResult verifyMessagePlace(Operation &op, PhaseKind phase,
                                        Place &place, bool fused) {
  if (auto receive = dyn_cast<ReceiveOp>(op)) {
    if (place != Place::receives)
      return receive.emitOpError() << "does not stand at its phase's begin";
    bool isForward = receive.getFrom() == Neighbor::previous;
    if (phase != (isForward ? PhaseKind::forward : PhaseKind::input))
      return receive.emitOpError()
             << "stands in the phase '" << stringifyPhaseKind(phase)
             << "', expected '" << (isForward ? "forward" : "input") << "'";
    return success();
  }
  if (auto send = dyn_cast<SendOp>(op)) {
    place = Place::sends;
    PhaseKind expected = send.getTo() == Neighbor::next ? PhaseKind::forward
                         : fused                        ? PhaseKind::weight
                                                        : PhaseKind::input;
    if (phase != expected)
      return send.emitOpError()
             << "stands in the phase '" << stringifyPhaseKind(phase)
             << "', expected '" << stringifyPhaseKind(expected) << "'";
    return success();
  }
  if (place == Place::sends)
    return op.emitOpError() << "follows a 'dist.send' in its phase";
  place = Place::computes;
  return success();
}

/// Only arguments of the program come from outside.
static LogicalResult verifyReads(StageOp stage) {
  Region &region = stage.getBody();
  Block *around = stage->getBlock();
  WalkResult result = region.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (region.isAncestor(operand.getParentRegion()))
        continue;
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && argument.getOwner() == around)
        continue;
      op->emitOpError() << "reads a value from around its stage that is no "
                           "argument of the program";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult StageOp::verifyRegions() {
  Block &block = getBody().front();
  auto end = block.empty() ? StageEndOp() : dyn_cast<StageEndOp>(block.back());
  if (!end || block.getNumArguments())
    return emitOpError() << "takes no arguments and ends with dist.stage_end";
  if (end.getOperandTypes() != getResultTypes())
    return emitOpError() << "ends with other values than its results";
  if (getNumResults() && getPositions().size() != 1)
    return emitOpError() << "has results and " << getPositions().size()
                         << " positions";
  bool fused = findSchedule(*this).getFused();
  unsigned phases = 0;
  Place place = Place::receives;
  for (Operation &op : block.without_terminator()) {
    if (auto phase = dyn_cast<PhaseOp>(op)) {
      if (phases == 3 || phase.getPhase() != PhaseKind(phases))
        return phase.emitOpError() << "is out of order: a stage has forward, "
                                      "input and weight";
      ++phases;
      place = Place::receives;
      continue;
    }
    if (!phases)
      return op.emitOpError() << "stands before its stage's first phase";
    if (failed(verifyMessagePlace(op, PhaseKind(phases - 1), place, fused)))
      return failure();
  }
  if (phases != 3)
    return emitOpError() << "has " << phases << " phases, expected 3";
  return verifyReads(*this);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Of a program that decodes: it begins with what it receives, and ends with
/// what it sends, and the only way is forward.
static LogicalResult verifyProgramPlace(Operation *op) {
  auto program = dyn_cast<ProgramOp>(op->getParentOp());
  if (!program)
    return success();
  if (!program->hasAttr(kPosition))
    return op->emitOpError()
           << "stands in a program without '" << kPosition << "'";
  if (auto send = dyn_cast<SendOp>(op)) {
    if (send.getTo() != Neighbor::next)
      return op->emitOpError() << "sends back, in a program that decodes";
    if (!isa<SendOp, ReturnOp>(op->getNextNode()))
      return op->emitOpError() << "does not stand at its program's end";
    return success();
  }
  if (cast<ReceiveOp>(op).getFrom() != Neighbor::previous)
    return op->emitOpError()
           << "receives from the next position, in a program that decodes";
  if (op->getPrevNode() && !isa<ReceiveOp>(op->getPrevNode()))
    return op->emitOpError() << "does not stand at its program's begin";
  return success();
}

static LogicalResult verifyMessage(Operation *op, StringRef payload) {
  if (failed(verifyProgramPlace(op)))
    return failure();
  Value value = messageOf(op);
  auto type = dyn_cast<StepTensorType>(value.getType());
  if (!type || type.getRank() == 0 ||
      (type.getDimension(0) != kRows && !countRowParts(type.getDimension(0))) ||
      !isa<FloatType>(type.getElementType()))
    return op->emitOpError() << "exchanges " << value.getType()
                             << ", expected a floating-point tensor of rows";
  std::string bytes = countBytes(type, placementOf(value), findMesh(op));
  if (payload == bytes)
    return success();
  return op->emitOpError() << "has payload '" << payload << "', expected '"
                           << bytes << "'";
}

LogicalResult SendOp::verify() { return verifyMessage(*this, getPayload()); }

LogicalResult ReceiveOp::verify() { return verifyMessage(*this, getPayload()); }

LogicalResult SumGradientsOp::verify() {
  ScheduleOp schedule = findSchedule(*this);
  if (!isa<ProgramOp>((*this)->getParentOp()) || !schedule ||
      !schedule->isBeforeInBlock(*this))
    return emitOpError() << "stands outside of a program with a schedule "
                            "before it";
  for (auto stage : (*this)->getBlock()->getOps<StageOp>())
    if ((*this)->isBeforeInBlock(stage))
      return emitOpError() << "stands before a stage";
  if (!getParameter().getDefiningOp<ParameterOp>())
    return emitOpError() << "is not of a parameter";
  int64_t before = -1;
  for (int64_t stage : getStages()) {
    if (stage <= before || stage >= schedule.countStages())
      return emitOpError() << "stages do not ascend from 0 to "
                           << schedule.countStages() - 1;
    before = stage;
  }
  if (getStages().size() < 2)
    return emitOpError() << "is over fewer than two stages";
  auto type = cast<StepTensorType>(getParameter().getType());
  std::string bytes =
      countBytes(type.withElementType(Float32Type::get(getContext())),
                 placementOf(getParameter()), findMesh(*this));
  if (getPayload() == bytes)
    return success();
  return emitOpError() << "has payload '" << getPayload() << "', expected '"
                       << bytes << "'";
}
