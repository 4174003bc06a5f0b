//===- token_mask.cpp - tokens that constraints allow ---------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/TilingPieces.h"
#include "runtime/step_sampling.h"
#include "runtime/step_sequence.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

static_assert(sizeof(BatonSampling) == 4 * model::kSamplingWords);

/// A task for each row, so that workers make masks at the same time. They wait
/// for nothing of the step: whoever has none of the phases before left to do
/// makes masks meanwhile.
static LogicalResult tile(model::TokenMaskOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  View sampling = tiler.viewOf(op.getSampling());
  Builder builder(op.getContext());
  StringRef reserved(batch_step_masks.data(), batch_step_masks.size());
  plan.reserve(reserved);
  // In the host's memory: where a task cannot call it, it writes them itself.
  View masks = plan.persistent(
      reserved, typeOf(op.getResult()), 1, StringAttr(),
      builder.getDictionaryAttr(
          {builder.getNamedAttr("role", builder.getStringAttr("output"))}),
      op.getLoc());
  tiler.views[op.getResult()] = masks;
  RowTiles tiles(tiler, sampling.type, 1);
  PhaseBuilder phase = plan.phase(plan.uniqueName(nameOf(op)), op.getLoc(),
                                  {tiles.extent}, {tiles.capacity});
  Box wanted = rowsOfTask(phase, sampling, tiles.size),
      mask = rowsOfTask(phase, masks, tiles.size);
  phase.reads(sampling, wanted);
  phase.writes(masks, mask, {.may = true});
  phase.call("token_mask",
             {phase.address(masks, mask), phase.stride(masks, 0),
              phase.address(sampling, wanted), phase.stride(sampling, 0),
              tiles.count(phase), phase.integer(masks.type.getDimension(1))});
  return success();
}

void tasks::addTokenMask(TilingRules &rules) {
  rules.add<model::TokenMaskOp>(tile);
}
