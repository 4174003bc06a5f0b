//===- TrainingRules.cpp - task grids of training's ops -------------------===//

#include "passes/tiling/TrainingRules.h"

#include "codegen/bodies/TaskCalls.h"

#include "passes/collectives/RankPlaces.h"
#include "passes/collectives/RankSums.h"
#include "passes/tiling/LossRules.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/VocabularyRules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

//===----------------------------------------------------------------------===//
// Pieces of rules
//===----------------------------------------------------------------------===//

namespace {
/// Writes the phases of one op.
class Rules {
public:
  Rules(Tiler &tiler, Training &training)
      : tiler(tiler), training(training), plan(tiler.plan) {}

  LogicalResult tile(model::EmbeddingOp op);
  LogicalResult tile(model::RopeTableOp op);
  LogicalResult tile(model::LinearOp op);
  LogicalResult tile(model::RmsNormOp op);
  LogicalResult tile(model::LayerNormOp op);
  LogicalResult tile(model::SequenceAttentionOp op);
  LogicalResult tile(model::MatmulOp op);
  LogicalResult tileMask(Operation *op, Value x, Value positions,
                         int64_t window, const llvm::APFloat &hidden);
  LogicalResult tile(model::SaveOp op);
  LogicalResult tile(model::SavedOp op);
  LogicalResult tile(model::GradientOp op);
  LogicalResult tile(model::LinearInputGradientOp op);
  LogicalResult tile(model::LinearWeightGradientOp op);
  LogicalResult tile(model::BiasGradientOp op);
  LogicalResult tile(model::EmbeddingGradientOp op);
  LogicalResult tile(model::NormStatisticsOp op);
  LogicalResult tile(model::NormInputGradientOp op);
  LogicalResult tile(model::NormWeightGradientOp op);
  LogicalResult tile(model::AttentionDeltaOp op);
  LogicalResult tile(model::AttentionQueryGradientOp op);
  LogicalResult tile(model::AttentionKeyValueGradientOp op);
  LogicalResult tile(model::GateGradientOp op);
  LogicalResult tile(model::JoinOp op);

private:
  Tiler &tiler;
  Training &training;
  PlanBuilder &plan;
};
} // namespace

int64_t tasks::productScratch(int64_t columns) {
  return sizeof(float) *
         (258 * 256 + 4 * 256 * 16 + 258 * llvm::alignTo(columns, 16));
}

Matrix tasks::readMatrix(PhaseBuilder &phase, const View &view,
                         const Box &tile) {
  phase.reads(view, tile);
  return {phase.address(view, tile), phase.stride(view, 0), phase.integer(1)};
}

static LogicalResult expectRows(Operation *op, StringRef what,
                                const View &view) {
  return success(succeeded(expectContiguous(op, what, view)) &&
                 succeeded(expectStride(op, what, view, 0)));
}

Trainable *tasks::targetOf(Operation *op, Training &training) {
  for (Operation *user : op->getUsers())
    if (auto gradient = dyn_cast<model::GradientOp>(user))
      return &training.trainable(gradient.getParameter());
  op->emitOpError() << "cannot be tiled: its result is no parameter's gradient";
  return nullptr;
}

Attribute tasks::contribute(Trainable &target, PhaseBuilder &phase,
                            const Box &tile, Training &training) {
  bool adds = std::exchange(target.hasGradient, true);
  const View &says = target.isFresh ? training.never() : training.accumulate;
  // A fresh gradient is begun anew by whoever comes first.
  if (adds)
    phase.reads(target.gradient, tile);
  else if (!target.isFresh)
    phase.reads(target.gradient, tile, {.condition = &says});
  phase.writes(target.gradient, tile);
  if (adds)
    return phase.null();
  Box all = phase.whole(says);
  phase.reads(says, all);
  return phase.address(says, all);
}

/// Columns [c * width, ...) of a vector, c the coordinate `d`.
static Attribute readColumns(PhaseBuilder &phase, const View &vector,
                             unsigned d, int64_t width) {
  Box box = phase.whole(vector);
  narrow(box, 0, phase.coordinate(d), width);
  phase.reads(vector, box);
  return phase.address(vector, box);
}

//===----------------------------------------------------------------------===//
// Embeddings, tables, linears
//===----------------------------------------------------------------------===//

LogicalResult Rules::tile(model::EmbeddingOp op) {
  std::string name = plan.uniqueName(nameOf(op));
  View indices = tiler.viewOf(op.getTokens());
  View out = tiler.resultFor(op, name);
  Trainable &table = training.trainable(op.getTable());
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box box = phase.whole(out), in = phase.whole(indices);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  phase.reads(indices, in);
  Attribute weight = readAll(phase, table.weight);
  phase.writes(out, box);
  model::ShardAttr shard = RankPlaces::tokensOf(op.getTable());
  int64_t vocabulary =
      shard ? shard.getExtent() : table.weight.type.getDimension(0);
  SmallVector<Attribute> operands = {
      phase.address(out, box),
      phase.stride(out, 0),
      phase.address(indices, in),
      weight,
      tiles.count(phase),
      phase.integer(table.weight.type.getDimension(1)),
      phase.integer(vocabulary),
      phase.real(op.getMultiplier())};
  if (shard)
    operands.push_back(tiler.places->read(phase, shard));
  phase.call(shard ? "embedding_part_f32" : "embedding_f32", operands);
  return success();
}

