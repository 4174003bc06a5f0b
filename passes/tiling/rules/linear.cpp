//===- linear.cpp - linear maps of rows -----------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/BatchInputs.h"
#include "passes/tiling/Linears.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

namespace {
/// What a task of a linear takes beside its weight.
struct LinearTask {
  Attribute out, outStride;
  LinearInput input;
  Attribute bias, residual, residualStride;
  Attribute rows, columns, depth;
};
} // namespace

/// By panels, which have a body for each format.
static void callForPanels(model::LinearOp op, PhaseBuilder &phase,
                          event::ParameterOp panels, int64_t width,
                          const LinearTask &task) {
  Attribute weight = phase.weight(
      panels, panels.getFormAttr().getOffset(phase.coordinate(1) * width));
  const StringRef rounding = inputRounding(op, op.getWeight());
  SmallVector<Attribute> operands = {task.out, task.outStride,
                                     task.input.pointer, task.input.stride};
  if (readsExactRows(rounding))
    operands.append({task.input.exact, task.input.exactStride});
  operands.append({weight, task.bias, task.residual, task.residualStride,
                   task.rows, task.depth, task.columns,
                   phase.integer32(static_cast<int32_t>(op.getActivation()))});
  phase.call(Weight(panels).bodyFor((rounding + "linear").str()), operands);
}

/// By the transpose of the rows that training updates.
static void callForRows(PhaseBuilder &phase, const Trainable &weight,
                        const Matrix &rows, int64_t width,
                        const LinearTask &task) {
  callProduct(phase, weight.productFormat,
              {.out = task.out,
               .outStride = task.outStride,
               .a = {task.input.pointer, task.input.stride, phase.integer(1)},
               .b = rows.transposed(),
               .rows = task.rows,
               .columns = task.columns,
               .depth = task.depth,
               .width = width,
               .bias = task.bias,
               .residual = task.residual,
               .residualStride = task.residualStride});
}

/// The frozen linear that a pair of an adapter adds to, if nothing else reads
/// it: its products are made where the pair's are, a tile after the other, and
/// never go to memory and back.
static model::LinearOp addendOf(model::LinearOp pair) {
  auto frozen = pair.getResidual()
                    ? pair.getResidual().getDefiningOp<model::LinearOp>()
                    : model::LinearOp();
  if (!frozen || !frozen->hasOneUse() || !model::isFrozen(frozen.getWeight()) ||
      model::isFrozen(pair.getWeight()) || frozen.getResidual() ||
      frozen->getBlock() != pair->getBlock())
    return {};
  return frozen;
}

/// Whether an adapter's pair computes it.
static bool isAddend(model::LinearOp op) {
  if (!op->hasOneUse())
    return false;
  auto pair = dyn_cast<model::LinearOp>(*op->user_begin());
  return pair && addendOf(pair) == op;
}

/// Adjoints are of linears without.
static LogicalResult expectPlain(model::LinearOp op) {
  if (op.getNorm() == model::Norm::identity &&
      op.getActivation() == model::Activation::identity)
    return success();
  return op.emitOpError() << "cannot be tiled: where weights train, norms and "
                             "activations are ops of their own";
}

/// The frozen linear's product on a pair's tile, before the pair's is added.
static LogicalResult callAddend(model::LinearOp op, PhaseBuilder &phase,
                                const ProductTiles &tiles, LinearTask task,
                                Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectLinearInput(op, x)))
    return failure();
  const std::string name = nameOf(op);
  // The pair's product packs both sides in scratch.
  auto input = readLinearInput(op, op.getWeight(), phase, x, tiles.rows, name,
                               tiler, productScratch(tiles.width));
  if (failed(input))
    return failure();
  task.input = *input;
  task.bias = vectorWeight(name + ".bias", op.getBias(), tiler)
                  .tile(phase, 1, tiles.width);
  task.residual = phase.null();
  task.residualStride = phase.integer(0);
  task.depth = phase.integer(typeOf(op.getX()).getDimension(1));
  callForPanels(op, phase,
                tiler.panels(name + ".weight", op.getWeight(),
                             /*alternating=*/false),
                tiles.width, task);
  return success();
}

