//===- StepSums.cpp - sums over ranks within a step -----------------------===//

#include "passes/collectives/StepSums.h"

#include "passes/collectives/Shards.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using dist::AllGatherOp;
using dist::AllReduceOp;
using dist::ReduceScatterOp;
using event::ExchangeKind;
using model::typeOf;

/// Elements whose sums are one task's.
static constexpr int64_t kElementsOfTask = 4096;

static bool isMove(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp>(op);
}

static bool isJoined(Operation *op) {
  return isa<AllReduceOp>(op) && op->hasAttr(dist::kJoined);
}

/// An op and those joined to it.
static SmallVector<Operation *> runFrom(Operation *op) {
  SmallVector<Operation *> run = {op};
  for (Operation *next = op->getNextNode(); next && isJoined(next);
       next = next->getNextNode())
    run.push_back(next);
  return run;
}

static bool gathersColumns(Operation *op) {
  auto gather = dyn_cast<AllGatherOp>(op);
  return gather && gather.getDimension() != 0;
}

/// The rows that it is about: what is added up, or made.
static model::StepTensorType wholeType(Operation *op) {
  return typeOf(isa<AllGatherOp>(op) ? op->getResult(0) : op->getOperand(0));
}

static bool isOfVector(Operation *op) {
  model::StepTensorType type = wholeType(op);
  return type.getRank() == 1 && type.isStatic();
}

static ArrayAttr axesOf(Operation *op) {
  return op->getAttrOfType<ArrayAttr>("axes");
}

static int64_t widthOf(Operation *op) {
  if (isOfVector(op))
    return wholeType(op).getDimension(0);
  int64_t width = 1;
  for (int64_t extent : wholeType(op).getShape().drop_front())
    width *= extent;
  return width;
}

StepSums::Key StepSums::keyOf(Operation *op) {
  Cut cut = isOfVector(op)         ? Cut::Vector
            : isa<AllReduceOp>(op) ? Cut::Numbers
            : gathersColumns(op)   ? Cut::Columns
                                   : Cut::Rows;
  int64_t width = widthOf(op), place = 0;
  for (Operation *other = op; isJoined(other);) {
    other = other->getPrevNode();
    place += widthOf(other) == width && isOfVector(other) == isOfVector(op);
  }
  return {width,
          mesh.countRanks(llvm::to_vector(axesOf(op).getAsRange<StringAttr>())),
          cut, place};
}

/// Elements from one row of a rank's columns to the next.
static int64_t strideOfColumns(int64_t width, int64_t ranks) {
  return llvm::alignTo(width / ranks, kPartElements);
}

/// Whether rows of a rank's columns do not fill what lies between them.
bool StepSums::hasGaps(const Key &key) {
  return key.cut == Cut::Columns &&
         strideOfColumns(key.width, key.ranks) != key.width / key.ranks;
}

StepSums::Memory &StepSums::memory(Key key, Location location) {
  auto [entry, isNew] = memories.try_emplace(key);
  Memory &made = entry->second;
  if (!isNew)
    return made;
  auto [width, ranks, cut, place] = key;
  made.ranks = ranks;
  const bool isVector = cut == Cut::Vector;
  AffineExpr rows = isVector ? plan.constant(1) : plan.symbol(event::kRows);
  int64_t mostRows = isVector ? 1 : plan.bound(model::kRows);
  if (cut == Cut::Columns) {
    int64_t stride = strideOfColumns(width, ranks);
    made.part = rows * stride;
    made.elements = made.part * ranks;
    made.most = mostRows * stride;
    std::string name = "columns." + std::to_string(width);
    made.rows = plan.received(name, ranks * mostRows, stride, 1, location,
                              {rows * ranks, plan.constant(stride)});
    made.parts = plan.received(name + ".part", 1, made.most, 1, location,
                               {plan.constant(1), made.part});
    return made;
  }
  made.elements = rows * width;
  if (cut == Cut::Rows) {
    int64_t part = model::partOfRows(ranks);
    made.part = plan.extent(part) * width;
    made.most = plan.bound(part) * width;
  } else {
    auto part = [&, ranks = ranks](AffineExpr elements) {
      return elements.ceilDiv(ranks * kPartElements) * kPartElements;
    };
    made.part = part(made.elements);
    made.most = cast<AffineConstantExpr>(part(plan.constant(mostRows * width)))
                    .getValue();
  }
  std::string name = (cut == Cut::Rows ? "parts."
                      : isVector       ? "vectors."
                                       : "sums.") +
                     std::to_string(width);
  if (place)
    name += "." + std::to_string(place + 1);
  made.rows = plan.received(name, mostRows, width, 1, location,
                            {rows, plan.constant(width)});
  made.parts = plan.received(name + ".received", ranks, made.most, 1, location,
                             {plan.constant(ranks), made.part});
  return made;
}

