//===- attention.cpp - attention to a cache, and what fills that ----------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

/// Whether a state is read as fused attention's keys and nothing else, or as
/// its values: its body wants both in panels of positions.
static bool isReadOnlyAs(model::KvAppendOp op,
                         OpOperand &(model::AttentionOp::*operand)()) {
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto attention = dyn_cast<model::AttentionOp>(use.getOwner());
    return attention && &(attention.*operand)() == &use;
  });
}

static LogicalResult tile(model::KvAppendOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  model::StackOp stack = tiler.stack;
  bool isKeys = isReadOnlyAs(op, &model::AttentionOp::getKMutable);
  bool isValues = !isKeys && isReadOnlyAs(op, &model::AttentionOp::getVMutable);
  View state = tiler.plan.state(
      tiler.plan.uniqueName(op.getState()), typeOf(op.getResult()),
      stack ? static_cast<int64_t>(stack.getRepeat()) : 1,
      isKeys || isValues ? kPanel : 1, isValues ? kPanel : 1, op.getLoc());
  tiler.views[op.getResult()] = state;
  RowTiles tiles(tiler, x.type, tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  int64_t heads = x.type.getDimension(1);
  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(heads)},
      {tiles.capacity, heads});
  Box in = phase.whole(x);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  narrow(in, 1, phase.coordinate(1), 1);
  Box out = in;
  out.low[0] = in.low[0] + phase.past();
  out.high[0] = in.high[0] + phase.past();
  phase.reads(x, in);
  phase.writes(state, out);
  if (isKeys || isValues) {
    // From the panel with the first row on.
    AffineExpr first = out.low[0];
    Box panels = out;
    panels.low[0] = first.floorDiv(kPanel) * kPanel;
    phase.call(isKeys ? "append_keys" : "append_values",
               {phase.address(state, panels), phase.address(x, in),
                phase.stride(x, 0), phase.count(first % kPanel),
                tiles.count(phase), phase.integer(x.type.getDimension(2))});
    return success();
  }
  phase.call("copy",
             {phase.address(state, out), phase.stride(state, 0),
              phase.address(x, in), phase.stride(x, 0), tiles.count(phase),
              phase.integer(x.type.getDimension(2))});
  return success();
}

/// A task has rows and some heads, each of which is two copies.
static LogicalResult tile(model::JoinHeadsOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  const int64_t heads = out.type.getDimension(1), own = headsOfTask(heads),
                parts = heads / own;
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(parts)},
      {tiles.capacity, parts});
  auto partOf = [&](const View &view, AffineExpr first, int64_t count) {
    Box box = rowsOfTask(phase, view, tiles.size);
    box.low[1] = first;
    box.high[1] = first + count;
    return box;
  };
  AffineExpr first = phase.coordinate(1) * own;
  int64_t column = 0;
  for (Value part : {op.getFront(), op.getBack()}) {
    View x = tiler.viewOf(part);
    if (failed(expectRows(op, "a part", x)))
      return failure();
    const int64_t width = x.type.getDimension(2);
    phase.reads(x, partOf(x, first, own));
    for (int64_t head = 0; head < own; ++head) {
      Box in = partOf(x, first + head, 1), made = partOf(out, first + head, 1);
      made.low[2] = phase.constant(column);
      made.high[2] = phase.constant(column + width);
      phase.call("copy", {phase.address(out, made), phase.stride(out, 0),
                          phase.address(x, in), phase.stride(x, 0),
                          tiles.count(phase), phase.integer(width)});
    }
    column += width;
  }
  phase.writes(out, partOf(out, first, own));
  return success();
}

namespace {
/// What attention is computed of, and into.
struct AttentionViews {
  View q, k, v, gate, out;
  Weight sinks;
  int64_t heads, groups, width, valueWidth;
  /// Tasks that share the query heads of a key/value head.
  int64_t sharers = 1;

  /// Of heads.
  int64_t tasks() const { return groups * sharers; }
  /// Query heads of a task, which are of one key/value head.
  int64_t group() const { return heads / tasks(); }
};

/// A gate's operands.
struct AttentionGate {
  Attribute pointer, stride, width;
};
} // namespace

