//===- BatchInputs.cpp - what a step of several sequences is provided with ===//

#include "passes/tiling/BatchInputs.h"

#include "runtime/step_sequence.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

BatchInputs::BatchInputs(Tiler &tiler, model::ProgramOp model) {
  PlanBuilder &plan = tiler.plan;
  Builder builder(plan.context());
  auto describe = [&](StringRef role) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("role", builder.getStringAttr(role))});
  };
  for (auto [name, argument] : llvm::zip_equal(
           batch_step_inputs, model.getBody().front().getArguments())) {
    StringRef input(name.data(), name.size());
    plan.reserve(input);
    View view = plan.persistent(input, typeOf(argument), 1, StringAttr(),
                                describe("input"), model.getLoc());
    tiler.views[argument] = view;
    inputs.push_back(view);
  }
  Operation *end = model.getBody().front().getTerminator();
  if (end->getNumOperands() > 2) {
    Value value = end->getOperand(2);
    StringRef name(batch_step_hidden.data(), batch_step_hidden.size());
    plan.reserve(name);
    hidden = plan.persistent(name, typeOf(value), 1, StringAttr(),
                             describe("output"), value.getLoc());
    tiler.destinations[value] = hidden;
  }
  // How many pages there are, only the runtime knows.
  constexpr int64_t any = std::numeric_limits<int32_t>::max();
  auto declare = [&](unsigned input, int64_t end,
                     event::TableProperty property) {
    plan.table(inputs[input], 0, end, property, model.getLoc());
  };
  declare(1, model.getMaxSeq(), event::TableProperty::any);
  declare(2, *model.getBatch(), event::TableProperty::any);
  declare(3, any, event::TableProperty::distinct);
  declare(4, any / model::kPagePositions, event::TableProperty::any);
}

void BatchInputs::provide(PhaseBuilder &phase) const {
  for (const View &input : inputs)
    phase.writes(input, phase.whole(input));
}

void BatchInputs::describe(model::ProgramOp model, event::ProgramOp program) {
  Builder builder(program.getContext());
  program->setAttr(
      "event.batch",
      builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "changes", builder.getI64IntegerAttr(model.countChanges())),
           builder.getNamedAttr("sequences", model.getBatchAttr()),
           builder.getNamedAttr("longest_sequence", model.getMaxSeqAttr())}));
}
