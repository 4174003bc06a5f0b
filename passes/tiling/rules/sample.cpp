//===- sample.cpp - tokens drawn from logits ------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/BatchInputs.h"
#include "passes/tiling/TilingPieces.h"
#include "runtime/step_sampling.h"
#include "runtime/step_sequence.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

static_assert(sizeof(BatonChange) == 4 * model::kChangeWords);
static_assert(sizeof(BatonDraw) == 4 * model::kDrawWords);
static_assert(offsetof(BatonDraw, listed) == 4 * model::kDrawnWords);

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
      drawn = rowsOfTask(phase, draws, tiles.size), listed = drawn,
      mask = rowsOfTask(phase, masks, tiles.size),
      allChanges = phase.whole(changes);
  drawn.high[1] = listed.low[1] = phase.constant(model::kDrawnWords);
  // Of a step that computes some logits alone what nobody wants is left out.
  phase.reads(logits, row, {.may = tiler.batch->mayLeaveOut(op.getLogits())});
  phase.reads(sampling, wanted);
  phase.reads(changes, allChanges);
  phase.reads(masks, mask, {.may = true});
  phase.writes(workspace, work, {.may = true});
  phase.writes(draws, drawn);
  phase.writes(draws, listed, {.may = true});
  phase.needsScratch(BATON_SAMPLE_SCRATCH_BYTES);
  auto program = op->getParentOfType<model::ProgramOp>();
  phase.call("sample",
             {phase.address(draws, drawn), phase.stride(draws, 0),
              phase.address(draws, listed), phase.stride(draws, 0),
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
