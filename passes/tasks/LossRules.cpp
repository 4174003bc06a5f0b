//===- LossRules.cpp - task grids of the loss and its gradients -----------===//
//
// Logits of all rows would be the largest value of a step, and never exist:
// parts of the rows have theirs in one buffer, part after part. The first two
// halve the rows that no whole part takes, the others are whole or empty. So
// bounds need no minimum, which the proof could not read, and a step of few
// rows is two parts.
//
//===----------------------------------------------------------------------===//

#include "passes/tasks/LossRules.h"

#include "passes/tasks/Products.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// Most parts that are whole or halved: each is phases of its own.
static constexpr int64_t kMostParts = 8;

namespace {

/// Rows [first, first + rows) of a step, but those from `end` on. Where the
/// part or the step ends before them, tasks have no rows: empty grids would
/// order nothing, and so make the proof distinguish which parts there are.
struct Part {
  AffineExpr first, rows, end;
  /// Of its first rows, those that the part before has as well.
  AffineExpr again;
};

/// Phases of one cross-entropy.
class Loss {
public:
  Loss(model::CrossEntropyOp op, Tiler &tiler, Training &training)
      : op(op), tiler(tiler), training(training), plan(tiler.plan),
        x(tiler.viewOf(op.getX())),
        weight(training.trainable(op.getWeight()).weight),
        products(training.trainable(op.getWeight()).products),
        targets(tiler.viewOf(op.getTargets())),
        weights(tiler.viewOf(op.getWeights())), width(x.type.getDimension(1)),
        vocabulary(weight.type.getDimension(0)),
        tileRows(tiler.rowsOf(op, plan.tiles().linearRows)),
        tileColumns(tiler.columnsOf(op, plan.tiles().linearColumns)),
        elementBytes(cast<model::StepTensorType>(op.getWeight().getType())
                             .getElementType()
                             .isF64()
                         ? 8
                         : 4) {}

  LogicalResult tile();

private:
  SmallVector<Part> parts() const;
  void tileLogits(const Part &part);
  void tileLoss(const Part &part);
  void tileInputGradient(const Part &part);
  void tileWeightGradient(const Part &part, Trainable &target);

  PhaseBuilder phase(StringRef suffix, ArrayRef<AffineExpr> grid,
                     ArrayRef<int64_t> capacity) {
    std::string name = this->name + suffix.str();
    PhaseBuilder phase = plan.phase(isFirst ? name : plan.uniqueName(name),
                                    op.getLoc(), grid, capacity);
    // A row of logits is of all tasks that make some, gradients are of all
    // rows, and the next part's logits come after both. Finer events would gain
    // nothing, and the proof would follow each through all parts.
    phase.isAwaitedWhole();
    return phase;
  }
  Attribute countOf(PhaseBuilder &phase, const Part &part) const {
    return phase.count({part.rows, part.end - part.first});
  }
  /// Of a value of all rows, those of the part.
  Box rowsOf(PhaseBuilder &phase, const View &view, const Part &part) const {
    Box box = phase.whole(view);
    box.low[0] = part.first;
    box.high[0] = part.first + part.rows;
    return box;
  }
  /// The part's logits.
  Box logitsOf(PhaseBuilder &phase, const Part &part) const {
    Box box = phase.whole(logits);
    box.high[0] = part.rows;
    return box;
  }

  model::CrossEntropyOp op;
  Tiler &tiler;
  Training &training;
  PlanBuilder &plan;
  View x, weight;
  StringRef products;
  View targets, weights, logits, loss, dx;
  int64_t width, vocabulary, tileRows, tileColumns, elementBytes;
  /// Rows of a whole part, and most rows of a part that there is.
  int64_t wholeRows = 0, partRows = 0;
  std::string name;
  /// Whether the part that is tiled is the first one, whose phases' names are
  /// taken for it.
  bool isFirst = true;
};

} // namespace

