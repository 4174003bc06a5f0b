//===- LowerReshards.cpp - reshards as collectives ------------------------===//

#include "passes/sharding/Passes.h"

#include "dialects/Dist/Placement.h"

namespace baton::sharding {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;

namespace {

using Axes = SmallVector<StringAttr, 2>;

/// Brings one value from place to place, step by step.
class Lowering {
public:
  Lowering(ReshardOp op, MeshOp mesh)
      : op(op), mesh(mesh), builder(op), value(op.getX()), at(op.getFrom()),
        to(op.getTo()) {}

  Value run();
  unsigned numCollectives = 0;

private:
  DimensionAttr dimension(unsigned i) const { return at.getDimensions()[i]; }
  /// Axes that dimension i has yet to get, where it has no others; none where
  /// it has.
  Axes missing(unsigned i) const;
  /// Axes of dimension i that are not its own in the end.
  Axes superfluous(unsigned i) const;
  PlacementAttr appended(PlacementAttr placement, unsigned i,
                         ArrayRef<StringAttr> axes) const;
  PlacementAttr removed(PlacementAttr placement, unsigned i,
                        ArrayRef<StringAttr> axes) const;
  std::string payload(PlacementAttr placement) const {
    return countBytes(cast<StepTensorType>(value.getType()), placement, mesh);
  }
  ArrayAttr list(ArrayRef<StringAttr> axes) {
    return builder.getArrayAttr(
        SmallVector<Attribute>(axes.begin(), axes.end()));
  }

  void reduce();
  void exchange();
  void slice();
  void gather();
  void keepOnFirstRank();