View StepSums::shaped(const Memory &memory, model::StepTensorType type) {
  MLIRContext *context = type.getContext();
  AffineExpr column = getAffineConstantExpr(0, context);
  if (type.isStatic())
    return {memory.rows.buffer, type,
            AffineMap::get(1, event::kStepSymbols,
                           {column, getAffineDimExpr(0, context)}, context)};
  for (int64_t i = 1; i < type.getRank(); ++i)
    column = column * type.getDimension(i) + getAffineDimExpr(i, context);
  return {memory.rows.buffer, type,
          AffineMap::get(type.getRank(), event::kStepSymbols,
                         {getAffineDimExpr(0, context), column}, context)};
}

bool StepSums::overwrites(Operation *op, Key key) {
  bool found = false;
  op->walk(
      [&](Operation *move) { found |= isMove(move) && keyOf(move) == key; });
  return found;
}

void StepSums::begin(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 32> here(ops.begin(), ops.end());
  for (Operation *op : ops) {
    if (!isMove(op))
      continue;
    Key key = keyOf(op);
    writers[op] = op;
    if (key.ranks == 1 || isa<AllGatherOp>(op))
      continue;
    Value x = op->getOperand(0);
    Operation *maker = x.getDefiningOp();
    bool mayWrite =
        maker && here.contains(maker) && x.hasOneUse() && !isViewOp(maker) &&
        maker->getNumRegions() == 0 &&
        !isa<model::ParameterOp, model::SavedOp>(maker) &&
        (x == maker->getResult(0) || isa<model::NormBeginOp>(maker)) &&
        !tiler.destinations.contains(x);
    // Another sum's exchange in between would find the wrong rows.
    for (Operation *between = maker; mayWrite && between != op;
         between = between->getNextNode())
      mayWrite = !overwrites(between, key);
    if (!mayWrite)
      continue;
    tiler.destinations[x] = shaped(memory(key, op->getLoc()), typeOf(x));
    writers[op] = maker;
  }
}

/// Whether all that read the result have done so when the next sum's terms are
/// written.
bool StepSums::mayStay(Operation *op) {
  if (tiler.destinations.contains(op->getResult(0)))
    return false;
  Operation *next = nullptr;
  for (Operation *after = op->getNextNode(); after && !next;
       after = after->getNextNode())
    if (overwrites(after, keyOf(op)))
      next = isMove(after) ? writers.lookup(after) : after;
  SmallVector<Value> values = {op->getResult(0)};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (Operation *user : value.getUsers()) {
      // What is sent to another stage leaves behind all other ops.
      if (user->getBlock() != op->getBlock() || user->getNumRegions() ||
          user->hasTrait<OpTrait::IsTerminator>() || isa<dist::SendOp>(user))
        return false;
      // A term that is written over another sum that it is made of.
      if (next && !user->isBeforeInBlock(next))
        return false;
      if (isViewOp(user))
        values.push_back(user->getResult(0));
    }
  }
  return true;
}

LogicalResult StepSums::finish(Operation *op, const std::string &name,
                               Memory &memory) {
  View rows = shaped(memory, wholeType(op));
  if (mayStay(op)) {
    tiler.views[op->getResult(0)] = rows;
    return success();
  }
  std::string result = plan.uniqueName(name + ".result");
  return copy(op, result, rows, tiler.resultFor(op, result));
}