LogicalResult Rules::tile(model::RopeTableOp op) {
  std::string name = plan.uniqueName(nameOf(op));
  View positions = tiler.viewOf(op.getPositions());
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  event::ParameterOp frequencies =
      tiler.constants(name + ".frequencies", op.getFrequencies(), op.getLoc());
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box box = phase.whole(out), in = phase.whole(positions);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  phase.reads(positions, in);
  phase.writes(out, box);
  phase.call("rope_table_at", {phase.address(out, box), phase.stride(out, 0),
                               phase.weight(frequencies, phase.constant(0)),
                               phase.integer(op.getFrequencies().size()),
                               phase.address(positions, in), tiles.count(phase),
                               phase.real(op.getScale())});
  return success();
}

namespace {
/// Tiles of rows by columns.
struct ProductTiles {
  RowTiles rows;
  int64_t width, columns;

  PhaseBuilder phase(PlanBuilder &plan, const std::string &name,
                     Location location) const {
    int64_t count = ceilDiv(columns, width);
    return plan.phase(name, location, {rows.extent, plan.constant(count)},
                      {rows.capacity, count});
  }
};
} // namespace

LogicalResult Rules::tile(model::LinearOp op) {
  View x = tiler.viewOf(op.getX()), residual;
  if (failed(expectRows(op, "x", x)))
    return failure();
  if (op.getResidual()) {
    residual = tiler.viewOf(op.getResidual());
    if (failed(expectRows(op, "the residual", residual)))
      return failure();
  }
  std::string name = plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  Trainable &weight = training.trainable(op.getWeight());
  int64_t k = x.type.getDimension(1), n = out.type.getDimension(1);
  ProductTiles tiles{
      RowTiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().linearRows)),
      tiler.columnsOf(op, plan.tiles().linearColumns), n};
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box in = phase.whole(x), panel = phase.whole(weight.weight),
      box = phase.whole(out);
  narrow(in, 0, phase.coordinate(0), tiles.rows.size);
  narrow(panel, 0, phase.coordinate(1), tiles.width);
  narrow(box, 0, phase.coordinate(0), tiles.rows.size);
  narrow(box, 1, phase.coordinate(1), tiles.width);
  Matrix a = readMatrix(phase, x, in);
  Matrix b = readMatrix(phase, weight.weight, panel).transposed();
  Attribute bias = phase.null();
  if (Value vector = op.getBias()) {
    // Of terms of a sum over ranks, the first one alone has it.
    bool isTerm = vector.getDefiningOp<dist::FirstRankOp>() != nullptr;
    bias = readColumns(phase,
                       isTerm ? tiler.viewOf(vector)
                              : training.trainable(vector).weight,
                       1, tiles.width);
  }
  if (residual.buffer)
    phase.reads(residual, box);
  phase.writes(out, box);
  phase.needsScratch(productScratch(tiles.width));
  phase.call(bodies::functionName("product", weight.productFormat),
             {phase.address(out, box), phase.stride(out, 0), a.pointer, a.first,
              a.second, b.pointer, b.first, b.second, bias,
              residual.buffer ? phase.address(residual, box) : phase.null(),
              residual.buffer ? phase.stride(residual, 0) : phase.integer(0),
              tiles.rows.count(phase), countOf(phase, 1, tiles.width, n),
              phase.integer(k), phase.scratch(0)});
  return success();
}

LogicalResult Rules::tile(model::LinearInputGradientOp op) {
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectRows(op, "dy", dy)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = tiler.resultFor(op, name);
  Trainable &weight = training.trainable(op.getWeight());
  int64_t n = dy.type.getDimension(1), k = out.type.getDimension(1);
  ProductTiles tiles{
      RowTiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().linearRows)),
      tiler.columnsOf(op, plan.tiles().linearColumns), k};
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box in = phase.whole(dy), panel = phase.whole(weight.weight),
      box = phase.whole(out);
  narrow(in, 0, phase.coordinate(0), tiles.rows.size);
  narrow(panel, 1, phase.coordinate(1), tiles.width);
  narrow(box, 0, phase.coordinate(0), tiles.rows.size);
  narrow(box, 1, phase.coordinate(1), tiles.width);
  Matrix a = readMatrix(phase, dy, in);
  Matrix b = readMatrix(phase, weight.weight, panel);
  phase.writes(out, box);
  phase.needsScratch(productScratch(tiles.width));
  phase.call(bodies::functionName("product", weight.productFormat),
             {phase.address(out, box), phase.stride(out, 0), a.pointer, a.first,
              a.second, b.pointer, b.first, b.second, phase.null(),
              phase.null(), phase.integer(0), tiles.rows.count(phase),
              countOf(phase, 1, tiles.width, k), phase.integer(n),
              phase.scratch(0)});
  return success();
}

