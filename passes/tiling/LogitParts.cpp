//===- LogitParts.cpp - logits of a training step, part after part --------===//

#include "passes/tiling/LogitParts.h"

#include "codegen/bodies/TaskCalls.h"

#include "passes/tiling/Linears.h"
#include "passes/tiling/Products.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// Most parts that are whole or halved: each is phases of its own.
static constexpr int64_t kMostParts = 8;

LogitParts::LogitParts(Operation *op, Value x, Value weight, Value bias,
                       Value weights, Tiler &tiler, Training &training)
    : op(op), tiler(tiler), training(training), plan(tiler.plan),
      x(tiler.viewOf(x)), weights(tiler.viewOf(weights)),
      width(this->x.type.getDimension(1)),
      tokens(model::typeOf(weight).getDimension(0)),
      tileTokens(tiler.columnsOf(op, plan.tiles().linearColumns)),
      tileHeight(tiler.rowsOf(op, plan.tiles().linearRows)),
      elementBytes(model::typeOf(weight).getElementType().isF64() ? 8 : 4) {
  if (model::isFrozen(weight)) {
    panels = tiler.panels(nameOf(op) + ".weight", weight,
                          /*alternating=*/false);
    rounding = gradientRounding(op, weight);
  } else {
    const Trainable &trainable = training.trainable(weight);
    this->weight = trainable.weight;
    productFormat = trainable.productFormat;
  }
  this->bias = vectorWeight(nameOf(op) + ".bias", bias, tiler);
}

PhaseBuilder LogitParts::phase(StringRef suffix, ArrayRef<AffineExpr> grid,
                               ArrayRef<int64_t> capacity) {
  std::string name = this->name + suffix.str();
  PhaseBuilder phase = plan.phase(isFirst ? name : plan.uniqueName(name),
                                  op->getLoc(), grid, capacity);
  // A row of logits is of all tasks that make some, gradients are of all rows,
  // and the next part's logits come after both. Finer events would gain
  // nothing, and the proof would follow each through all parts.
  phase.isAwaitedWhole();
  return phase;
}

Attribute LogitParts::countOf(PhaseBuilder &phase,
                              const LogitPart &part) const {
  return phase.count({part.rows, part.end - part.first});
}

/// Of a value of all rows, those of the part.
Box LogitParts::rowsOf(PhaseBuilder &phase, const View &view,
                       const LogitPart &part) const {
  Box box = phase.whole(view);
  box.low[0] = part.first;
  box.high[0] = part.first + part.rows;
  return box;
}

/// The part's logits.
Box LogitParts::logitsOf(PhaseBuilder &phase, const LogitPart &part) const {
  Box box = phase.whole(logits);
  box.high[0] = part.rows;
  return box;
}

LogicalResult LogitParts::begin(const std::string &ofOp) {
  name = ofOp;
  if (failed(expectContiguous(op, "x", x)) ||
      failed(expectStride(op, "x", x, 0)))
    return failure();
  int64_t most = plan.bound(model::kRows);
  wholeRows = most;
  // All whole: the last part of a step would else begin behind its rows.
  auto bytes = [&] { return partRows * tokens * elementBytes; };
  for (int64_t parts = 1; parts <= kMostParts; ++parts) {
    if (most % parts)
      continue;
    wholeRows = most / parts;
    // One is halved whatever rows a step has.
    partRows = parts == 1 ? ceilDiv(most, 2) : wholeRows;
    if (bytes() <= plan.tiles().logitsBytes)
      break;
  }
  logits = plan.transient(plan.uniqueName(name + ".logits"),
                          x.type.withShape({partRows, tokens}), op->getLoc());
  return success();
}

FailureOr<LogitGradients> LogitParts::gradientsOf(Value dx, Value dweight,
                                                  Value dbias) {
  LogitGradients made;
  if (!dx.use_empty())
    made.dx = tiler.bufferFor(dx, plan.uniqueName(name + "_input_gradient"));
  auto find = [&](Value gradient, Trainable *&target, StringRef suffix) {
    if (!gradient || gradient.use_empty())
      return success();
    target = targetOf(cast<OpResult>(gradient), training);
    plan.uniqueName(name + suffix.str());
    return success(target != nullptr);
  };
  if (failed(find(dweight, made.weight, "_weight_gradient")) ||
      failed(find(dbias, made.bias, "_bias_gradient")))
    return failure();
  return made;
}

SmallVector<LogitPart> LogitParts::parts() const {
  AffineExpr rows = plan.extent(model::kRows), zero = plan.constant(0);
  int64_t most = plan.bound(model::kRows);
  if (most == 1)
    return {{zero, rows, rows, zero}};
  bool isHalved = wholeRows == most;
  AffineExpr rest = isHalved ? rows : (rows - 1) % wholeRows + 1;
  AffineExpr half = rest.ceilDiv(2);
  SmallVector<LogitPart> parts = {{zero, half, half, zero},
                                  {half, half, rest, zero}};
  // Two halves of an odd number would end one row too far, where there may be
  // none. So the middle one is in both.
  if (isHalved && most % 2)
    parts.back() = {rest - half, half, rest, half * 2 - rest};
  for (int64_t first = 0; first + wholeRows < most; first += wholeRows)
    parts.push_back({rest + first, plan.constant(wholeRows), rows, zero});
  return parts;
}

