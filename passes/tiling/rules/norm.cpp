//===- norm.cpp - norms of rows -------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/Norms.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

template <typename OpT>
static LogicalResult tileNorm(OpT op, model::Norm norm, Value bias,
                              Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  NormTiles tiles(op, out.type, tiler);
  Weight weights = vectorWeight(name + ".weight", op.getWeight(), tiler),
         biases = vectorWeight(name + ".bias", bias, tiler);
  PhaseBuilder phase = tiles.phase(tiler.plan, name, op.getLoc());
  Box box = tiles.tile(phase, out);
  phase.reads(x, box);
  Attribute weight = weights.all(phase), added = biases.all(phase);
  phase.writes(out, box);
  llvm::APFloat epsilon = op.getEpsilon();
  callNorm(phase, norm, x, box,
           {phase.address(out, box), phase.stride(out, 0),
            tiles.rows.count(phase), weight, added, epsilon});
  return success();
}

static LogicalResult tile(model::RmsNormOp op, Tiler &tiler) {
  return tileNorm(op, model::Norm::rms, Value(), tiler);
}

static LogicalResult tile(model::LayerNormOp op, Tiler &tiler) {
  return tileNorm(op, model::Norm::layer, op.getBias(), tiler);
}

/// A task reads of x what it writes.
template <typename OpT> static bool isInPlace(OpT, OpOperand &) { return true; }

void tasks::addNorm(TilingRules &rules) {
  rules.add<model::RmsNormOp>(tile);
  rules.add<model::LayerNormOp>(tile);
  rules.mayWriteOver<model::RmsNormOp>(isInPlace);
  rules.mayWriteOver<model::LayerNormOp>(isInPlace);
}