LogicalResult Rules::tile(model::LinearWeightGradientOp op) {
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)) ||
      failed(expectRows(op, "x", x)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".weight_gradient");
  const View &out = target->gradient;
  int64_t n = dy.type.getDimension(1), k = x.type.getDimension(1);
  int64_t height = plan.tiles().linearColumns;
  int64_t width = tiler.columnsOf(op, plan.tiles().linearColumns);
  PhaseBuilder phase = plan.phase(
      name, op.getLoc(),
      {plan.constant(ceilDiv(n, height)), plan.constant(ceilDiv(k, width))},
      {ceilDiv(n, height), ceilDiv(k, width)});
  Box left = phase.whole(dy), right = phase.whole(x), box = phase.whole(out);
  narrow(left, 1, phase.coordinate(0), height);
  narrow(right, 1, phase.coordinate(1), width);
  narrow(box, 0, phase.coordinate(0), height);
  narrow(box, 1, phase.coordinate(1), width);
  Matrix a = readMatrix(phase, dy, left).transposed();
  Matrix b = readMatrix(phase, x, right);
  Attribute adds = contribute(*target, phase, box, training);
  phase.needsScratch(productScratch(width));
  phase.call(bodies::functionName("product_gradient", target->productFormat),
             {phase.address(out, box), phase.stride(out, 0), a.pointer, a.first,
              a.second, b.pointer, b.first, b.second, phase.null(),
              countOf(phase, 0, height, n), countOf(phase, 1, width, k),
              phase.count(plan.extent(dy.type.getDimension(0))), adds,
              phase.scratch(0)});
  return success();
}

/// Columns of a sum over all rows, for one task.
static constexpr int64_t kSummedColumns = 64;

LogicalResult Rules::tile(model::BiasGradientOp op) {
  View dy = tiler.viewOf(op.getDy());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)))
    return failure();
  int64_t n = dy.type.getDimension(1), tiles = ceilDiv(n, kSummedColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".bias_gradient"), op.getLoc(),
                 {plan.constant(tiles)}, {tiles});
  Box in = phase.whole(dy), box = phase.whole(target->gradient);
  narrow(in, 1, phase.coordinate(0), kSummedColumns);
  narrow(box, 0, phase.coordinate(0), kSummedColumns);
  phase.reads(dy, in);
  Attribute adds = contribute(*target, phase, box, training);
  phase.call("sum_rows", {phase.address(target->gradient, box),
                          phase.address(dy, in), phase.stride(dy, 0),
                          phase.count(plan.extent(dy.type.getDimension(0))),
                          countOf(phase, 0, kSummedColumns, n), adds});
  return success();
}

LogicalResult Rules::tile(model::EmbeddingGradientOp op) {
  View dy = tiler.viewOf(op.getDy()), indices = tiler.viewOf(op.getIndices());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)))
    return failure();
  const View &out = target->gradient;
  int64_t k = dy.type.getDimension(1), tiles = ceilDiv(k, kSummedColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".table_gradient"), op.getLoc(),
                 {plan.constant(tiles)}, {tiles});
  Box in = phase.whole(dy), box = phase.whole(out);
  narrow(in, 1, phase.coordinate(0), kSummedColumns);
  narrow(box, 1, phase.coordinate(0), kSummedColumns);
  phase.reads(dy, in);
  Attribute rows = readAll(phase, indices);
  Attribute adds = contribute(*target, phase, box, training);
  SmallVector<Attribute> operands = {phase.address(out, box),
                                     phase.stride(out, 0),
                                     phase.address(dy, in),
                                     phase.stride(dy, 0),
                                     rows,
                                     phase.count(plan.extent(model::kRows)),
                                     countOf(phase, 0, kSummedColumns, k),
                                     phase.integer(out.type.getDimension(0)),
                                     phase.real(op.getMultiplier()),
                                     adds};
  model::ShardAttr shard;
  for (Operation *user : op->getUsers())
    if (auto gradient = dyn_cast<model::GradientOp>(user))
      shard = RankPlaces::tokensOf(gradient.getParameter());
  if (shard)
    operands.push_back(tiler.places->read(phase, shard));
  phase.call(shard ? "embedding_gradient_part" : "embedding_gradient",
             operands);
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

namespace {
/// A grid over tiles of rows, and over heads where a row has a norm for each.
struct NormTiles {
  RowTiles rows;
  int64_t heads;

