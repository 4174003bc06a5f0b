//===- rope.cpp - rotary position embedding -------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// Rows stand where the op's positions say, or behind the step's past.
static LogicalResult tile(model::RopeTableOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  event::ParameterOp frequencies =
      tiler.constants(name + ".frequencies", op.getFrequencies(), op.getLoc());
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Attribute first =
      phase.count(phase.past() + phase.coordinate(0) * tiles.size);
  if (Value given = op.getPositions()) {
    View positions = tiler.viewOf(given);
    Box in = rowsOfTask(phase, positions, tiles.size);
    phase.reads(positions, in);
    first = phase.address(positions, in);
  }
  Box box = rowsOfTask(phase, out, tiles.size);
  phase.writes(out, box);
  phase.call(op.getPositions() ? "rope_table_at" : "rope_table",
             {phase.address(out, box), phase.stride(out, 0),
              phase.weight(frequencies, phase.constant(0)),
              phase.integer(op.getFrequencies().size()), first,
              tiles.count(phase), phase.real(op.getScale())});
  return success();
}

/// Rotates heads by a table's angles: all of a row, or, where they lie apart,
/// as parts of wider ones do, one.
static LogicalResult tileRotation(Operation *op, Value rotated, Value angles,
                                  StringRef callee, Tiler &tiler) {
  View x = tiler.viewOf(rotated), table = tiler.viewOf(angles);
  int64_t heads = x.type.getDimension(1), width = x.type.getDimension(2);
  if (failed(expectRows(op, "x", x)) || failed(expectStride(op, "x", x, 1)))
    return failure();
  const bool isApart = heads > 1 && x.fixedStrideOf(1) != width;
  const int64_t own = isApart ? 1 : heads;
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  SmallVector<AffineExpr> grid = {tiles.extent};
  SmallVector<int64_t> capacity = {tiles.capacity};
  if (isApart) {
    grid.push_back(tiler.plan.constant(heads));
    capacity.push_back(heads);
  }
  PhaseBuilder phase = tiler.plan.phase(name, op->getLoc(), grid, capacity);
  Box box = rowsOfTask(phase, out, tiles.size),
      tile = rowsOfTask(phase, table, tiles.size);
  if (isApart)
    narrow(box, 1, phase.coordinate(1), 1);
  phase.reads(x, box);
  phase.reads(table, tile);
  phase.writes(out, box);
  phase.call(callee,
             {phase.address(out, box), phase.stride(out, 0),
              phase.address(x, box), phase.stride(x, 0),
              phase.address(table, tile), phase.stride(table, 0),
              tiles.count(phase), phase.integer(own), phase.integer(width),
              phase.integer(table.type.getDimension(1) / 2)});
  return success();
}

static LogicalResult tile(model::RopeOp op, Tiler &tiler) {
  return tileRotation(op, op.getX(), op.getTable(), "rope", tiler);
}

static LogicalResult tile(model::RopeGradientOp op, Tiler &tiler) {
  return tileRotation(op, op.getDy(), op.getTable(), "rope_back", tiler);
}

void tasks::addRope(TilingRules &rules) {
  rules.add<model::RopeTableOp>(tile);
  rules.add<model::RopeOp>(tile);
  rules.add<model::RopeGradientOp>(tile);
}
