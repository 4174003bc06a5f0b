//===- adapter.cpp - low-rank adapters, of each row its own ---------------===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Linears.h"
#include "passes/tiling/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

// An adapter's ranks are whole panels.
static_assert(model::kRankUnit == kPanel);

/// Where adapters' matrices of one kind lie, of each layer its own: of each
/// rank of those that there is room for `width` elements. Those of one adapter
/// are as it needs them (codegen/bodies/adapter.td). The runtime writes it
/// between two steps.
static View makeRoom(model::ParameterOp matrix, StringRef kind, int64_t ranks,
                     int64_t width, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  Builder builder(plan.context());
  SmallVector<NamedAttribute> entries(
      tiler.describe(matrix.getResult()).getValue());
  for (auto [key, value] : {std::pair<StringRef, Attribute>{
                                "role", builder.getStringAttr("adapter")},
                            {"kind", builder.getStringAttr(kind)},
                            {"width", builder.getI64IntegerAttr(width)}})
    entries.push_back(builder.getNamedAttr(key, value));
  View room =
      plan.persistent(plan.uniqueName(nameOf(matrix)),
                      typeOf(matrix.getResult())
                          .withShape({ranks * ceilDiv(width, kPanel) * kPanel}),
                      tiler.layersOf(matrix.getResult()), StringAttr(),
                      builder.getDictionaryAttr(entries), matrix.getLoc());
  // No task writes it.
  room.buffer.setCarry(event::Carry::kept);
  return room;
}

/// The body for ranks that are kept so.
static std::string bodyFor(StringRef name, const View &room) {
  return bodies::functionName(
      name, room.type.getElementType().isBF16() ? "bf16" : "f32");
}

/// A task has some rows, whatever adapters these have: all ranks of each.
static LogicalResult tile(model::AdapterDownOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX()), places = tiler.viewOf(op.getPlaces()),
       counts = tiler.viewOf(op.getCounts());
  if (failed(expectRows(op, "x", x)))
    return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  const int64_t depth = x.type.getDimension(1);
  View room = makeRoom(op.getA().getDefiningOp<model::ParameterOp>(), "down",
                       op.getRanks(), depth, tiler);
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().attentionRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box in = rowsOfTask(phase, x, tiles.size),
      result = rowsOfTask(phase, out, tiles.size),
      placed = rowsOfTask(phase, places, tiles.size),
      counted = rowsOfTask(phase, counts, tiles.size);
  phase.reads(x, in);
  phase.reads(places, placed);
  phase.reads(counts, counted);
  Attribute ranks = readAll(phase, room);
  phase.writes(out, result);
  phase.call(bodyFor("adapter_down", room),
             {phase.address(out, result), phase.stride(out, 0),
              phase.address(x, in), phase.stride(x, 0), ranks,
              phase.integer(room.type.getDimension(0)),
              phase.address(places, placed), phase.address(counts, counted),
              tiles.count(phase), phase.integer(depth),
              phase.integer(out.type.getDimension(1))});
  return success();
}

/// The pairs of one linear are added where its tiles are made.
static LogicalResult tile(model::AdapterUpOp op, Tiler &tiler) {
  if (llvm::any_of(op->getUsers(), [](Operation *user) {
        return isa<model::AdapterUpOp>(user);
      }))
    return success();
  SmallVector<model::AdapterUpOp> pairs;
  Value base = op.getResult();
  while (auto pair = base.getDefiningOp<model::AdapterUpOp>()) {
    pairs.push_back(pair);
    base = pair.getBase();
  }
  auto linear = base.getDefiningOp<model::LinearOp>();
  if (linear->getBlock() != op->getBlock() ||
      linear.getActivation() != model::Activation::identity)
    return op.emitOpError()
           << "cannot be tiled: its base is made elsewhere, or "
              "has an activation";
  SmallVector<View> rooms;
  for (model::AdapterUpOp pair : llvm::reverse(pairs))
    rooms.push_back(makeRoom(pair.getB().getDefiningOp<model::ParameterOp>(),
                             "up", pair.getRanks(),
                             typeOf(pair.getB()).getDimension(0), tiler));
  auto add = [&](PhaseBuilder &phase, const ProductTiles &tiles,
                 LinearInput out) -> LogicalResult {
    for (auto [pair, room] : llvm::zip_equal(llvm::reverse(pairs), rooms)) {
      View low = tiler.viewOf(pair.getLow()),
           places = tiler.viewOf(pair.getPlaces()),
           counts = tiler.viewOf(pair.getCounts());
      if (failed(expectRows(pair, "low", low)))
        return failure();
      Box in = rowsOfTask(phase, low, tiles.rows.size),
          placed = rowsOfTask(phase, places, tiles.rows.size),
          counted = rowsOfTask(phase, counts, tiles.rows.size);
      phase.reads(low, in);
      phase.reads(places, placed);
      phase.reads(counts, counted);
      Attribute ranks = readAll(phase, room);
      phase.call(bodyFor("adapter_up", room),
                 {out.pointer, out.stride, phase.address(low, in),
                  phase.stride(low, 0), ranks,
                  phase.integer(room.type.getDimension(0)),
                  phase.address(places, placed), phase.address(counts, counted),
                  tiles.rows.count(phase), tiles.count(phase),
                  phase.integer(low.type.getDimension(1)),
                  phase.count(phase.coordinate(1) * tiles.width),
                  phase.integer(pair.getOffset()),
                  phase.integer(typeOf(pair.getB()).getDimension(0))});
    }
    return success();
  };
  return tileLinear(linear, op, add, tiler);
}

void tasks::addAdapter(TilingRules &rules) {
  rules.add<model::AdapterDownOp>(tile);
  rules.add<model::AdapterUpOp>(tile);
}