SmallVector<Part> Loss::parts() const {
  AffineExpr rows = plan.extent(model::kRows), zero = plan.constant(0);
  int64_t most = plan.bound(model::kRows);
  if (most == 1)
    return {{zero, rows, rows, zero}};
  bool isHalved = wholeRows == most;
  AffineExpr rest = isHalved ? rows : (rows - 1) % wholeRows + 1;
  AffineExpr half = rest.ceilDiv(2);
  SmallVector<Part> parts = {{zero, half, half, zero},
                             {half, half, rest, zero}};
  // Two halves of an odd number would end one row too far, where there may be
  // none. So the middle one is in both.
  if (isHalved && most % 2)
    parts.back() = {rest - half, half, rest, half * 2 - rest};
  for (int64_t first = 0; first + wholeRows < most; first += wholeRows)
    parts.push_back({rest + first, plan.constant(wholeRows), rows, zero});
  return parts;
}

/// Every task makes some tokens' logits of all rows.
void Loss::tileLogits(const Part &part) {
  int64_t tiles = ceilDiv(vocabulary, tileColumns);
  PhaseBuilder phase = this->phase(".logits", {plan.constant(tiles)}, {tiles});
  Box in = rowsOf(phase, x, part), panel = phase.whole(weight),
      out = logitsOf(phase, part);
  narrow(panel, 0, phase.coordinate(0), tileColumns);
  narrow(out, 1, phase.coordinate(0), tileColumns);
  phase.reads(x, phase.whole(x));
  Matrix b = readMatrix(phase, weight, panel).transposed();
  phase.writes(logits, out);
  phase.needsScratch(productScratch(tileColumns));
  phase.call(("product" + products).str(),
             {phase.address(logits, out), phase.stride(logits, 0),
              phase.address(x, in), phase.stride(x, 0), phase.integer(1),
              b.pointer, b.first, b.second, phase.null(), phase.null(),
              phase.integer(0), countOf(phase, part),
              tasks::countOf(phase, 0, tileColumns, vocabulary),
              phase.integer(width), phase.scratch(0)});
}

/// A task for each row, whose vocabulary is work enough.
void Loss::tileLoss(const Part &part) {
  PhaseBuilder phase = this->phase("", {part.rows}, {partRows});
  AffineExpr row = phase.coordinate(0);
  auto rowOf = [&](const View &view, AffineExpr index) {
    Box box = phase.whole(view);
    box.low[0] = index;
    box.high[0] = index + 1;
    return box;
  };
  SmallVector<Attribute> operands;
  appendWrite(phase, loss, rowOf(loss, part.first + row), operands);
  phase.reads(logits, rowOf(logits, row));
  appendWrite(phase, logits, rowOf(logits, row), operands);
  for (const View &view : {targets, weights}) {
    phase.reads(view, phase.whole(view));
    operands.push_back(phase.address(view, rowOf(view, part.first + row)));
  }
  operands.append(
      {phase.count({phase.constant(1), part.end - part.first - row}),
       phase.integer(vocabulary), phase.real(op.getScale()),
       phase.real(op.getSoftcap())});
  phase.call("cross_entropy", operands);
}

void Loss::tileInputGradient(const Part &part) {
  int64_t columns = ceilDiv(width, tileColumns);
  PhaseBuilder phase = this->phase(
      "_input_gradient", {part.rows.ceilDiv(tileRows), plan.constant(columns)},
      {ceilDiv(partRows, tileRows), columns});
  // A part's last tile may end behind it, in rows that the next one writes
  // after it.
  AffineExpr first = phase.coordinate(0) * tileRows;
  Box out = phase.whole(dx), panel = phase.whole(weight),
      all = logitsOf(phase, part), in = all;
  out.low[0] = part.first + first;
  out.high[0] = out.low[0] + tileRows;
  narrow(out, 1, phase.coordinate(1), tileColumns);
  narrow(panel, 1, phase.coordinate(1), tileColumns);
  in.low[0] = first;
  phase.reads(logits, all);
  Matrix b = readMatrix(phase, weight, panel);
  phase.writes(dx, out);
  phase.needsScratch(productScratch(tileColumns));
  phase.call(("product" + products).str(),
             {phase.address(dx, out), phase.stride(dx, 0),
              phase.address(logits, in), phase.stride(logits, 0),
              phase.integer(1), b.pointer, b.first, b.second, phase.null(),
              phase.null(), phase.integer(0),
              phase.count({phase.constant(tileRows), part.rows - first,
                           part.end - part.first - first}),
              tasks::countOf(phase, 1, tileColumns, width),
              phase.integer(vocabulary), phase.scratch(0)});
}

