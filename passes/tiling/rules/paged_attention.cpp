//===- paged_attention.cpp - attention to pages, and what fills them ------===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

// Bits are those of a state that is not in pages only so.
static_assert(model::kPagePositions == kAttentionBlock);

/// Whether a state is read as keys, of which a part may be values; else it is
/// read as values.
static FailureOr<bool> isKeys(model::PagedAppendOp op) {
  bool keys = false, values = false;
  for (OpOperand &use : op->getUses()) {
    if (auto slice = dyn_cast<model::SliceOp>(use.getOwner());
        slice && llvm::all_of(slice->getUsers(), [&](Operation *user) {
          auto attention = dyn_cast<model::PagedAttentionOp>(user);
          return attention && attention.getK() == op.getResult() &&
                 attention.hasOneState();
        }))
      continue;
    auto attention = dyn_cast<model::PagedAttentionOp>(use.getOwner());
    keys |= attention && &attention.getKMutable() == &use;
    values |= !attention || &attention.getKMutable() != &use;
  }
  if (keys && values)
    return op.emitOpError() << "cannot be tiled: its state is read as keys and "
                               "as something else";
  return keys;
}

/// The body for a state that is stored so.
static std::string bodyFor(StringRef name, model::PagedAppendOp state) {
  return bodies::functionName(name, stringifyStored(state.getStored()));
}

/// What a row of a state is in memory: bytes have a scale behind them.
static model::StepTensorType storedType(model::PagedAppendOp op) {
  Builder builder(op.getContext());
  model::StepTensorType type = typeOf(op.getResult());
  SmallVector<int64_t> bytes(type.getShape());
  bytes.back() += sizeof(float);
  switch (op.getStored()) {
  case model::Stored::f32:
    return type;
  case model::Stored::bf16:
    return type.withElementType(builder.getBF16Type());
  case model::Stored::int8:
  case model::Stored::fp8:
    return type.withShape(bytes).withElementType(builder.getI8Type());
  }
  llvm_unreachable("every form is listed");
}

static LogicalResult tile(model::PagedAppendOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX()), slots = tiler.viewOf(op.getSlots());
  FailureOr<bool> asKeys = isKeys(op);
  if (failed(expectRows(op, "x", x)) || failed(asKeys))
    return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  model::StackOp stack = tiler.stack;
  View state =
      plan.pagedState(plan.uniqueName(op.getState()), storedType(op),
                      stack ? static_cast<int64_t>(stack.getRepeat()) : 1,
                      kPanel, *asKeys ? 1 : kPanel, slots, op.getLoc());
  tiler.views[op.getResult()] = state;
  RowTiles tiles(tiler, x.type, tiler.rowsOf(op, plan.tiles().plainRows));
  int64_t heads = x.type.getDimension(1);
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent, plan.constant(heads)},
                 {tiles.capacity, heads});
  auto headOf = [&](const View &view) {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(0), tiles.size);
    narrow(box, 1, phase.coordinate(1), 1);
    return box;
  };
  Box box = headOf(x), stored = headOf(state),
      places = rowsOfTask(phase, slots, tiles.size);
  phase.reads(x, box);
  phase.reads(slots, places);
  phase.writes(state, stored);
  event::BufferOp buffer = state.buffer;
  phase.call(bodyFor(*asKeys ? "append_key_pages" : "append_value_pages", op),
             {phase.address(state, stored),
              phase.integer(buffer.getPageStride()), phase.address(x, box),
              phase.stride(x, 0), phase.address(slots, places),
              tiles.count(phase), phase.integer(x.type.getDimension(2)),
              phase.integer(state.type.getDimension(2))});
  return success();
}

