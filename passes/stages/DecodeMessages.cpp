//===- DecodeMessages.cpp - what stages that decode send one another ------===//

#include "passes/stages/DecodeMessages.h"

#include "passes/stages/StagePrograms.h"
#include "passes/tiling/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using event::MessageDirection;
using event::MessagePeer;

/// An op and those of its kind that follow it.
template <typename OpT> static SmallVector<OpT> runOf(OpT first) {
  SmallVector<OpT> run;
  for (Operation *op = first; op && isa<OpT>(op); op = op->getNextNode())
    run.push_back(cast<OpT>(op));
  return run;
}

static LogicalResult notPlain(Operation *op) {
  return op->emitOpError()
         << "cannot be tiled: its rows are not all of one length";
}

LogicalResult tasks::tileMessage(Operation *op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  if (op->getPrevNode() && op->getPrevNode()->getName() == op->getName())
    return success();
  SmallVector<View> tensors;
  auto receive = dyn_cast<dist::ReceiveOp>(op);
  if (receive) {
    for (dist::ReceiveOp one : runOf(receive)) {
      View view = plan.transient(
          plan.uniqueName("received"),
          cast<model::StepTensorType>(one.getResult().getType()), one.getLoc());
      if (!isPlain(view))
        return notPlain(one);
      tiler.views[one.getResult()] = view;
      tensors.push_back(view);
    }
  } else {
    for (dist::SendOp one : runOf(cast<dist::SendOp>(op))) {
      View view = tiler.viewOf(one.getX());
      if (!isPlain(view)) {
        std::string name = plan.uniqueName("sent");
        View copy = plan.transient(name, view.type, one.getLoc());
        if (!isPlain(copy))
          return notPlain(one);
        if (failed(
                tileCopy(one, plan.uniqueName("send.copy"), view, copy, tiler)))
          return failure();
        view = copy;
      }
      tensors.push_back(view);
    }
  }
  auto program = op->getParentOfType<model::ProgramOp>();
  plan.phase(
          plan.uniqueName(receive ? "receive.activations" : "send.activations"),
          op->getLoc(), {plan.constant(1)}, {1})
      .message(receive ? MessageDirection::receive : MessageDirection::send,
               tensors, receive ? MessagePeer::previous : MessagePeer::next,
               dist::positionOf(program)->axis, "activations");
  return success();
}

void tasks::describeStage(model::ProgramOp model, event::ProgramOp program) {
  std::optional<dist::Position> position = dist::positionOf(model);
  if (!position)
    return;
  Builder builder(program.getContext());
  program->setAttr("event.stages", position->axis);
  program->setAttr("event.stage", builder.getI64IntegerAttr(position->index));
  program->setAttr("event.part", builder.getStringAttr("decode"));
}