LogicalResult StepSums::copy(Operation *op, const std::string &name,
                             const View &from, const View &to) {
  if (!isOfVector(op))
    return tileCopy(op, name, from, to, tiler);
  PhaseBuilder phase = plan.phase(name, op->getLoc(), {plan.constant(1)}, {1});
  const int64_t width = widthOf(op);
  Box box = phase.whole(to);
  phase.reads(from, box);
  phase.writes(to, box);
  phase.call("copy", {phase.address(to, box), phase.integer(width),
                      phase.address(from, box), phase.integer(width),
                      phase.integer(1), phase.integer(width)});
  return success();
}

void StepSums::exchange(ArrayRef<Operation *> ops, const std::string &name) {
  Operation *first = ops.front();
  PhaseBuilder phase =
      plan.phase(name + ".exchange", first->getLoc(), {plan.constant(1)}, {1});
  SmallVector<event::TransferAttr> transfers;
  for (Operation *op : ops) {
    Memory &memory = this->memory(keyOf(op), op->getLoc());
    phase.reads(memory.rows, phase.whole(memory.rows));
    phase.writes(memory.parts, phase.whole(memory.parts),
                 {.may = memory.endsEarly()});
    transfers.push_back(phase.transfer(memory.rows, memory.parts,
                                       memory.elements, memory.part));
  }
  phase.exchange(ExchangeKind::all_to_all, axesOf(first),
                 first->getName().stripDialect(), transfers);
}

void StepSums::sum(AllReduceOp op, const std::string &name, Memory &memory) {
  PhaseBuilder phase = plan.phase(plan.uniqueName(name + ".sum"), op.getLoc(),
                                  {memory.part.ceilDiv(kElementsOfTask)},
                                  {ceilDiv(memory.most, kElementsOfTask)});
  AffineExpr first = phase.coordinate(0) * kElementsOfTask;
  Box all = phase.whole(memory.parts);
  narrow(all, 1, phase.coordinate(0), kElementsOfTask);
  Box out = all;
  out.high[0] = phase.constant(1);
  phase.reads(memory.parts, all, {.may = memory.endsEarly()});
  phase.writes(memory.parts, out);
  bool isSum = op.getFrom().getReduction() == dist::Reduction::sum;
  phase.call(
      isSum ? "sum_ranks" : "max_ranks",
      {phase.address(memory.parts, out), phase.address(memory.parts, out),
       phase.stride(memory.parts, 0), phase.integer(keyOf(op).ranks),
       phase.count({phase.constant(kElementsOfTask), memory.part - first})});
}

LogicalResult StepSums::sum(ReduceScatterOp op, const std::string &name,
                            Memory &memory) {
  Key key = keyOf(op);
  int64_t width = key.width, ranks = key.ranks;
  View out = tiler.resultFor(op, plan.uniqueName(name + ".result"));
  if (failed(expectContiguous(op, "the result", out)) ||
      failed(expectStride(op, "the result", out, 0)))
    return failure();
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name + ".sum", op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box in = phase.whole(memory.parts), box = rowsOfTask(phase, out, tiles.size);
  narrow(in, 1, phase.coordinate(0), tiles.size * width);
  SmallVector<Attribute> operands;
  phase.reads(memory.parts, in, {.may = memory.endsEarly()});
  operands.append(
      {phase.address(memory.parts, in), phase.stride(memory.parts, 0)});
  SmallVector<Attribute> first;
  appendWrite(phase, out, box, first);
  operands.insert(operands.begin(), first.begin(), first.end());
  operands.append({phase.integer(ranks), tiles.count(phase),
                   phase.integer(width),
                   phase.count(phase.coordinate(0) * tiles.size),
                   phase.count(plan.extent(model::partOfRows(ranks))),
                   phase.count(plan.extent(model::kRows)),
                   places.read(phase, op.getAxes())});
  phase.call("sum_rank_rows", operands);
  return success();
}