  NormTiles(Operation *op, model::StepTensorType type, Tiler &tiler)
      : rows(tiler, type, tiler.rowsOf(op, tiler.plan.tiles().plainRows)),
        heads(type.getRank() == 3 ? type.getDimension(1) : 0) {}

  PhaseBuilder phase(PlanBuilder &plan, const std::string &name,
                     Location location) const {
    SmallVector<AffineExpr> grid = {rows.extent};
    SmallVector<int64_t> capacity = {rows.capacity};
    if (heads) {
      grid.push_back(plan.constant(heads));
      capacity.push_back(heads);
    }
    return plan.phase(name, location, grid, capacity);
  }
  Box tile(PhaseBuilder &phase, const View &view) const {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(0), rows.size);
    if (heads)
      narrow(box, 1, phase.coordinate(1), 1);
    return box;
  }
};
} // namespace

template <typename OpT>
static LogicalResult tileNorm(OpT op, StringRef callee, Value bias,
                              Tiler &tiler, Training &training) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  NormTiles tiles(op, out.type, tiler);
  PhaseBuilder phase = tiles.phase(tiler.plan, name, op.getLoc());
  Box box = tiles.tile(phase, out);
  phase.reads(x, box);
  SmallVector<Attribute> operands = {
      phase.address(out, box), phase.stride(out, 0), phase.address(x, box),
      phase.stride(x, 0),
      readAll(phase, training.trainable(op.getWeight()).weight)};
  if (callee == "layer_norm")
    operands.push_back(bias ? readAll(phase, training.trainable(bias).weight)
                            : phase.null());
  phase.writes(out, box);
  operands.append({tiles.rows.count(phase),
                   phase.integer(x.type.getShape().back()),
                   phase.real(op.getEpsilon())});
  phase.call(callee, operands);
  return success();
}

LogicalResult Rules::tile(model::RmsNormOp op) {
  return tileNorm(op, "rms_norm", Value(), tiler, training);
}

LogicalResult Rules::tile(model::LayerNormOp op) {
  return tileNorm(op, "layer_norm", op.getBias(), tiler, training);
}

LogicalResult Rules::tile(model::NormStatisticsOp op) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".statistics");
  View out = tiler.resultFor(op, name);
  NormTiles tiles(op, out.type, tiler);
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box in = tiles.tile(phase, x), box = tiles.tile(phase, out);
  phase.reads(x, in);
  phase.writes(out, box);
  phase.call("norm_statistics",
             {phase.address(out, box), phase.stride(out, 0),
              phase.address(x, in), phase.stride(x, 0), tiles.rows.count(phase),
              phase.integer(x.type.getShape().back()),
              phase.real(op.getEpsilon()),
              phase.integer32(op.getNorm() == model::Norm::layer)});
  return success();
}

LogicalResult Rules::tile(model::NormInputGradientOp op) {
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  View statistics = tiler.viewOf(op.getStatistics());
  if (failed(expectRows(op, "dy", dy)) || failed(expectRows(op, "x", x)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = tiler.resultFor(op, name);
  NormTiles tiles(op, out.type, tiler);
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box box = tiles.tile(phase, out), sums = tiles.tile(phase, statistics);
  phase.reads(dy, box);
  phase.reads(x, box);
  phase.reads(statistics, sums);
  Attribute weight = readAll(phase, training.trainable(op.getWeight()).weight);
  phase.writes(out, box);
  phase.call("norm_gradient",
             {phase.address(out, box), phase.stride(out, 0),
              phase.address(dy, box), phase.stride(dy, 0),
              phase.address(x, box), phase.stride(x, 0), weight,
              phase.address(statistics, sums), phase.stride(statistics, 0),
              tiles.rows.count(phase), phase.integer(x.type.getShape().back()),
              phase.integer32(op.getNorm() == model::Norm::layer)});
  return success();
}

LogicalResult Rules::tile(model::NormWeightGradientOp op) {
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  View statistics = tiler.viewOf(op.getStatistics());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)) ||
      failed(expectRows(op, "x", x)))
    return failure();
  unsigned last = x.type.getRank() - 1;
  int64_t heads = last == 2 ? x.type.getDimension(1) : 1;
  if (failed(expectAdjacentHeads(op, "dy", dy, heads)) ||
      failed(expectAdjacentHeads(op, "x", x, heads)))
    return failure();
  int64_t k = x.type.getDimension(last), tiles = ceilDiv(k, kSummedColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".weight_gradient"), op.getLoc(),
                 {plan.constant(tiles)}, {tiles});
  Box in = phase.whole(x), box = phase.whole(target->gradient);
  narrow(in, last, phase.coordinate(0), kSummedColumns);
  narrow(box, 0, phase.coordinate(0), kSummedColumns);
  phase.reads(dy, in);
  phase.reads(x, in);
  Attribute sums = readAll(phase, statistics);
  Attribute adds = contribute(*target, phase, box, training);
  phase.call("norm_weight_gradient",
             {phase.address(target->gradient, box), phase.null(),
              phase.address(dy, in), phase.stride(dy, 0), phase.address(x, in),
              phase.stride(x, 0), sums, phase.stride(statistics, 0),
              phase.count(plan.extent(x.type.getDimension(0))),
              phase.integer(heads), phase.integer(k),
              countOf(phase, 0, kSummedColumns, k), adds});
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Bytes of scratch that bodies of sequence attention and its adjoints ask for
/// (a test holds this against the library's header).
static int64_t sequenceScratch(int64_t rows, int64_t group, int64_t width,
                               int64_t valueWidth) {
  return std::max<int64_t>(attentionScratch(rows, group, width, valueWidth),
                           sizeof(float) * kAttentionBlock *
                               (width + llvm::alignTo<16>(width) + valueWidth +
                                llvm::alignTo<16>(valueWidth)));
}

