//===- TilingPieces.cpp - what tiling rules have in common ----------------===//

#include "passes/tiling/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

void tasks::narrow(Box &box, unsigned dimension, AffineExpr coordinate,
                   int64_t size) {
  box.low[dimension] = coordinate * size;
  box.high[dimension] = coordinate * size + size;
}

LogicalResult tasks::expectContiguous(Operation *op, StringRef what,
                                      const View &view) {
  if (view.fixedStrideOf(view.type.getRank() - 1) == 1)
    return success();
  return op->emitOpError() << "cannot be tiled: the last dimension of " << what
                           << " is not contiguous in its buffer";
}

LogicalResult tasks::expectStride(Operation *op, StringRef what,
                                  const View &view, unsigned dimension) {
  if (view.stepsOf(dimension))
    return success();
  return op->emitOpError() << "cannot be tiled: dimension " << dimension
                           << " of " << what << " has no fixed stride";
}

LogicalResult tasks::expectRows(Operation *op, StringRef what,
                                const View &view) {
  return success(succeeded(expectContiguous(op, what, view)) &&
                 succeeded(expectStride(op, what, view, 0)));
}

LogicalResult tasks::expectAdjacentHeads(Operation *op, StringRef what,
                                         const View &view, int64_t together) {
  int64_t width = view.type.getRank() == 3 ? view.type.getDimension(2) : 1;
  if (together == 1 || view.fixedStrideOf(1) == width)
    return success();
  return op->emitOpError() << "cannot be tiled: the heads of " << what
                           << " do not lie behind one another";
}

void tasks::appendMemref(PhaseBuilder &phase, const View &view, const Box &box,
                         SmallVectorImpl<Attribute> &operands) {
  Attribute pointer = phase.address(view, box);
  operands.append({pointer, pointer, phase.integer(0)});
  unsigned rank = box.low.size();
  for (unsigned d = 0; d < rank; ++d)
    operands.push_back(
        phase.count({box.high[d] - box.low[d],
                     phase.extent(view.type.getDimension(d)) - box.low[d]}));
  for (unsigned d = 0; d < rank; ++d)
    operands.push_back(phase.stride(view, d));
}

int64_t tasks::headsOfTask(int64_t heads) {
  constexpr int64_t most = 8;
  int64_t own = std::min(heads, most);
  while (heads % own)
    --own;
  return own;
}

int64_t tasks::headSharers(Value k, Value v, int64_t heads) {
  auto slice = v.getDefiningOp<model::SliceOp>();
  if (!slice || slice.getX() != k || model::typeOf(k).getDimension(1) != 1)
    return 1;
  return heads / headsOfTask(heads);
}

static int64_t rowsOf(model::StepTensorType type) {
  return type.getDimension(*rowDimension(type));
}

RowTiles::RowTiles(Tiler &tiler, model::StepTensorType type, int64_t size)
    : size(size), extent(tiler.plan.extent(rowsOf(type)).ceilDiv(size)),
      capacity(ceilDiv(tiler.plan.bound(rowsOf(type)), size)),
      rows(tiler.plan.extent(rowsOf(type))) {}

Attribute RowTiles::count(PhaseBuilder &phase) const {
  return phase.count({phase.constant(size), rows - phase.coordinate(0) * size});
}