void LogitParts::tileLogits(const LogitPart &part) {
  int64_t tiles = ceilDiv(tokens, tileTokens);
  SmallVector<AffineExpr> grid = {plan.constant(tiles)};
  SmallVector<int64_t> capacity = {tiles};
  // A worker rounds rows again where the first coordinate changes.
  const unsigned tile = rounding.empty() ? 0 : 1;
  if (tile) {
    grid.insert(grid.begin(), plan.constant(1));
    capacity.insert(capacity.begin(), 1);
  }
  PhaseBuilder phase = this->phase(".logits", grid, capacity);
  Box in = rowsOf(phase, x, part), out = logitsOf(phase, part);
  narrow(out, 1, phase.coordinate(tile), tileTokens);
  phase.reads(x, phase.whole(x));
  Attribute bias = this->bias.tile(phase, tile, tileTokens);
  if (panels) {
    phase.writes(logits, out);
    Attribute rows = phase.address(x, in), stride = phase.stride(x, 0),
              count = countOf(phase, part);
    if (!rounding.empty()) {
      // What is read of scratch has a constant bound.
      count = phase.count(
          {phase.constant(partRows), part.rows, part.end - part.first});
      const RoundedRows rounded(rounding, width);
      const int64_t wide = ceilDiv(rounded.width, kPanel) * kPanel;
      phase.needsScratch(partRows * wide * int64_t(sizeof(float)));
      phase.call(rounded.body,
                 {phase.scratch(0), phase.integer(wide), rows, stride, count,
                  phase.integer(width)},
                 /*invariant=*/true);
      rows = phase.scratch(0);
      stride = phase.integer(wide);
    }
    phase.call(
        Weight(panels).bodyFor((rounding + "linear").str()),
        {phase.address(logits, out), phase.stride(logits, 0), rows, stride,
         phase.weight(panels, panels.getFormAttr().getOffset(
                                  phase.coordinate(tile) * tileTokens)),
         bias, phase.null(), phase.integer(0), count, phase.integer(width),
         tasks::countOf(phase, tile, tileTokens, tokens),
         phase.integer32(static_cast<int32_t>(model::Activation::identity))});
    return;
  }
  Box panel = phase.whole(weight);
  narrow(panel, 0, phase.coordinate(0), tileTokens);
  Matrix b = readMatrix(phase, weight, panel).transposed();
  phase.writes(logits, out);
  callProduct(
      phase, productFormat,
      {.out = phase.address(logits, out),
       .outStride = phase.stride(logits, 0),
       .a = {phase.address(x, in), phase.stride(x, 0), phase.integer(1)},
       .b = b,
       .rows = countOf(phase, part),
       .columns = tasks::countOf(phase, 0, tileTokens, tokens),
       .depth = phase.integer(width),
       .width = tileTokens,
       .bias = bias});
}

void LogitParts::tileRows(
    const LogitPart &part, StringRef suffix, StringRef callee,
    ArrayRef<View> outputs, ArrayRef<View> inputs,
    function_ref<void(PhaseBuilder &, Attribute, SmallVectorImpl<Attribute> &)>
        more) {
  PhaseBuilder phase = this->phase(suffix, {part.rows}, {partRows});
  AffineExpr row = phase.coordinate(0);
  auto rowOf = [&](const View &view, AffineExpr index) {
    Box box = phase.whole(view);
    box.low[0] = index;
    box.high[0] = index + 1;
    return box;
  };
  SmallVector<Attribute> operands;
  for (const View &view : outputs)
    appendWrite(phase, view, rowOf(view, part.first + row), operands);
  phase.reads(logits, rowOf(logits, row));
  appendWrite(phase, logits, rowOf(logits, row), operands);
  for (const View &view : inputs) {
    phase.reads(view, phase.whole(view));
    operands.push_back(phase.address(view, rowOf(view, part.first + row)));
  }
  more(phase, phase.count({phase.constant(1), part.end - part.first - row}),
       operands);
  phase.call(callee, operands);
}

void LogitParts::tileGradients(const LogitPart &part,
                               const LogitGradients &gradients) {
  if (gradients.dx.buffer)
    tileInputGradient(part, gradients.dx);
  if (gradients.weight)
    tileWeightGradient(part, *gradients.weight);
  if (gradients.bias)
    tileBiasGradient(part, *gradients.bias);
}