namespace {
/// A grid over tiles of rows and key/value heads.
struct SequenceTiles {
  RowTiles rows;
  int64_t groups, group, width, valueWidth;

  template <typename OpT>
  SequenceTiles(OpT op, Tiler &tiler)
      : rows(tiler, typeOf(op.getQ()),
             tiler.rowsOf(op, tiler.plan.tiles().attentionRows)),
        groups(typeOf(op.getK()).getDimension(1)),
        group(typeOf(op.getQ()).getDimension(1) / groups),
        width(typeOf(op.getQ()).getDimension(2)),
        valueWidth(typeOf(op.getV()).getDimension(2)) {}

  PhaseBuilder phase(PlanBuilder &plan, const std::string &name,
                     Location location) const {
    PhaseBuilder phase =
        plan.phase(name, location, {rows.extent, plan.constant(groups)},
                   {rows.capacity, groups});
    phase.needsScratch(sequenceScratch(rows.size, group, width, valueWidth));
    return phase;
  }
  AffineExpr first(PhaseBuilder &phase) const {
    return phase.coordinate(0) * rows.size;
  }
  /// Of heads, query heads or key/value heads, those of the task's group.
  void narrowHeads(PhaseBuilder &phase, Box &box, const View &view) const {
    bool queries = view.type.getDimension(1) != groups;
    narrow(box, 1, phase.coordinate(1), queries ? group : 1);
  }
  /// The task's rows.
  Box tile(PhaseBuilder &phase, const View &view) const {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(0), rows.size);
    narrowHeads(phase, box, view);
    return box;
  }
  /// Rows that rows of the task may see, from the step's first on; a body
  /// counts from there.
  Box before(PhaseBuilder &phase, const View &view) const {
    Box box = phase.whole(view);
    box.high[0] = first(phase) + rows.size;
    if (view.type.getRank() > 1)
      narrowHeads(phase, box, view);
    return box;
  }
  /// Rows that may see rows of the task.
  Box after(PhaseBuilder &phase, const View &view) const {
    Box box = phase.whole(view);
    box.low[0] = first(phase);
    narrowHeads(phase, box, view);
    return box;
  }
};
} // namespace

/// What the bodies' last operands are.
template <typename OpT>
static void appendForm(OpT op, const SequenceTiles &tiles, PhaseBuilder &phase,
                       SmallVectorImpl<Attribute> &operands) {
  operands.append({phase.integer(tiles.group), phase.integer(tiles.width),
                   phase.integer(tiles.valueWidth), phase.real(op.getScale()),
                   phase.real(op.getSoftcap()), phase.integer(op.getWindow()),
                   phase.scratch(0)});
}

/// As appendRead, for a part that a body counts from the step's first row on.
static void appendReadFromFirst(PhaseBuilder &phase, const View &view,
                                const Box &box,
                                SmallVectorImpl<Attribute> &operands) {
  phase.reads(view, box);
  Box whole = box;
  whole.low[0] = phase.constant(0);
  operands.append({phase.address(view, whole), phase.stride(view, 0)});
}

/// Positions of the rows that the task may see, its first row, and how many it
/// has.
static void appendPlaces(const SequenceTiles &tiles, PhaseBuilder &phase,
                         const View &positions,
                         SmallVectorImpl<Attribute> &operands) {
  Box places = tiles.before(phase, positions);
  phase.reads(positions, places);
  operands.append({phase.address(positions, places),
                   phase.count(tiles.first(phase)), tiles.rows.count(phase)});
}

template <typename OpT>
static LogicalResult expectHeads(OpT op, const SequenceTiles &tiles,
                                 Tiler &tiler) {
  View q = tiler.viewOf(op.getQ());
  return success(succeeded(expectRows(op, "q", q)) &&
                 succeeded(expectAdjacentHeads(op, "q", q, tiles.group)) &&
                 succeeded(expectRows(op, "k", tiler.viewOf(op.getK()))) &&
                 succeeded(expectRows(op, "v", tiler.viewOf(op.getV()))));
}

