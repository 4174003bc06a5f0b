//===- sample.cpp - tokens drawn from logits ------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/TilingPieces.h"
#include "runtime/step_sampling.h"
#include "runtime/step_sequence.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

static_assert(sizeof(BatonChange) == 4 * model::kChangeWords);
static_assert(sizeof(BatonDraw) == 4 * model::kDrawWords);

/// A task for each row: what is wanted of one says how long it takes.
static LogicalResult tile(model::SampleOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  View logits = tiler.viewOf(op.getLogits()),
       sampling = tiler.viewOf(op.getSampling()),
       changes = tiler.viewOf(op.getChanges()),
       masks = tiler.viewOf(op.getMasks());
  if (failed(expectRows(op, "the logits", logits)))
    return failure();
  Builder builder(op.getContext());
  StringRef reserved(batch_step_draws.data(), batch_step_draws.size());
  plan.reserve(reserved);
  View draws = plan.persistent(
      reserved, typeOf(op.getResult()), 1, StringAttr(),
      builder.getDictionaryAttr(
          {builder.getNamedAttr("role", builder.getStringAttr("output"))}),
      op.getLoc());
  tiler.views[op.getResult()] = draws;
  std::string name = plan.uniqueName(nameOf(op));
  int64_t vocabulary = logits.type.getDimension(1);
  View workspace = plan.transient(
      plan.uniqueName(name + "_workspace"),
      logits.type.withShape({model::kOutputs, 2 * vocabulary}), op.getLoc());
  RowTiles tiles(tiler, logits.type, 1);
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box row = rowsOfTask(phase, logits, tiles.size),
      wanted = rowsOfTask(phase, sampling, tiles.size),
      work = rowsOfTask(phase, workspace, tiles.size),
      drawn = rowsOfTask(phase, draws, tiles.size),
      mask = rowsOfTask(phase, masks, tiles.size),
      allChanges = phase.whole(changes);
  phase.reads(logits, row);
  phase.reads(sampling, wanted);
  phase.reads(changes, allChanges);
  phase.reads(masks, mask, {.may = true});
  phase.writes(workspace, work, {.may = true});
  phase.writes(draws, drawn);
  phase.needsScratch(BATON_SAMPLE_SCRATCH_BYTES);
  auto program = op->getParentOfType<model::ProgramOp>();
  phase.call("sample",
             {phase.address(draws, drawn), phase.stride(draws, 0),
              phase.address(workspace, work), phase.stride(workspace, 0),
              phase.address(logits, row), phase.stride(logits, 0),
              phase.address(sampling, wanted), phase.stride(sampling, 0),
              phase.address(changes, allChanges),
              phase.integer(changes.type.getDimension(0)),
              phase.integer(program.countChanges() * model::kChangeWords),
              phase.address(masks, mask), phase.stride(masks, 0),
              tiles.count(phase), phase.integer(vocabulary), phase.scratch(0)});
  return success();
}

void tasks::addSample(TilingRules &rules) { rules.add<model::SampleOp>(tile); }