LogicalResult
tasks::tileRows(Operation *op, const std::string &name, StringRef callee,
                ArrayRef<View> inputs, const View &out, Tiler &tiler,
                llvm::function_ref<void(PhaseBuilder &, const RowTiles &,
                                        SmallVectorImpl<Attribute> &)>
                    more) {
  std::optional<unsigned> row = rowDimension(out.type);
  unsigned last = out.type.getRank() - 1;
  if (!row || *row == last)
    return op->emitOpError() << "cannot be tiled: " << out.type
                             << " has no rows before its last dimension";
  SmallVector<View> all(inputs);
  all.push_back(out);
  for (const View &view : all)
    if (failed(expectContiguous(op, "an operand", view)) ||
        failed(expectStride(op, "an operand", view, *row)))
      return failure();

  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  SmallVector<AffineExpr> grid = {tiles.extent};
  SmallVector<int64_t> capacity = {tiles.capacity};
  for (unsigned i = 0; i < last; ++i)
    if (i != *row) {
      grid.push_back(tiler.plan.extent(out.type.getDimension(i)));
      capacity.push_back(tiler.plan.bound(out.type.getDimension(i)));
    }
  PhaseBuilder phase = tiler.plan.phase(name, op->getLoc(), grid, capacity);
  Box box = phase.whole(out);
  narrow(box, *row, phase.coordinate(0), tiles.size);
  unsigned next = 1;
  for (unsigned i = 0; i < last; ++i)
    if (i != *row)
      narrow(box, i, phase.coordinate(next++), 1);

  SmallVector<Attribute> operands = {phase.address(out, box),
                                     phase.stride(out, *row)};
  for (const View &input : inputs) {
    phase.reads(input, box);
    operands.push_back(phase.address(input, box));
    operands.push_back(phase.stride(input, *row));
  }
  phase.writes(out, box);
  operands.push_back(tiles.count(phase));
  operands.push_back(
      phase.count(tiler.plan.extent(out.type.getDimension(last))));
  if (more)
    more(phase, tiles, operands);
  phase.call(callee, operands);
  return success();
}

static SmallVector<View> viewsOf(ValueRange values, Tiler &tiler) {
  SmallVector<View> views;
  for (Value value : values)
    views.push_back(tiler.viewOf(value));
  return views;
}

LogicalResult tasks::tileRowsOf(Operation *op, StringRef callee, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  SmallVector<View> inputs = viewsOf(op->getOperands(), tiler);
  return tileRows(op, name, callee, inputs, tiler.resultFor(op, name), tiler);
}

int64_t tasks::countColumns(const View &view) {
  return view.type.getRank() == 1 ? 1 : view.type.getDimension(1);
}

void tasks::sumColumns(PhaseBuilder &phase, const View &numbers,
                       Attribute count, const View &out, int64_t width) {
  Box in = phase.whole(numbers), made = phase.whole(out);
  phase.reads(numbers, in);
  phase.writes(out, made);
  for (int64_t column = 0, columns = countColumns(numbers); column < columns;
       ++column) {
    Box from = in, to = made;
    if (numbers.type.getRank() > 1)
      from.low[1] = phase.constant(column);
    to.low[1] = phase.constant(column);
    // The last one is followed by zeros.
    phase.call("sum_numbers",
               {phase.address(out, to),
                phase.integer(column + 1 == columns ? width - column : 1),
                phase.address(numbers, from), phase.stride(numbers, 0), count});
  }
}

LogicalResult tasks::tileCopy(Operation *at, const std::string &name,
                              const View &from, const View &to, Tiler &tiler) {
  return tileRows(at, name, "copy", from, to, tiler);
}

int64_t tasks::attentionScratch(int64_t rows, int64_t group, int64_t width,
                                int64_t valueWidth) {
  return sizeof(float) *
         (2 * rows * group +
          std::max<int64_t>(70 * width,
                            group * (llvm::alignTo<16>(valueWidth) + 130)));
}

Attribute tasks::readAll(PhaseBuilder &phase, const View &view) {
  Box box = phase.whole(view);
  phase.reads(view, box);
  return phase.address(view, box);
}

Attribute tasks::countOf(PhaseBuilder &phase, unsigned d, int64_t size,
                         int64_t all) {
  // Of a single index, whose stride may be another dimension's, too, the proof
  // has to see that there is one.
  if (all == 1)
    return phase.integer(1);
  return phase.count(
      {phase.constant(size), phase.constant(all) - phase.coordinate(d) * size});
}

void tasks::appendRead(PhaseBuilder &phase, const View &view, const Box &box,
                       SmallVectorImpl<Attribute> &operands) {
  phase.reads(view, box);
  operands.append({phase.address(view, box), phase.stride(view, 0)});
}

void tasks::appendWrite(PhaseBuilder &phase, const View &view, const Box &box,
                        SmallVectorImpl<Attribute> &operands) {
  phase.writes(view, box);
  operands.append({phase.address(view, box), phase.stride(view, 0)});
}

Box tasks::rowsOfTask(PhaseBuilder &phase, const View &view, int64_t rows) {
  Box box = phase.whole(view);
  narrow(box, 0, phase.coordinate(0), rows);
  return box;
}