LogicalResult Rules::tile(model::SequenceAttentionOp op) {
  SequenceTiles tiles(op, tiler);
  if (failed(expectHeads(op, tiles, tiler)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op));
  View q = tiler.viewOf(op.getQ()), k = tiler.viewOf(op.getK()),
       v = tiler.viewOf(op.getV()), positions = tiler.viewOf(op.getPositions());
  View out = tiler.resultFor(op, name);
  View statistics = tiler.bufferFor(op.getStatistics(),
                                    plan.uniqueName(name + ".statistics"));
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  SmallVector<Attribute> operands;
  appendWrite(phase, out, tiles.tile(phase, out), operands);
  appendWrite(phase, statistics, tiles.tile(phase, statistics), operands);
  appendRead(phase, q, tiles.tile(phase, q), operands);
  appendRead(phase, k, tiles.before(phase, k), operands);
  appendRead(phase, v, tiles.before(phase, v), operands);
  appendPlaces(tiles, phase, positions, operands);
  appendForm(op, tiles, phase, operands);
  phase.call("sequence_attention", operands);
  return success();
}

/// One of the last two dimensions is contiguous: as it is, or transposed.
static FailureOr<Matrix> readFactor(Operation *op, StringRef what,
                                    PhaseBuilder &phase, const View &view,
                                    const Box &tile) {
  bool isTransposed = view.fixedStrideOf(2) != 1;
  if (isTransposed && view.fixedStrideOf(1) != 1)
    return op->emitOpError() << "cannot be tiled: neither of the last two "
                                "dimensions of "
                             << what << " is contiguous in its buffer";
  unsigned other = isTransposed ? 2 : 1;
  if (failed(expectStride(op, what, view, other)))
    return failure();
  phase.reads(view, tile);
  Matrix matrix{phase.address(view, tile), phase.stride(view, other),
                phase.integer(1)};
  return isTransposed ? matrix.transposed() : matrix;
}

/// Attention as it is written before fusion: a product for each head.
LogicalResult Rules::tile(model::MatmulOp op) {
  View lhs = tiler.viewOf(op.getLhs()), rhs = tiler.viewOf(op.getRhs());
  std::string name = plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  if (failed(expectContiguous(op, "the result", out)) ||
      failed(expectStride(op, "the result", out, 1)))
    return failure();
  int64_t heads = out.type.getDimension(0), m = out.type.getDimension(1),
          n = out.type.getDimension(2);
  int64_t height = tiler.rowsOf(op, plan.tiles().linearRows);
  // A head's elements are few, and the next head's lie behind them.
  int64_t width =
      model::isSymbol(n) ? tiler.columnsOf(op, plan.tiles().linearColumns) : n;
  PhaseBuilder phase = plan.phase(
      name, op.getLoc(),
      {plan.extent(m).ceilDiv(height), plan.constant(heads),
       plan.extent(n).ceilDiv(width)},
      {ceilDiv(plan.bound(m), height), heads, ceilDiv(plan.bound(n), width)});
  Box left = phase.whole(lhs), right = phase.whole(rhs), box = phase.whole(out);
  for (Box *tile : {&left, &box})
    narrow(*tile, 1, phase.coordinate(0), height);
  for (Box *tile : {&left, &right, &box})
    narrow(*tile, 0, phase.coordinate(1), 1);
  for (Box *tile : {&right, &box})
    narrow(*tile, 2, phase.coordinate(2), width);
  FailureOr<Matrix> a = readFactor(op, "lhs", phase, lhs, left);
  FailureOr<Matrix> b = readFactor(op, "rhs", phase, rhs, right);
  if (failed(a) || failed(b))
    return failure();
  phase.writes(out, box);
  phase.needsScratch(productScratch(width));
  phase.call("product",
             {phase.address(out, box), phase.stride(out, 1), a->pointer,
              a->first, a->second, b->pointer, b->first, b->second,
              phase.null(), phase.null(), phase.integer(0),
              phase.count({phase.constant(height),
                           plan.extent(m) - phase.coordinate(0) * height}),
              phase.count({phase.constant(width),
                           plan.extent(n) - phase.coordinate(2) * width}),
              phase.count(plan.extent(lhs.type.getDimension(2))),
              phase.scratch(0)});
  return success();
}

LogicalResult Rules::tileMask(Operation *op, Value x, Value positions,
                              int64_t window, const llvm::APFloat &hidden) {
  std::string name = plan.uniqueName(nameOf(op));
  View places = tiler.viewOf(positions);
  return tileRows(op, name, "mask_sequences", tiler.viewOf(x),
                  tiler.resultFor(op, name), tiler,
                  [&](PhaseBuilder &phase, const RowTiles &tiles,
                      SmallVectorImpl<Attribute> &operands) {
                    Box box = rowsOfTask(phase, places, tiles.size);
                    phase.reads(places, box);
                    operands.append(
                        {phase.address(places, box),
                         phase.count(phase.coordinate(0) * tiles.size),
                         phase.integer(window), phase.real(hidden)});
                  });
}