/// One task for a row tile and a key/value head, or where all heads share one
/// state some of them, whatever sequences the tile
/// has rows of: it may see all rows of the step.
static LogicalResult tile(model::PagedAttentionOp op, Tiler &tiler) {
  View q = tiler.viewOf(op.getQ()), keys = tiler.viewOf(op.getK()),
       values = op.hasOneState() ? View() : tiler.viewOf(op.getV()),
       positions = tiler.viewOf(op.getPositions()),
       sequences = tiler.viewOf(op.getSequences()),
       pages = tiler.viewOf(op.getPages()), gate;
  if (op.getGate())
    gate = tiler.viewOf(op.getGate());
  int64_t groups = keys.type.getDimension(1), heads = q.type.getDimension(1),
          sharers = headSharers(op.getK(), op.getV(), heads),
          group = heads / groups / sharers, width = q.type.getDimension(2),
          valueWidth = typeOf(op.getV()).getDimension(2);
  auto stored = op.getK().getDefiningOp<model::PagedAppendOp>();
  if (op.hasOneState() && (op.getGate() || op.getSinks()))
    return op.emitOpError() << "cannot be tiled: attention to one state has "
                               "neither gate nor sinks";
  if (failed(expectRows(op, "q", q)) ||
      failed(expectAdjacentHeads(op, "q", q, group)) ||
      (gate.buffer &&
       (failed(expectRows(op, "the gate", gate)) ||
        failed(expectAdjacentHeads(op, "the gate", gate, group)))))
    return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  Weight sinks = vectorWeight(name + ".sinks", op.getSinks(), tiler);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().attentionRows));
  PhaseBuilder phase = plan.phase(
      name, op.getLoc(), {tiles.extent, plan.constant(groups * sharers)},
      {tiles.capacity, groups * sharers});
  auto tileOf = [&](const View &view, int64_t heads) {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(0), tiles.size);
    narrow(box, 1, phase.coordinate(1), heads);
    return box;
  };
  auto headOf = [&](const View &state) {
    Box box = phase.whole(state);
    if (sharers == 1)
      narrow(box, 1, phase.coordinate(1), 1);
    return box;
  };
  Box result = tileOf(out, group), queries = tileOf(q, group),
      keyBox = headOf(keys), rows = rowsOfTask(phase, positions, tiles.size),
      sequenceRows = rowsOfTask(phase, sequences, tiles.size),
      allPages = phase.whole(pages);
  phase.reads(q, queries);
  phase.reads(keys, keyBox);
  if (!op.hasOneState())
    phase.reads(values, headOf(values));
  phase.reads(positions, rows);
  phase.reads(sequences, sequenceRows);
  phase.reads(pages, allPages);
  Attribute gatePointer = phase.null(), gateStride = phase.integer(0),
            gateWidth = phase.integer(0);
  if (gate.buffer) {
    Box box = tileOf(gate, group);
    phase.reads(gate, box);
    gatePointer = phase.address(gate, box);
    gateStride = phase.stride(gate, 0);
    gateWidth = phase.integer(gate.type.getRank() == 3 ? valueWidth : 1);
  }
  phase.writes(out, result);
  int64_t scratch = attentionScratch(tiles.size, group, width, valueWidth);
  // Blocks of values as numbers; attention has room for those of keys.
  if (stored.getStored() != model::Stored::f32 || op.hasOneState())
    scratch += int64_t(sizeof(float)) * kAttentionBlock * valueWidth;
  phase.needsScratch(scratch);
  event::BufferOp keyBuffer = keys.buffer;
  auto program = op->getParentOfType<model::ProgramOp>();
  const bool isLatent = op.hasOneState();
  SmallVector<Attribute> operands = {
      phase.address(out, result),  phase.stride(out, 0),
      phase.address(q, queries),   phase.stride(q, 0),
      phase.address(keys, keyBox), phase.integer(keyBuffer.getPageStride())};
  if (!isLatent) {
    event::BufferOp valueBuffer = values.buffer;
    operands.append({phase.address(values, headOf(values)),
                     phase.integer(valueBuffer.getPageStride())});
  }
  operands.append(
      {phase.address(positions, rows), phase.address(sequences, sequenceRows),
       phase.address(pages, allPages),
       phase.integer(pages.type.getDimension(0)),
       phase.integer(program.countPages()), phase.count({phase.rows()}),
       tiles.count(phase), phase.integer(group), phase.integer(width),
       phase.integer(valueWidth), phase.integer(keys.type.getDimension(2))});
  if (!isLatent)
    operands.push_back(phase.integer(values.type.getDimension(2)));
  operands.append({phase.real(op.getScale()), phase.real(op.getSoftcap()),
                   phase.integer(op.getWindow())});
  if (!isLatent)
    operands.append(
        {gatePointer, gateStride, gateWidth, sinks.tile(phase, 1, group)});
  operands.push_back(phase.scratch(0));
  phase.call(
      bodyFor(isLatent ? "paged_latent_attention" : "paged_attention", stored),
      operands);
  return success();
}

void tasks::addPagedAttention(TilingRules &rules) {
  rules.add<model::PagedAppendOp>(tile);
  rules.add<model::PagedAttentionOp>(tile);
}
