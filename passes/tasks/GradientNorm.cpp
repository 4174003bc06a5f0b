//===- GradientNorm.cpp - the sum of squares of all gradients -------------===//

#include "passes/tasks/GradientNorm.h"

#include "passes/tasks/TilingPieces.h"
#include "passes/tasks/Updates.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// What ranks send one another is a multiple of a cache line.
static constexpr int64_t kPartElements = 16;

namespace {
/// A gradient of all layers as a matrix, cut into tiles of rows.
struct Flat {
  Trainable *trainable;
  int64_t rows, columns, size;

  explicit Flat(Trainable &trainable) : trainable(&trainable) {
    ArrayRef<int64_t> shape = trainable.gradient.type.getShape();
    columns = shape.back();
    rows = trainable.layers * (shape.size() == 2 ? shape[0] : 1);
    size = std::max<int64_t>(1, kTileElements / columns);
  }
  int64_t tiles() const { return ceilDiv(rows, size); }
};

/// Gradients of which ranks of these axes have parts; all of those that all
/// ranks have, without axes.
struct Group {
  SmallVector<Flat> gradients;
  int64_t ranks = 1, tiles = 0;
  /// [ranks, sums] once all ranks have them, and of them the rank's own.
  View own, all;
};
} // namespace

static model::StepTensorType matrix(PlanBuilder &plan, int64_t rows,
                                    int64_t columns) {
  return model::StepTensorType::get(plan.context(), {rows, columns},
                                    Float32Type::get(plan.context()));
}

/// A phase for each gradient, whose tasks leave a sum each in `sums`.
static void sumTiles(const Group &group, const View &sums, PlanBuilder &plan) {
  int64_t first = 0;
  for (const Flat &flat : group.gradients) {
    Trainable &trainable = *flat.trainable;
    View gradient = plan.persistent(
        plan.uniqueName(trainable.name + ".gradients"),
        matrix(plan, flat.rows, flat.columns), 1, trainable.gradientStorage,
        DictionaryAttr(), trainable.location);
    // Steps that only add to gradients have no outputs, and no tasks here.
    PhaseBuilder phase = plan.phase(
        plan.uniqueName(trainable.name + ".sum_squares"), trainable.location,
        {plan.symbol(event::kOutputs) * flat.tiles()}, {flat.tiles()});
    Box in = rowsOfTask(phase, gradient, flat.size), out = phase.whole(sums);
    out.low[1] = phase.coordinate(0) + first;
    out.high[1] = out.low[1] + 1;
    phase.reads(gradient, in);
    phase.writes(sums, out);
    phase.call("sum_squares",
               {phase.address(sums, out), phase.address(gradient, in),
                countOf(phase, 0, flat.size * flat.columns,
                        flat.rows * flat.columns),
                phase.integer(flat.columns)});
    first += flat.tiles();
  }
}

/// Copies `columns` of each row of `from` behind one another.
static void append(const View &from, int64_t rows, int64_t columns,
                   const View &to, int64_t at, PlanBuilder &plan,
                   Location location) {
  PhaseBuilder phase =
      plan.phase(plan.uniqueName("norm.append"), location,
                 {plan.symbol(event::kOutputs) * rows}, {rows});
  Box in = phase.whole(from), out = phase.whole(to);
  narrow(in, 0, phase.coordinate(0), 1);
  in.high[1] = phase.constant(columns);
  out.low[1] = phase.coordinate(0) * columns + at;
  out.high[1] = out.low[1] + columns;
  phase.reads(from, in);
  phase.writes(to, out);
  phase.call("copy", {phase.address(to, out), phase.stride(to, 0),
                      phase.address(from, in), phase.stride(from, 0),
                      phase.integer(1), phase.integer(columns)});
}

View tasks::sumSquares(ArrayRef<Trainable *> trainables, dist::MeshOp mesh,
                       PlanBuilder &plan, Location location) {
  llvm::MapVector<ArrayAttr, Group> groups;
  groups[ArrayAttr()];
  for (Trainable *trainable : trainables) {
    Group &group = groups[trainable->axes];
    group.gradients.push_back(Flat(*trainable));
    group.tiles += group.gradients.back().tiles();
    if (trainable->axes)
      group.ranks = mesh.countRanks(
          llvm::to_vector(trainable->axes.getAsRange<StringAttr>()));
  }
  int64_t count = 0;
  for (auto &[axes, group] : groups)
    count += group.ranks * group.tiles;
  View partials = plan.transient(plan.uniqueName("norm.partial"),
                                 matrix(plan, 1, count), location);
  sumTiles(groups.front().second, partials, plan);
  for (auto &[axes, group] : llvm::drop_begin(groups)) {
    int64_t width = llvm::alignTo(group.tiles, kPartElements);
    group.own = plan.received("norm.own", 1, width, 1, location);
    group.all = plan.received("norm.ranks", group.ranks, width, 1, location);
    // What an exchange sends is written: room behind the sums, too.
    View room = group.own;
    if (width > group.tiles) {
      PhaseBuilder phase = plan.phase(plan.uniqueName("norm.room"), location,
                                      {plan.symbol(event::kOutputs)}, {1});
      phase.writes(room, phase.whole(room));
      phase.call("clear", {phase.address(room, phase.whole(room)),
                           phase.integer(width)});
    }
    sumTiles(group, group.own, plan);
    PhaseBuilder phase = plan.phase(plan.uniqueName("norm.gather"), location,
                                    {plan.symbol(event::kOutputs)}, {1});
    phase.reads(group.own, phase.whole(group.own));
    phase.writes(group.all, phase.whole(group.all));
    phase.exchange(
        event::ExchangeKind::all_gather, axes, "norm",
        phase.transfer(group.own, group.all, group.ranks * width, width));
  }
  int64_t at = groups.front().second.tiles;
  for (auto &[axes, group] : llvm::drop_begin(groups)) {
    append(group.all, group.ranks, group.tiles, partials, at, plan, location);
    at += group.ranks * group.tiles;
  }
  return partials;
}