LogicalResult Rules::tile(model::AttentionDeltaOp op) {
  View dy = tiler.viewOf(op.getDy()), y = tiler.viewOf(op.getY());
  int64_t heads = dy.type.getDimension(1);
  for (auto [what, view] : {std::pair<StringRef, View>{"dy", dy}, {"y", y}})
    if (failed(expectRows(op, what, view)) ||
        failed(expectAdjacentHeads(op, what, view, heads)))
      return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".delta");
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box in = phase.whole(dy), box = phase.whole(out);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  SmallVector<Attribute> operands;
  appendWrite(phase, out, box, operands);
  appendRead(phase, dy, in, operands);
  appendRead(phase, y, in, operands);
  operands.append({tiles.count(phase), phase.integer(heads),
                   phase.integer(dy.type.getDimension(2))});
  phase.call("attention_delta", operands);
  return success();
}

LogicalResult Rules::tile(model::AttentionQueryGradientOp op) {
  SequenceTiles tiles(op, tiler);
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectHeads(op, tiles, tiler)) ||
      failed(expectRows(op, "dy", dy)) ||
      failed(expectAdjacentHeads(op, "dy", dy, tiles.group)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".query_gradient");
  View q = tiler.viewOf(op.getQ()), k = tiler.viewOf(op.getK()),
       v = tiler.viewOf(op.getV()), delta = tiler.viewOf(op.getDelta()),
       statistics = tiler.viewOf(op.getStatistics()),
       positions = tiler.viewOf(op.getPositions());
  View out = tiler.resultFor(op, name);
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  SmallVector<Attribute> operands;
  appendWrite(phase, out, tiles.tile(phase, out), operands);
  appendRead(phase, dy, tiles.tile(phase, dy), operands);
  appendRead(phase, q, tiles.tile(phase, q), operands);
  appendRead(phase, k, tiles.before(phase, k), operands);
  appendRead(phase, v, tiles.before(phase, v), operands);
  appendRead(phase, delta, tiles.tile(phase, delta), operands);
  appendRead(phase, statistics, tiles.tile(phase, statistics), operands);
  appendPlaces(tiles, phase, positions, operands);
  appendForm(op, tiles, phase, operands);
  phase.call("attention_query_gradient", operands);
  return success();
}

LogicalResult Rules::tile(model::AttentionKeyValueGradientOp op) {
  SequenceTiles tiles(op, tiler);
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectHeads(op, tiles, tiler)) ||
      failed(expectRows(op, "dy", dy)) ||
      failed(expectAdjacentHeads(op, "dy", dy, tiles.group)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".key_value_gradient");
  View q = tiler.viewOf(op.getQ()), k = tiler.viewOf(op.getK()),
       v = tiler.viewOf(op.getV()), delta = tiler.viewOf(op.getDelta()),
       statistics = tiler.viewOf(op.getStatistics()),
       positions = tiler.viewOf(op.getPositions());
  View keys = tiler.bufferFor(op.getKeys(), name);
  View values =
      tiler.bufferFor(op.getValues(), plan.uniqueName(name + ".values"));
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  SmallVector<Attribute> operands;
  appendWrite(phase, keys, tiles.tile(phase, keys), operands);
  appendWrite(phase, values, tiles.tile(phase, values), operands);
  for (const View &view : {dy, q})
    appendReadFromFirst(phase, view, tiles.after(phase, view), operands);
  for (const View &view : {k, v})
    appendReadFromFirst(phase, view, tiles.tile(phase, view), operands);
  for (const View &view : {delta, statistics})
    appendReadFromFirst(phase, view, tiles.after(phase, view), operands);
  operands.append({readAll(phase, positions), phase.count(tiles.first(phase)),
                   tiles.rows.count(phase),
                   phase.count(plan.extent(model::kRows))});
  appendForm(op, tiles, phase, operands);
  phase.call("attention_key_value_gradient", operands);
  return success();
}

LogicalResult Rules::tile(model::GateGradientOp op) {
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX()),
       gate = tiler.viewOf(op.getGate());
  int64_t heads = x.type.getDimension(1), width = x.type.getDimension(2);
  for (auto [what, view] :
       {std::pair<StringRef, View>{"dy", dy}, {"x", x}, {"the gate", gate}})
    if (failed(expectRows(op, what, view)) ||
        failed(expectAdjacentHeads(op, what, view, heads)))
      return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".gate_gradient");
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  auto tile = [&](const View &view) {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(0), tiles.size);
    return box;
  };
  SmallVector<Attribute> operands;
  appendWrite(phase, out, tile(out), operands);
  for (const View &view : {dy, x, gate})
    appendRead(phase, view, tile(view), operands);
  operands.append({tiles.count(phase), phase.integer(heads),
                   phase.integer(width),
                   phase.integer(gate.type.getRank() == 3 ? width : 1)});
  phase.call("gate_gradient", operands);
  return success();
}

