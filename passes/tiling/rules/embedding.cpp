//===- embedding.cpp - rows of tables -------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/collectives/RankPlaces.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

/// Whether a linear or a loss multiplies by the table, which then is in memory
/// as panels, unless it trains: then it is rows for both. Of blocks there are
/// panels only.
static bool isInPanels(Value table, const Tiler &tiler) {
  if (isa<model::QuantizedType>(typeOf(table).getElementType()))
    return true;
  if (tiler.training && !model::isFrozen(table))
    return false;
  return llvm::any_of(table.getUses(), [](OpOperand &use) {
    if (isa<model::CrossEntropyOp, dist::LogitMaximumOp>(use.getOwner()))
      return true;
    auto linear = dyn_cast<model::LinearOp>(use.getOwner());
    return linear && &linear.getWeightMutable() == &use;
  });
}

static LogicalResult tile(model::EmbeddingOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name), tokens = tiler.viewOf(op.getTokens());
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  bool isShared = isInPanels(op.getTable(), tiler);
  Weight table = isShared ? Weight(tiler.panels(name + ".weight", op.getTable(),
                                                /*alternating=*/false))
                          : tableWeight(name + ".table", op.getTable(), tiler);
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box in = rowsOfTask(phase, tokens, tiles.size),
      box = rowsOfTask(phase, out, tiles.size);
  phase.reads(tokens, in);
  Attribute weight = table.all(phase);
  phase.writes(out, box);
  model::StepTensorType type = typeOf(op.getTable());
  model::ShardAttr shard = RankPlaces::tokensOf(op.getTable());
  SmallVector<Attribute> operands = {
      phase.address(out, box),
      phase.stride(out, 0),
      phase.address(tokens, in),
      weight,
      tiles.count(phase),
      phase.integer(type.getDimension(1)),
      phase.integer(shard ? shard.getExtent() : type.getDimension(0)),
      phase.real(op.getMultiplier())};
  std::string callee = isShared ? "embedding_panels" : "embedding";
  if (shard) {
    callee += "_part";
    operands.push_back(tiler.places->read(phase, shard));
  }
  phase.call(table.bodyFor(callee), operands);
  return success();
}

static LogicalResult tile(model::PositionEmbeddingOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  Weight table = tableWeight(name + ".table", op.getTable(), tiler);
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box box = rowsOfTask(phase, out, tiles.size);
  Attribute weight = table.all(phase);
  phase.writes(out, box);
  phase.call(table.bodyFor("position_embedding"),
             {phase.address(out, box), phase.stride(out, 0), weight,
              phase.count(phase.past() + phase.coordinate(0) * tiles.size),
              tiles.count(phase), phase.integer(out.type.getDimension(1))});
  return success();
}

void tasks::addEmbedding(TilingRules &rules) {
  rules.add<model::EmbeddingOp>(tile);
  rules.add<model::PositionEmbeddingOp>(tile);
}