/// States that a task reads queries of its row tile and key/value head, and of
/// that head's states the positions [begin, end), of keys in panels up to the
/// end of one. Returns what bodies take of them, from q to the window.
static SmallVector<Attribute> readScored(model::AttentionOp op,
                                         PhaseBuilder &phase,
                                         const AttentionViews &views,
                                         const RowTiles &tiles,
                                         AffineExpr begin, AffineExpr end) {
  event::BufferOp keyBuffer = views.k.buffer, valueBuffer = views.v.buffer;
  int64_t panel = keyBuffer.getInterleave();
  bool valuePanels = valueBuffer.getInterleave() > 1;
  Box queries = phase.whole(views.q);
  narrow(queries, 0, phase.coordinate(0), tiles.size);
  narrow(queries, 1, phase.coordinate(1), views.group());
  Box keys = phase.whole(views.k), values = phase.whole(views.v);
  // Those that share query heads have one key/value head.
  AffineExpr head =
      views.sharers == 1 ? phase.coordinate(1) : phase.constant(0);
  for (Box *box : {&keys, &values})
    narrow(*box, 1, head, 1);
  // Bodies count positions from the first.
  Attribute keyPointer = phase.address(views.k, keys),
            valuePointer = phase.address(views.v, values);
  for (Box *box : {&keys, &values}) {
    box->low[0] = begin;
    box->high[0] = end;
  }
  // Panels are read whole. Whoever writes into the last one comes before.
  int64_t beyond = end.getLargestKnownDivisor() % panel == 0 ? 0 : panel - 1;
  keys.high[0] = keys.high[0] + beyond;
  phase.reads(views.q, queries);
  phase.reads(views.k, keys, {.beyond = beyond});
  phase.reads(views.v, values);
  return {phase.address(views.q, queries),
          phase.stride(views.q, 0),
          keyPointer,
          panel == 1 ? phase.stride(views.k, 0) : phase.integer(0),
          valuePointer,
          valuePanels ? phase.integer(0) : phase.stride(views.v, 0),
          tiles.count(phase),
          phase.count(phase.past() + phase.coordinate(0) * tiles.size),
          phase.integer(views.group()),
          phase.integer(views.width),
          phase.integer(views.valueWidth),
          phase.real(op.getScale()),
          phase.real(op.getSoftcap()),
          phase.integer(op.getWindow())};
}

/// States that a task reads the gates of its row tile and `heads` query heads.
static AttentionGate readGate(PhaseBuilder &phase, const AttentionViews &views,
                              const RowTiles &tiles, int64_t heads) {
  const View &gate = views.gate;
  if (!gate.buffer)
    return {phase.null(), phase.integer(0), phase.integer(0)};
  Box gates = phase.whole(gate);
  narrow(gates, 0, phase.coordinate(0), tiles.size);
  narrow(gates, 1, phase.coordinate(1), heads);
  phase.reads(gate, gates);
  return {phase.address(gate, gates), phase.stride(gate, 0),
          phase.integer(gate.type.getRank() == 3 ? views.valueWidth : 1)};
}

/// One task for a row tile and a key/value head, or a part of its query heads.
static void tileWhole(model::AttentionOp op, const std::string &name,
                      const AttentionViews &views, const RowTiles &tiles,
                      Tiler &tiler) {
  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(views.tasks())},
      {tiles.capacity, views.tasks()});
  // A tile sees positions up to its last row's own.
  SmallVector<Attribute> scored =
      readScored(op, phase, views, tiles, phase.constant(0),
                 phase.past() + phase.coordinate(0) * tiles.size + tiles.size);
  AttentionGate gate = readGate(phase, views, tiles, views.group());
  Box result = phase.whole(views.out);
  narrow(result, 0, phase.coordinate(0), tiles.size);
  narrow(result, 1, phase.coordinate(1), views.group());
  phase.writes(views.out, result);
  phase.needsScratch(attentionScratch(tiles.size, views.group(), views.width,
                                      views.valueWidth));
  SmallVector<Attribute> operands = {phase.address(views.out, result),
                                     phase.stride(views.out, 0)};
  operands.append(scored);
  operands.append({gate.pointer, gate.stride, gate.width,
                   views.sinks.tile(phase, 1, views.group()),
                   phase.scratch(0)});
  phase.call("attention", operands);
}

/// A task for `split` positions, too, which keeps what each block of them
/// makes; and one for each query head that merges its blocks.
static void tileSplit(model::AttentionOp op, const std::string &name,
                      const AttentionViews &views, const RowTiles &tiles,
                      int64_t split, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  std::string partialName = plan.uniqueName(name + ".partial");
  // Elements, maximum and sum (a test holds this against the library's header).
  View partials =
      plan.blocks(partialName, views.heads, views.valueWidth + 2, op.getLoc());
  AffineExpr parts = plan.extent(model::kKv).ceilDiv(split);
  int64_t blocks = split / kAttentionBlock;
  {
    PhaseBuilder phase =
        plan.phase(partialName, op.getLoc(),
                   {tiles.extent, plan.constant(views.tasks()), parts},
                   {tiles.capacity, views.tasks(),
                    ceilDiv(plan.bound(model::kKv), split)});
    AffineExpr first = phase.coordinate(2) * split;
    SmallVector<Attribute> scored =
        readScored(op, phase, views, tiles, first, first + split);
    Box box = phase.whole(partials);
    narrow(box, 0, phase.coordinate(0), tiles.size);
    narrow(box, 1, phase.coordinate(1), views.group());
    narrow(box, 2, phase.coordinate(2), blocks);
    // Blocks that no row of the tile sees are not computed.
    phase.writes(partials, box, {.may = true});
    phase.needsScratch(attentionScratch(tiles.size, views.group(), views.width,
                                        views.valueWidth));
    SmallVector<Attribute> operands = {phase.address(partials, box),
                                       phase.stride(partials, 0)};
    operands.append(scored);
    operands.append({phase.count(first), phase.integer(split),
                     phase.stride(partials, 1), phase.scratch(0)});
    phase.call("attention_partial", operands);
  }
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent, plan.constant(views.heads)},
                 {tiles.capacity, views.heads});
  Box box = phase.whole(partials), result = phase.whole(views.out);
  for (Box *tile : {&box, &result}) {
    narrow(*tile, 0, phase.coordinate(0), tiles.size);
    narrow(*tile, 1, phase.coordinate(1), 1);
  }
  // All parts, in the words of their grid.
  box.high[2] = parts * blocks;
  phase.reads(partials, box, {.beyond = blocks - 1, .may = true});
  AttentionGate gate = readGate(phase, views, tiles, 1);
  phase.writes(views.out, result);
  phase.call("attention_merge",
             {phase.address(views.out, result), phase.stride(views.out, 0),
              phase.address(partials, box), phase.stride(partials, 0),
              tiles.count(phase),
              phase.count(phase.past() + phase.coordinate(0) * tiles.size),
              phase.integer(views.valueWidth), phase.integer(op.getWindow()),
              gate.pointer, gate.stride, gate.width,
              views.sinks.tile(phase, 1, 1)});
}