  ReshardOp op;
  MeshOp mesh;
  OpBuilder builder;
  Value value;
  PlacementAttr at, to;
};

} // namespace

Axes Lowering::missing(unsigned i) const {
  ArrayRef<StringAttr> has = dimension(i).getAxes();
  ArrayRef<StringAttr> wanted = to.getDimensions()[i].getAxes();
  if (wanted.size() <= has.size() || wanted.take_front(has.size()) != has)
    return {};
  // Uneven parts are cut of the whole, and not any further.
  if (!has.empty() &&
      (dimension(i).isRagged() || to.getDimensions()[i].isRagged()))
    return {};
  return Axes(wanted.drop_front(has.size()));
}

Axes Lowering::superfluous(unsigned i) const {
  DimensionAttr has = dimension(i), wanted = to.getDimensions()[i];
  size_t common = 0;
  while (common < std::min(has.getAxes().size(), wanted.getAxes().size()) &&
         has.getAxes()[common] == wanted.getAxes()[common])
    ++common;
  // Other parts of the same axes are other shards.
  if (has.isRagged() || wanted.isRagged())
    common = has == wanted ? has.getAxes().size() : 0;
  return Axes(has.getAxes().drop_front(common));
}

PlacementAttr Lowering::appended(PlacementAttr placement, unsigned i,
                                 ArrayRef<StringAttr> axes) const {
  SmallVector<StringAttr> all(placement.getDimensions()[i].getAxes());
  all.append(axes.begin(), axes.end());
  DimensionAttr wanted = to.getDimensions()[i];
  return placement.withDimension(i, DimensionAttr::get(wanted.getContext(), all,
                                                       wanted.getGranularity(),
                                                       wanted.getUnits()));
}

PlacementAttr Lowering::removed(PlacementAttr placement, unsigned i,
                                ArrayRef<StringAttr> axes) const {
  ArrayRef<StringAttr> all = placement.getDimensions()[i].getAxes();
  return placement.withDimension(
      i, DimensionAttr::getShard(placement.getContext(),
                                 all.drop_back(axes.size())));
}

/// Sums: to shards where those are wanted, else to all ranks.
void Lowering::reduce() {
  Axes open;
  for (StringAttr axis : at.getPartialAxes())
    if (!llvm::is_contained(to.getPartialAxes(), axis))
      open.push_back(axis);
  auto without = [&](ArrayRef<StringAttr> axes) {
    SmallVector<StringAttr> rest;
    for (StringAttr axis : at.getPartialAxes())
      if (!llvm::is_contained(axes, axis))
        rest.push_back(axis);
    return at.withPartial(rest.empty() ? Reduction::sum : at.getReduction(),
                          rest);
  };
  for (unsigned i = 0; i < at.getDimensions().size(); ++i) {
    Axes axes = missing(i), scattered;
    for (StringAttr axis : axes) {
      if (!llvm::is_contained(open, axis))
        break;
      scattered.push_back(axis);
    }
    if (scattered.empty() ||
        (to.getDimensions()[i].isRagged() && scattered != axes))
      continue;
    PlacementAttr next = appended(without(scattered), i, scattered);
    value = builder.create<ReduceScatterOp>(op.getLoc(), value.getType(), value,
                                            list(scattered), i, at, next,
                                            payload(at));
    at = next;
    ++numCollectives;
  }
  // The rest, and what could not be scattered because something is in the way.
  Axes whole;
  for (StringAttr axis : at.getPartialAxes())
    if (llvm::is_contained(open, axis))
      whole.push_back(axis);
  if (whole.empty())
    return;
  PlacementAttr next = without(whole);
  value = builder.create<AllReduceOp>(op.getLoc(), value.getType(), value,
                                      list(whole), at, next, payload(at));
  at = next;
  ++numCollectives;
}

/// Axes that move from one dimension to another.
void Lowering::exchange() {
  for (unsigned i = 0; i < at.getDimensions().size(); ++i)
    for (unsigned j = 0; j < at.getDimensions().size(); ++j) {
      Axes axes = superfluous(i);
      if (i == j || axes.empty() || dimension(i).isRagged() ||
          to.getDimensions()[j].isRagged() || missing(j) != axes)
        continue;
      PlacementAttr next = appended(removed(at, i, axes), j, axes);
      value =
          builder.create<AllToAllOp>(op.getLoc(), value.getType(), value,
                                     list(axes), i, j, at, next, payload(at));
      at = next;
      ++numCollectives;
    }
}

/// Shards of what is there, but for axes that shard something else still.
void Lowering::slice() {
  auto isFree = [&](StringAttr axis) {
    return !llvm::is_contained(at.getPartialAxes(), axis) &&
           llvm::none_of(at.getDimensions(), [&](DimensionAttr dimension) {
             return llvm::is_contained(dimension.getAxes(), axis);
           });
  };
  for (unsigned i = 0; i < at.getDimensions().size(); ++i) {
    Axes axes = missing(i);
    if (axes.empty() || !llvm::all_of(axes, isFree) || !superfluous(i).empty())
      continue;
    PlacementAttr next = appended(at, i, axes);
    value = builder.create<dist::SliceOp>(op.getLoc(), value.getType(), value,
                                          list(axes), i, at, next);
    at = next;
  }
}

void Lowering::gather() {
  for (unsigned i = 0; i < at.getDimensions().size(); ++i) {
    Axes axes = superfluous(i);
    if (axes.empty())
      continue;
    PlacementAttr next = removed(at, i, axes);
    value = builder.create<AllGatherOp>(op.getLoc(), value.getType(), value,
                                        list(axes), i, at, next, payload(next));
    at = next;
    ++numCollectives;
  }
}

void Lowering::keepOnFirstRank() {
  if (at.getPartialAxes() == to.getPartialAxes())
    return;
  Axes axes;
  for (StringAttr axis : to.getPartialAxes())
    if (!llvm::is_contained(at.getPartialAxes(), axis))
      axes.push_back(axis);
  value = builder.create<FirstRankOp>(op.getLoc(), value.getType(), value,
                                      list(axes), at, to);
  at = to;
}

Value Lowering::run() {
  reduce();
  exchange();
  slice();
  gather();
  // What shards could only be cut of the whole.
  slice();
  keepOnFirstRank();
  assert(at == to && "every placement is reached from every other");
  return value;
}

namespace {
struct LowerReshards : baton::sharding::impl::LowerReshardsBase<LowerReshards> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    SmallVector<ReshardOp> ops;
    getOperation().walk([&](ReshardOp op) { ops.push_back(op); });
    for (ReshardOp op : ops) {
      Lowering lowering(op, mesh);
      op.replaceAllUsesWith(lowering.run());
      op.erase();
      numCollectives += lowering.numCollectives;
    }
  }
};
} // namespace
