//===- ProgramLayout.cpp - where a plan's parts lie at run time -----------===//

#include "codegen/plan/ProgramLayout.h"

using namespace baton::event;

baton::plan::ProgramLayout::ProgramLayout(ProgramOp program) {
  int64_t nextParameter = 0, nextStorage = 0;
  for (mlir::Operation &op : program.getBody().front()) {
    if (auto parameter = mlir::dyn_cast<ParameterOp>(op)) {
      parameters[parameter.getSymNameAttr()] = {parameter, nextParameter};
      nextParameter += parameter.getLayers();
    } else if (auto storage = mlir::dyn_cast<StorageOp>(op)) {
      storages[storage.getSymNameAttr()] = {storage, nextStorage++};
    } else if (auto buffer = mlir::dyn_cast<BufferOp>(op)) {
      buffers[buffer.getSymNameAttr()] = buffer;
    } else if (auto tensor = mlir::dyn_cast<TensorOp>(op)) {
      int64_t count = 1;
      for (int64_t extent : tensor.getCapacity())
        count *= extent;
      events[tensor.getSymNameAttr()] = {tensor, words, count, {}};
      words += count;
    }
  }
  for (PhaseOp phase : phasesOf(program))
    if (std::optional<NotifyAttr> notify = phase.getNotify())
      events.find(notify->getEvent().getAttr())->second.notifier =
          mlir::cast<SegmentOp>(phase->getParentOp());
}
