//===- ProgramLayout.cpp - where a plan's parts lie at run time -----------===//

#include "codegen/plan/ProgramLayout.h"

using namespace baton::event;

using baton::plan::ProgramLayout;

ProgramLayout::ProgramLayout(ProgramOp program)
    : ProgramLayout(together(program).front()) {}

std::vector<ProgramLayout>
ProgramLayout::together(llvm::ArrayRef<ProgramOp> programs) {
  Numbers numbers;
  std::vector<ProgramLayout> layouts;
  for (ProgramOp program : programs)
    layouts.push_back(ProgramLayout(program, numbers));
  for (ProgramLayout &layout : layouts)
    layout.words = numbers.nextWord;
  return layouts;
}

ProgramLayout::ProgramLayout(ProgramOp program, Numbers &numbers)
    : program(program), firstPhase(numbers.nextPhase) {
  llvm::DenseMap<mlir::Attribute, size_t> turns;
  for (mlir::Operation &op : program.getBody().front()) {
    if (auto parameter = mlir::dyn_cast<ParameterOp>(op)) {
      // All but the name.
      mlir::NamedAttrList attributes(parameter->getAttrDictionary());
      attributes.erase(parameter.getSymNameAttrName());
      mlir::Attribute content =
          attributes.getDictionary(parameter.getContext());
      auto &alike = numbers.parameters[content];
      size_t turn = turns[content]++;
      if (turn == alike.size()) {
        alike.push_back(numbers.nextParameter);
        numbers.nextParameter += parameter.getLayers();
      }
      parameters[parameter.getSymNameAttr()] = {parameter, alike[turn]};
    } else if (auto storage = mlir::dyn_cast<StorageOp>(op)) {
      mlir::StringAttr name = storage.getSymNameAttr();
      int64_t next = numbers.storages.size();
      storages[name] = {storage,
                        numbers.storages.try_emplace(name, next).first->second};
    } else if (auto buffer = mlir::dyn_cast<BufferOp>(op)) {
      buffers[buffer.getSymNameAttr()] = buffer;
    } else if (auto tensor = mlir::dyn_cast<TensorOp>(op)) {
      int64_t count = 1;
      for (int64_t extent : tensor.getCapacity())
        count *= extent;
      events[tensor.getSymNameAttr()] = {tensor, numbers.nextWord, count, {}};
      numbers.nextWord += count;
    }
  }
  for (PhaseOp phase : phasesOf(program)) {
    ++numbers.nextPhase;
    auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
    if (phase.getDistribution() == Distribution::ticket) {
      tickets[phase] = numbers.nextWord;
      numbers.nextWord += segment.getRepeat();
    }
    for (auto exchange : phase.getBody().getOps<ExchangeOp>())
      collectives[exchange] = numbers.nextCollective++;
    for (auto message : phase.getBody().getOps<MessageOp>())
      messages[message] = numbers.nextMessage++;
    if (std::optional<NotifyAttr> notify = phase.getNotify())
      events.find(notify->getEvent().getAttr())->second.notifier = segment;
  }
}

bool baton::plan::hasStages(event::ProgramOp program) {
  return program->hasAttr("event.pipeline") || program->hasAttr("event.stages");
}