void StepSums::gather(ArrayRef<Operation *> ops, const std::string &name) {
  Operation *first = ops.front();
  PhaseBuilder phase =
      plan.phase(name + ".gather", first->getLoc(), {plan.constant(1)}, {1});
  SmallVector<event::TransferAttr> transfers;
  for (Operation *op : ops) {
    Memory &memory = this->memory(keyOf(op), op->getLoc());
    Box part = phase.whole(memory.parts);
    part.high[0] = phase.constant(1);
    phase.reads(memory.parts, part, {.may = hasGaps(keyOf(op))});
    phase.writes(memory.rows, phase.whole(memory.rows));
    transfers.push_back(phase.transfer(memory.parts, memory.rows,
                                       memory.elements, memory.part));
  }
  phase.exchange(ExchangeKind::all_gather, axesOf(first),
                 first->getName().stripDialect(), transfers);
}

/// Numbers of every row, in f32, or a vector to add up.
static LogicalResult expectNumbersOfRows(Operation *op) {
  model::StepTensorType type = wholeType(op);
  if (isOfVector(op) && isa<AllReduceOp>(op) && type.getElementType().isF32())
    return success();
  if (type.getDimension(0) != model::kRows || !type.getElementType().isF32() ||
      llvm::any_of(type.getShape().drop_front(), model::isSymbol))
    return op->emitOpError()
           << "cannot be tiled: it is of " << type
           << ", and so far ranks add up numbers of every row, and vectors, in "
              "f32";
  if (!isa<AllReduceOp>(op) && type.getRank() != 2)
    return op->emitOpError() << "cannot be tiled: it is of " << type
                             << ", and so far ranks cut tensors of two "
                                "dimensions by rows or columns";
  return success();
}

LogicalResult StepSums::tileSums(ArrayRef<Operation *> ops,
                                 const std::string &name) {
  for (Operation *op : ops) {
    View x = tiler.viewOf(op->getOperand(0));
    View rows = shaped(memory(keyOf(op), op->getLoc()), wholeType(op));
    if (writers.lookup(op) == op &&
        failed(copy(op, plan.uniqueName(name + ".term"), x, rows)))
      return failure();
  }
  exchange(ops, name);
  if (auto scatter = dyn_cast<ReduceScatterOp>(ops.front()))
    return sum(scatter, name, memory(keyOf(scatter), scatter.getLoc()));
  for (Operation *op : ops)
    sum(cast<AllReduceOp>(op), name, memory(keyOf(op), op->getLoc()));
  gather(ops, name);
  for (Operation *op : ops)
    if (failed(finish(op, name, memory(keyOf(op), op->getLoc()))))
      return failure();
  return success();
}

