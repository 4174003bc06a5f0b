//===- BatchInputs.cpp - what a step of several sequences is provided with ===//

#include "passes/tiling/BatchInputs.h"

#include "passes/tiling/TilingPieces.h"
#include "runtime/step_sequence.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

/// Logits that a linear makes and sampling reads, and nobody else before the
/// runtime; or null.
static Value findLogits(model::ProgramOp model) {
  Value logits = model.getBody().front().getTerminator()->getOperand(0);
  const bool areSampled =
      logits.getDefiningOp<model::LinearOp>() &&
      typeOf(logits).getDimension(0) == model::kOutputs &&
      llvm::all_of(logits.getUsers(),
                   llvm::IsaPred<model::SampleOp, model::ReturnOp>);
  return areSampled ? logits : Value();
}

BatchInputs::BatchInputs(Tiler &tiler, model::ProgramOp model) {
  PlanBuilder &plan = tiler.plan;
  Builder builder(plan.context());
  auto describe = [&](StringRef role) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("role", builder.getStringAttr(role))});
  };
  SmallVector<std::string_view> names(batch_step_inputs.begin(),
                                      batch_step_inputs.end());
  auto adapters = model->getAttrOfType<DictionaryAttr>(model::kAdapters);
  if (adapters)
    names.append(batch_adapter_inputs.begin(), batch_adapter_inputs.end());
  for (auto [name, argument] :
       llvm::zip_equal(names, model.getBody().front().getArguments())) {
    StringRef input(name.data(), name.size());
    plan.reserve(input);
    View view = plan.persistent(input, typeOf(argument), 1, StringAttr(),
                                describe("input"), model.getLoc());
    tiler.views[argument] = view;
    inputs.push_back(view);
  }
  logits = findLogits(model);
  if (logits) {
    StringRef name(batch_step_wanted.data(), batch_step_wanted.size());
    plan.reserve(name);
    const int64_t panels = ceilDiv(typeOf(logits).getDimension(1), kPanel);
    wanted = plan.persistent(
        name,
        typeOf(model.getBody().front().getArgument(0)).withShape({panels + 1}),
        1, StringAttr(), describe("input"), model.getLoc());
    inputs.push_back(wanted);
    plan.table(wanted, 0, panels + 1, event::TableProperty::any,
               model.getLoc());
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
  if (adapters) {
    auto numberOf = [&](StringRef key) {
      return adapters.getAs<IntegerAttr>(key).getInt();
    };
    declare(7, numberOf("ranks") + 1, event::TableProperty::any);
    declare(8, numberOf("most") + 1, event::TableProperty::any);
  }
}

void BatchInputs::provide(PhaseBuilder &phase) const {
  for (const View &input : inputs)
    phase.writes(input, phase.whole(input));
}

void BatchInputs::describe(model::ProgramOp model, event::ProgramOp program) {
  Builder builder(program.getContext());
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("changes",
                           builder.getI64IntegerAttr(model.countChanges())),
      builder.getNamedAttr("sequences", model.getBatchAttr()),
      builder.getNamedAttr("longest_sequence", model.getMaxSeqAttr())};
  if (Attribute adapters = model->getAttr(model::kAdapters))
    entries.push_back(builder.getNamedAttr("adapters", adapters));
  program->setAttr("event.batch", builder.getDictionaryAttr(entries));
}