//===----------------------------------------------------------------------===//
// Saved values, gradients, joins
//===----------------------------------------------------------------------===//

LogicalResult Rules::tile(model::SaveOp op) {
  View x = tiler.viewOf(op.getX());
  const View &saved = training.saved[op.getName()];
  if (x.buffer == saved.buffer)
    return success();
  return tileCopy(op, plan.uniqueName(op.getName().str() + ".save"), x, saved,
                  tiler);
}

LogicalResult Rules::tile(model::SavedOp op) {
  tiler.views[op.getResult()] = training.saved[op.getName()];
  return success();
}

LogicalResult Rules::tile(model::GradientOp op) {
  if (isa_and_nonnull<model::LinearWeightGradientOp, model::BiasGradientOp,
                      model::EmbeddingGradientOp, model::NormWeightGradientOp,
                      model::CrossEntropyOp, model::HyperScaleGradientOp,
                      dist::LossGradientsOp>(op.getGradient().getDefiningOp()))
    return training.rankSums ? training.rankSums->contributed(
                                   op, training.trainable(op.getParameter()))
                             : success();
  return op.emitOpError() << "cannot be tiled: no op that sums over rows makes "
                             "it";
}

LogicalResult Rules::tile(model::JoinOp op) {
  std::string name = plan.uniqueName(nameOf(op) + ".join");
  View out = tiler.resultFor(op, name);
  int64_t offset = 0;
  for (Value part : op.getParts()) {
    View place = out;
    place.type = typeOf(part);
    SmallVector<AffineExpr> index;
    for (unsigned d = 0; d < place.type.getRank(); ++d)
      index.push_back(getAffineDimExpr(d, op.getContext()) +
                      (d == op.getAxis() ? offset : 0));
    place.map =
        simplifyAffineMap(AffineMap::get(index.size(), event::kStepSymbols,
                                         out.indexOf(index), op.getContext()));
    if (failed(tileCopy(op, plan.uniqueName(name + ".part"), tiler.viewOf(part),
                        place, tiler)))
      return failure();
    offset += place.type.getDimension(op.getAxis());
  }
  return success();
}

std::optional<LogicalResult> tasks::tileTrainingOp(Operation *op, Tiler &tiler,
                                                   Training &training) {
  Rules rules(tiler, training);
  return llvm::TypeSwitch<Operation *, std::optional<LogicalResult>>(op)
      .Case<model::EmbeddingOp, model::RopeTableOp, model::LinearOp,
            model::RmsNormOp, model::LayerNormOp, model::SequenceAttentionOp,
            model::SaveOp, model::SavedOp, model::GradientOp,
            model::LinearInputGradientOp, model::LinearWeightGradientOp,
            model::BiasGradientOp, model::EmbeddingGradientOp,
            model::NormStatisticsOp, model::NormInputGradientOp,
            model::NormWeightGradientOp, model::AttentionDeltaOp,
            model::AttentionQueryGradientOp, model::AttentionKeyValueGradientOp,
            model::GateGradientOp, model::JoinOp>(
          [&](auto typed) { return rules.tile(typed); })
      .Case([&](model::CrossEntropyOp loss) {
        return tileLoss(loss, tiler, training);
      })
      .Case<dist::LogitMaximumOp, dist::LogitSumsOp, dist::LossesOp,
            dist::LossGradientsOp>(
          [&](auto) { return tileVocabularyOp(op, tiler, training); })
      .Case([&](model::RopeGradientOp rope) {
        return tileRotation(op, rope.getDy(), rope.getTable(), "rope_back",
                            tiler);
      })
      .Case([&](model::ActivateGradientOp activate) {
        return tileElementwise(activate, tiler, ".gradient");
      })
      .Case([&](model::MatmulOp matmul) { return rules.tile(matmul); })
      .Case([&](model::MaskOp mask) {
        return rules.tileMask(
            op, mask.getX(), mask.getPositions(), mask.getWindow(),
            llvm::APFloat::getLargest(llvm::APFloat::IEEEsingle(),
                                      /*Negative=*/true));
      })
      .Case([&](model::MaskGradientOp mask) {
        return rules.tileMask(op, mask.getDy(), mask.getPositions(),
                              mask.getWindow(), llvm::APFloat(0.0f));
      })
      .Case([&](model::SoftmaxGradientOp) {
        return tileRowsOf(op, "softmax_gradient", tiler);
      })
      .Default([](Operation *) { return std::nullopt; });
}