void LogitParts::tileInputGradient(const LogitPart &part, const View &dx) {
  int64_t columns = ceilDiv(width, tileTokens);
  PhaseBuilder phase =
      this->phase("_input_gradient",
                  {part.rows.ceilDiv(tileHeight), plan.constant(columns)},
                  {ceilDiv(partRows, tileHeight), columns});
  // A part's last tile may end behind it, in rows that the next one writes
  // after it.
  AffineExpr first = phase.coordinate(0) * tileHeight;
  Box out = phase.whole(dx), all = logitsOf(phase, part), in = all;
  out.low[0] = part.first + first;
  out.high[0] = out.low[0] + tileHeight;
  narrow(out, 1, phase.coordinate(1), tileTokens);
  in.low[0] = first;
  phase.reads(logits, all);
  Attribute rows = phase.count({phase.constant(tileHeight), part.rows - first,
                                part.end - part.first - first});
  if (panels) {
    phase.writes(dx, out);
    callTransposed(phase,
                   {.out = phase.address(dx, out),
                    .outStride = phase.stride(dx, 0),
                    .a = phase.address(logits, in),
                    .aStride = phase.stride(logits, 0),
                    .panels = panels,
                    .first = phase.coordinate(1) * tileTokens,
                    .rows = rows,
                    .columns = tasks::countOf(phase, 1, tileTokens, width),
                    .depth = tokens,
                    .inputs = width,
                    .width = tileTokens,
                    .rounding = rounding});
    return;
  }
  Box panel = phase.whole(weight);
  narrow(panel, 1, phase.coordinate(1), tileTokens);
  Matrix b = readMatrix(phase, weight, panel);
  phase.writes(dx, out);
  callProduct(phase, productFormat,
              {.out = phase.address(dx, out),
               .outStride = phase.stride(dx, 0),
               .a = {phase.address(logits, in), phase.stride(logits, 0),
                     phase.integer(1)},
               .b = b,
               .rows = rows,
               .columns = tasks::countOf(phase, 1, tileTokens, width),
               .depth = phase.integer(tokens),
               .width = tileTokens});
}

void LogitParts::tileWeightGradient(const LogitPart &part, Trainable &target) {
  const View &out = target.gradient;
  int64_t rowTiles = ceilDiv(tokens, tileTokens),
          columns = ceilDiv(width, tileTokens);
  PhaseBuilder phase = this->phase(
      "_weight_gradient", {plan.constant(rowTiles), plan.constant(columns)},
      {rowTiles, columns});
  Box left = logitsOf(phase, part), right = rowsOf(phase, x, part),
      box = phase.whole(out), rows = rowsOf(phase, weights, part);
  left.low[0] = part.again;
  for (Box *tile : {&right, &rows})
    tile->low[0] = part.first + part.again;
  narrow(left, 1, phase.coordinate(0), tileTokens);
  narrow(right, 1, phase.coordinate(1), tileTokens);
  narrow(box, 0, phase.coordinate(0), tileTokens);
  narrow(box, 1, phase.coordinate(1), tileTokens);
  Matrix a = readMatrix(phase, logits, left).transposed();
  Box all = phase.whole(x);
  narrow(all, 1, phase.coordinate(1), tileTokens);
  phase.reads(x, all);
  phase.reads(weights, phase.whole(weights));
  Attribute adds = contribute(target, phase, box, training);
  phase.needsScratch(productScratch(tileTokens));
  phase.call(bodies::functionName("product_gradient", productFormat),
             {phase.address(out, box), phase.stride(out, 0), a.pointer, a.first,
              a.second, phase.address(x, right), phase.stride(x, 0),
              phase.integer(1), phase.address(weights, rows),
              tasks::countOf(phase, 0, tileTokens, tokens),
              tasks::countOf(phase, 1, tileTokens, width),
              phase.count(
                  {part.rows - part.again, part.end - part.first - part.again}),
              adds, phase.scratch(0)});
}

void LogitParts::tileBiasGradient(const LogitPart &part, Trainable &target) {
  const View &out = target.gradient;
  int64_t tiles = ceilDiv(tokens, kSummedColumns);
  PhaseBuilder phase =
      this->phase("_bias_gradient", {plan.constant(tiles)}, {tiles});
  Box in = logitsOf(phase, part), box = phase.whole(out);
  in.low[0] = part.again;
  narrow(in, 1, phase.coordinate(0), kSummedColumns);
  narrow(box, 0, phase.coordinate(0), kSummedColumns);
  phase.reads(logits, in);
  Attribute adds = contribute(target, phase, box, training);
  phase.call("sum_rows",
             {phase.address(out, box), phase.address(logits, in),
              phase.stride(logits, 0),
              phase.count(
                  {part.rows - part.again, part.end - part.first - part.again}),
              tasks::countOf(phase, 0, kSummedColumns, tokens), adds});
}

void tasks::appendTeacherTokens(ValueRange teacher, PhaseBuilder &phase,
                                SmallVectorImpl<Attribute> &operands) {
  if (!teacher.empty())
    operands.push_back(
        phase.integer(model::typeOf(teacher.front()).getDimension(1)));
}