/// Copies rows to where they lie apart; nobody writes between them, and what is
/// sent of that nobody uses.
LogicalResult StepSums::tileApart(AllGatherOp op, const std::string &name,
                                  const View &x, const View &part) {
  if (failed(expectContiguous(op, "x", x)) ||
      failed(expectStride(op, "x", x, 0)))
    return failure();
  RowTiles tiles(tiler, x.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  // Rows with what lies behind each.
  Key key = keyOf(op);
  View strips = part;
  strips.type = x.type.withShape(
      {x.type.getDimension(0), strideOfColumns(key.width, key.ranks)});
  Box in = phase.whole(x), out = phase.whole(part), strip = phase.whole(strips);
  for (Box *box : {&in, &out, &strip})
    narrow(*box, 0, phase.coordinate(0), tiles.size);
  phase.reads(x, in);
  phase.writes(strips, strip, {.may = true});
  phase.call("copy",
             {phase.address(part, out), phase.stride(part, 0),
              phase.address(x, in), phase.stride(x, 0), tiles.count(phase),
              phase.integer(x.type.getDimension(1))});
  return success();
}

LogicalResult StepSums::tileGather(AllGatherOp op, const std::string &name) {
  Key key = keyOf(op);
  Memory &memory = this->memory(key, op.getLoc());
  View x = tiler.viewOf(op.getX());
  bool cutsColumns = key.cut == Cut::Columns;
  int64_t stride =
      cutsColumns ? strideOfColumns(key.width, key.ranks) : key.width;
  // A rank's own part, row behind row.
  MLIRContext *context = plan.context();
  AffineExpr first = getAffineDimExpr(0, context),
             second = getAffineDimExpr(1, context);
  View part{memory.parts.buffer, x.type,
            AffineMap::get(2, event::kStepSymbols,
                           {plan.constant(0), first * stride + second},
                           context)};
  if (failed(hasGaps(key) ? tileApart(op, name + ".part", x, part)
                          : tileCopy(op, name + ".part", x, part, tiler)))
    return failure();
  Operation *gathered = op;
  gather(gathered, name);
  if (!cutsColumns)
    return finish(op, name, memory);
  // Each rank's columns to where they belong in the rows.
  View out = tiler.resultFor(op, plan.uniqueName(name + ".result"));
  int64_t columns = key.width / key.ranks;
  for (int64_t rank = 0; rank < key.ranks; ++rank) {
    View from{memory.rows.buffer, x.type,
              AffineMap::get(2, event::kStepSymbols,
                             {plan.symbol(event::kRows) * rank + first, second},
                             context)};
    View to{out.buffer, x.type,
            out.map.compose(AffineMap::get(2, event::kStepSymbols,
                                           {first, second + rank * columns},
                                           context))};
    if (failed(
            tileCopy(op, plan.uniqueName(name + ".columns"), from, to, tiler)))
      return failure();
  }
  return success();
}

LogicalResult StepSums::tileSlice(dist::SliceOp op) {
  View x = tiler.viewOf(op.getX());
  std::string name = plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  for (const View &view : {x, out})
    if (failed(expectContiguous(op, "a tensor", view)) ||
        failed(expectStride(op, "a tensor", view, 0)))
      return failure();
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  SmallVector<Attribute> operands, read;
  // Which columns it reads depends on the rank.
  appendRead(phase, x, rowsOfTask(phase, x, tiles.size), read);
  appendWrite(phase, out, rowsOfTask(phase, out, tiles.size), operands);
  operands.append(read);
  operands.append({tiles.count(phase), phase.integer(out.type.getDimension(1)),
                   places.read(phase, op.getAxes())});
  phase.call("take_columns", operands);
  return success();
}

LogicalResult StepSums::tile(Operation *op) {
  if (isJoined(op))
    return success(); // With the first one.
  SmallVector<Operation *> run = runFrom(op);
  if (mesh.countRanks(llvm::to_vector(axesOf(op).getAsRange<StringAttr>())) ==
      1) {
    for (Operation *one : run)
      tiler.views[one->getResult(0)] = tiler.viewOf(one->getOperand(0));
    return success();
  }
  for (Operation *one : run)
    if (failed(expectNumbersOfRows(one)))
      return failure();
  if (auto slice = dyn_cast<dist::SliceOp>(op))
    return tileSlice(slice);
  std::string name = plan.uniqueName(op->getName().stripDialect());
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return tileGather(gather, name);
  return tileSums(run, name);
}

LogicalResult StepSums::tile(dist::FirstRankOp op) {
  std::string name = plan.uniqueName(nameOf(op));
  if (auto parameter = op.getX().getDefiningOp<model::ParameterOp>()) {
    model::StepTensorType type = typeOf(op.getX());
    if (!tiler.training || type.getRank() != 1)
      return op.emitOpError() << "cannot be tiled: so far parameters that one "
                                 "rank adds are vectors that train";
    View x = tiler.training->trainable(op.getX()).weight,
         out = plan.transient(name, type, op.getLoc());
    PhaseBuilder phase = plan.phase(name, op.getLoc(), {plan.constant(1)}, {1});
    phase.reads(x, phase.whole(x));
    phase.writes(out, phase.whole(out));
    Attribute width = phase.integer(type.getDimension(0));
    phase.call("keep_first",
               {phase.address(out, phase.whole(out)), width,
                phase.address(x, phase.whole(x)), width, phase.integer(1),
                width, places.read(phase, op.getAxes())});
    tiler.views[op.getResult()] = out;
    return success();
  }
  return tileRows(op, name, "keep_first", {tiler.viewOf(op.getX())},
                  tiler.resultFor(op, name), tiler,
                  [&](PhaseBuilder &phase, const RowTiles &,
                      SmallVectorImpl<Attribute> &operands) {
                    operands.push_back(places.read(phase, op.getAxes()));
                  });
}