LogicalResult tasks::tileLinear(model::LinearOp op, Operation *made,
                                LinearAddition add, Tiler &tiler) {
  View x = tiler.viewOf(op.getX()), residual;
  if (failed(expectLinearInput(op, x)))
    return failure();
  model::LinearOp addend = addendOf(op);
  if (op.getResidual() && !addend) {
    residual = tiler.viewOf(op.getResidual());
    if (failed(expectRows(op, "the residual", residual)))
      return failure();
  }
  const bool trains = tiler.training && !model::isFrozen(op.getWeight());
  if (trains && failed(expectPlain(op)))
    return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(made, name);
  ProductTiles tiles{
      RowTiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().linearRows)),
      tiler.columnsOf(op, plan.tiles().linearColumns),
      out.type.getDimension(1)};
  Trainable *trained = nullptr;
  event::ParameterOp panels;
  if (trains)
    trained = &tiler.training->trainable(op.getWeight());
  else
    panels =
        tiler.panels(name + ".weight", op.getWeight(), /*alternating=*/false);

  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box box = tiles.tile(phase, out);
  LinearTask task;
  auto input =
      readLinearInput(op, op.getWeight(), phase, x, tiles.rows, name, tiler);
  if (failed(input))
    return failure();
  task.input = *input;
  Matrix rows;
  if (trained) {
    Box panel = phase.whole(trained->weight);
    narrow(panel, 0, phase.coordinate(1), tiles.width);
    rows = readMatrix(phase, trained->weight, panel);
  }
  task.bias = vectorWeight(name + ".bias", op.getBias(), tiler)
                  .tile(phase, 1, tiles.width);
  task.residual = phase.null();
  task.residualStride = phase.integer(0);
  if (residual.buffer) {
    phase.reads(residual, box);
    task.residual = phase.address(residual, box);
    task.residualStride = phase.stride(residual, 0);
  }
  // Of logits a step may want some alone.
  const bool isPartial =
      tiler.batch && tiler.batch->mayLeaveOut(made->getResult(0));
  if (isPartial)
    phase.runsWhen(tiler.batch->wantedPanels(),
                   phase.coordinate(1) * (tiles.width / kPanel),
                   tiles.width / kPanel, ceilDiv(tiles.columns, kPanel),
                   kPanel);
  phase.writes(out, box, {.may = isPartial});
  task.out = phase.address(out, box);
  task.outStride = phase.stride(out, 0);
  task.rows = tiles.rows.count(phase);
  task.columns = tiles.count(phase);
  if (addend) {
    if (failed(callAddend(addend, phase, tiles, task, tiler)))
      return failure();
    task.residual = task.out;
    task.residualStride = task.outStride;
  }
  task.depth = phase.integer(typeOf(op.getX()).getDimension(1));
  if (trained)
    callForRows(phase, *trained, rows, tiles.width, task);
  else
    callForPanels(op, phase, panels, tiles.width, task);
  return add ? add(phase, tiles, {task.out, task.outStride}) : success();
}

/// Whether pairs of adapters are added to it, where its tiles are.
static bool isAdapted(model::LinearOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<model::AdapterUpOp>(user);
  });
}

static LogicalResult tile(model::LinearOp op, Tiler &tiler) {
  if (isAddend(op) || isAdapted(op))
    return success();
  return tileLinear(op, op, nullptr, tiler);
}

// Each head's panels are its own.
static_assert(model::kHeadOutputs % kPanel == 0);

/// A task has rows, a head and some of its columns.
static LogicalResult tile(model::HeadLinearOp op, Tiler &tiler) {
  if (tiler.training)
    return tileTrained(op, tiler);
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  const int64_t heads = out.type.getDimension(1),
                columns = out.type.getDimension(2);
  // Behind a head's last column is the next head's first.
  int64_t width =
      std::min(tiler.columnsOf(op, plan.tiles().linearColumns), columns);
  while (columns % width)
    width -= kPanel;
  const int64_t parts = columns / width;
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().linearRows));
  event::ParameterOp panels =
      tiler.panels(name + ".weight", op.getWeight(), /*alternating=*/false);
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(),
                 {tiles.extent, plan.constant(heads), plan.constant(parts)},
                 {tiles.capacity, heads, parts});
  Box in = rowsOfTask(phase, x, tiles.size),
      made = rowsOfTask(phase, out, tiles.size);
  for (Box *box : {&in, &made})
    narrow(*box, 1, phase.coordinate(1), 1);
  narrow(made, 2, phase.coordinate(2), width);
  phase.reads(x, in);
  phase.writes(out, made);
  AffineExpr column =
      phase.coordinate(1) * columns + phase.coordinate(2) * width;
  phase.call(
      Weight(panels).bodyFor("linear"),
      {phase.address(out, made), phase.stride(out, 0), phase.address(x, in),
       phase.stride(x, 0),
       phase.weight(panels, panels.getFormAttr().getOffset(column)),
       phase.null(), phase.null(), phase.integer(0), tiles.count(phase),
       phase.integer(x.type.getDimension(2)), phase.integer(width),
       phase.integer32(static_cast<int32_t>(model::Activation::identity))});
  return success();
}

/// A tile reads whole rows of x, but of the residual its own tile.
static bool isResidualAlone(model::LinearOp op, OpOperand &operand) {
  return op.getResidual() == operand.get() && op.getX() != operand.get();
}

void tasks::addLinear(TilingRules &rules) {
  rules.add<model::LinearOp>(tile);
  rules.add<model::HeadLinearOp>(tile);
  rules.mayWriteOver<model::LinearOp>(isResidualAlone);
}