static LogicalResult tile(model::AttentionOp op, Tiler &tiler) {
  AttentionViews views;
  views.q = tiler.viewOf(op.getQ());
  views.k = tiler.viewOf(op.getK());
  views.v = tiler.viewOf(op.getV());
  views.heads = views.q.type.getDimension(1);
  views.width = views.q.type.getDimension(2);
  views.groups = views.k.type.getDimension(1);
  views.valueWidth = views.v.type.getDimension(2);
  views.sharers = headSharers(op.getK(), op.getV(), views.heads);
  SmallVector<std::pair<StringRef, View>> read = {{"q", views.q}};
  if (views.k.buffer.getInterleave() == 1)
    read.push_back({"k", views.k});
  if (views.v.buffer.getInterleave() == 1)
    read.push_back({"v", views.v});
  if (op.getGate()) {
    views.gate = tiler.viewOf(op.getGate());
    read.push_back({"the gate", views.gate});
  }
  for (const auto &[what, view] : read)
    if (failed(expectRows(op, what, view)))
      return failure();
  if (failed(expectAdjacentHeads(op, "q", views.q, views.group())) ||
      (views.gate.buffer &&
       failed(expectAdjacentHeads(op, "the gate", views.gate, views.group()))))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  views.out = tiler.resultFor(op, name);
  views.sinks = vectorWeight(name + ".sinks", op.getSinks(), tiler);
  const TileSizes &sizes = tiler.plan.tiles();
  RowTiles tiles(tiler, views.out.type, tiler.rowsOf(op, sizes.attentionRows));
  // Several row tiles are work enough without the blocks' memory, which grows
  // with rows times positions.
  int64_t split = tiler.columnsOf(op, sizes.attentionSplit);
  int64_t positions = tiler.plan.bound(model::kKv);
  if (split && tiles.capacity == 1 && split < positions) {
    tileSplit(op, name, views, tiles, split, tiler);
    return success();
  }
  tileWhole(op, name, views, tiles, tiler);
  if (!split || !op->hasAttr(kTileAttribute))
    return success();
  std::string why = tiles.capacity > 1
                        ? "a step has up to " +
                              std::to_string(tiler.plan.bound(model::kRows)) +
                              " rows, more than a tile's " +
                              std::to_string(tiles.size)
                        : "there are " + std::to_string(positions) +
                              " at most, which a task has alone";
  if (!op->hasAttr(kRequiredTileAttribute)) {
    op.emitRemark() << "positions are not spread over tasks: " << why;
    return success();
  }
  return op.emitOpError() << "has a tile of " << split
                          << " positions without effect: " << why
                          << "; the schedule may say 'optional'";
}

static LogicalResult tile(model::GateOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX()), gate = tiler.viewOf(op.getGate());
  int64_t heads = x.type.getDimension(1), width = x.type.getDimension(2);
  for (const auto &[what, view] :
       {std::pair<StringRef, const View &>{"x", x}, {"the gate", gate}})
    if (failed(expectRows(op, what, view)) ||
        failed(expectAdjacentHeads(op, what, view, heads)))
      return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box box = phase.whole(out), gates = phase.whole(gate);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  narrow(gates, 0, phase.coordinate(0), tiles.size);
  phase.reads(x, box);
  phase.reads(gate, gates);
  phase.writes(out, box);
  phase.call("gate",
             {phase.address(out, box), phase.stride(out, 0),
              phase.address(x, box), phase.stride(x, 0),
              phase.address(gate, gates), phase.stride(gate, 0),
              tiles.count(phase), phase.integer(heads), phase.integer(width),
              phase.integer(gate.type.getRank() == 3 ? width : 1)});
  return success();
}

void tasks::addAttention(TilingRules &rules) {
  rules.add<model::JoinHeadsOp>(tile);
  rules.add<model::KvAppendOp>(tile);
  rules.add<model::AttentionOp>(tile);
  rules.add<model::GateOp>(tile);
}
