//===- Pipeline.cpp - what pipeline ops say -------------------------------===//

#include "dialects/Dist/Placement.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;

ScheduleOp baton::dist::findSchedule(Operation *op) {
  auto program = dyn_cast<model::ProgramOp>(op);
  if (!program)
    program = op->getParentOfType<model::ProgramOp>();
  if (!program)
    return {};
  auto schedules = program.getOps<ScheduleOp>();
  return schedules.empty() ? ScheduleOp() : *schedules.begin();
}

std::optional<Position> baton::dist::positionOf(model::ProgramOp program) {
  auto entries = program->getAttrOfType<ArrayAttr>(kPosition);
  if (!entries)
    return std::nullopt;
  return Position{cast<StringAttr>(entries[0]),
                  cast<IntegerAttr>(entries[1]).getInt()};
}

ArrayAttr baton::dist::describe(Position position) {
  Builder builder(position.axis.getContext());
  return builder.getArrayAttr(
      {position.axis, builder.getI64IntegerAttr(position.index)});
}

Value baton::dist::messageOf(Operation *op) {
  if (auto send = dyn_cast<SendOp>(op))
    return send.getX();
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return receive.getResult();
  return {};
}

int64_t ScheduleOp::countStages() {
  MeshOp mesh = findMesh(*this);
  return mesh ? mesh.getSize(getAxisAttr()) : 0;
}

pipeline::Schedule ScheduleOp::getSchedule(std::string *wrong) {
  pipeline::Schedule schedule;
  schedule.name = getName().str();
  schedule.stages = int(countStages());
  schedule.microbatches = int(getMicrobatches());
  schedule.chunks = int(getChunks());
  schedule.fused = getFused();
  for (auto text : getTables().getAsRange<StringAttr>()) {
    pipeline::Table &table = schedule.tables.emplace_back();
    SmallVector<StringRef> words;
    text.getValue().split(words, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef word : words) {
      std::optional<pipeline::Step> step = pipeline::parseStep(word);
      if (step)
        table.push_back(*step);
      else if (wrong)
        *wrong = word.str();
    }
  }
  schedule.inFlight.assign(getInFlight().begin(), getInFlight().end());
  return schedule;
}

StageOp ScheduleOp::findStage(int64_t position) {
  for (auto stage : (*this)->getBlock()->getOps<StageOp>())
    if (llvm::is_contained(stage.getPositions(), position))
      return stage;
  return {};
}