void Loss::tileWeightGradient(const Part &part, Trainable &target) {
  const View &out = target.gradient;
  int64_t tokens = ceilDiv(vocabulary, tileColumns),
          columns = ceilDiv(width, tileColumns);
  PhaseBuilder phase = this->phase(
      "_weight_gradient", {plan.constant(tokens), plan.constant(columns)},
      {tokens, columns});
  Box left = logitsOf(phase, part), right = rowsOf(phase, x, part),
      box = phase.whole(out), rows = rowsOf(phase, weights, part);
  left.low[0] = part.again;
  for (Box *tile : {&right, &rows})
    tile->low[0] = part.first + part.again;
  narrow(left, 1, phase.coordinate(0), tileColumns);
  narrow(right, 1, phase.coordinate(1), tileColumns);
  narrow(box, 0, phase.coordinate(0), tileColumns);
  narrow(box, 1, phase.coordinate(1), tileColumns);
  Matrix a = readMatrix(phase, logits, left).transposed();
  Box all = phase.whole(x);
  narrow(all, 1, phase.coordinate(1), tileColumns);
  phase.reads(x, all);
  phase.reads(weights, phase.whole(weights));
  Attribute adds = contribute(target, phase, box, training);
  phase.needsScratch(productScratch(tileColumns));
  phase.call(("product_gradient" + products).str(),
             {phase.address(out, box), phase.stride(out, 0), a.pointer, a.first,
              a.second, phase.address(x, right), phase.stride(x, 0),
              phase.integer(1), phase.address(weights, rows),
              tasks::countOf(phase, 0, tileColumns, vocabulary),
              tasks::countOf(phase, 1, tileColumns, width),
              phase.count(
                  {part.rows - part.again, part.end - part.first - part.again}),
              adds, phase.scratch(0)});
}

LogicalResult Loss::tile() {
  if (failed(expectContiguous(op, "x", x)) ||
      failed(expectStride(op, "x", x, 0)))
    return failure();
  Trainable *target = nullptr;
  if (!op.getDweight().use_empty() && !(target = targetOf(op, training)))
    return failure();
  int64_t most = plan.bound(model::kRows);
  wholeRows = most;
  // All whole: the last part of a step would else begin behind its rows.
  auto bytes = [&] { return partRows * vocabulary * elementBytes; };
  for (int64_t parts = 1; parts <= kMostParts; ++parts) {
    if (most % parts)
      continue;
    wholeRows = most / parts;
    // One is halved whatever rows a step has.
    partRows = parts == 1 ? ceilDiv(most, 2) : wholeRows;
    if (bytes() <= plan.tiles().logitsBytes)
      break;
  }
  name = plan.uniqueName(nameOf(op) + ".loss");
  loss = tiler.bufferFor(op.getLoss(), name);
  logits =
      plan.transient(plan.uniqueName(name + ".logits"),
                     x.type.withShape({partRows, vocabulary}), op.getLoc());
  if (!op.getDx().use_empty())
    dx = tiler.bufferFor(op.getDx(), plan.uniqueName(name + "_input_gradient"));
  if (target)
    plan.uniqueName(name + "_weight_gradient");
  for (const Part &part : parts()) {
    tileLogits(part);
    tileLoss(part);
    if (dx.buffer)
      tileInputGradient(part);
    if (target)
      tileWeightGradient(part, *target);
    isFirst = false;
  }
  return success();
}

LogicalResult tasks::tileLoss(model::CrossEntropyOp op, Tiler &tiler,
                              Training &training) {
  return Loss(op, tiler, training).tile();
}
