//===- ReshardSteps.cpp - a value's way from one placement to another -----===//

#include "passes/sharding/ReshardSteps.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::sharding;

namespace {

using Axes = SmallVector<StringAttr, 2>;

/// Goes from place to place.
class Way {
public:
  Way(PlacementAttr from, PlacementAttr to) : at(from), to(to) {}

  SmallVector<ReshardStep, 2> run();

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
  void go(ReshardStep::Kind kind, ArrayRef<StringAttr> axes, PlacementAttr next,
          unsigned dimension = 0, unsigned other = 0);

  void reduce();
  void exchange();
  void slice();
  void gather();
  void keepOnFirstRank();

  SmallVector<ReshardStep, 2> steps;
  PlacementAttr at, to;
};

} // namespace

void Way::go(ReshardStep::Kind kind, ArrayRef<StringAttr> axes,
             PlacementAttr next, unsigned dimension, unsigned other) {
  steps.push_back({kind, Axes(axes), dimension, other, at, next});
  at = next;
}

Axes Way::missing(unsigned i) const {
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

Axes Way::superfluous(unsigned i) const {
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

PlacementAttr Way::appended(PlacementAttr placement, unsigned i,
                            ArrayRef<StringAttr> axes) const {
  SmallVector<StringAttr> all(placement.getDimensions()[i].getAxes());
  all.append(axes.begin(), axes.end());
  DimensionAttr wanted = to.getDimensions()[i];
  return placement.withDimension(i, DimensionAttr::get(wanted.getContext(), all,
                                                       wanted.getGranularity(),
                                                       wanted.getUnits()));
}

PlacementAttr Way::removed(PlacementAttr placement, unsigned i,
                           ArrayRef<StringAttr> axes) const {
  ArrayRef<StringAttr> all = placement.getDimensions()[i].getAxes();
  return placement.withDimension(
      i, DimensionAttr::getShard(placement.getContext(),
                                 all.drop_back(axes.size())));
}

/// Sums: to shards where those are wanted, else to all ranks.
void Way::reduce() {
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
    go(ReshardStep::reduceScatter, scattered,
       appended(without(scattered), i, scattered), i);
  }
  // The rest, and what could not be scattered because something is in the way.
  Axes whole;
  for (StringAttr axis : at.getPartialAxes())
    if (llvm::is_contained(open, axis))
      whole.push_back(axis);
  if (!whole.empty())
    go(ReshardStep::allReduce, whole, without(whole));
}

/// Axes that move from one dimension to another.
void Way::exchange() {
  for (unsigned i = 0; i < at.getDimensions().size(); ++i)
    for (unsigned j = 0; j < at.getDimensions().size(); ++j) {
      Axes axes = superfluous(i);
      if (i == j || axes.empty() || dimension(i).isRagged() ||
          to.getDimensions()[j].isRagged() || missing(j) != axes)
        continue;
      go(ReshardStep::allToAll, axes, appended(removed(at, i, axes), j, axes),
         i, j);
    }
}

/// Shards of what is there, but for axes that shard something else still.
void Way::slice() {
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
    go(ReshardStep::slice, axes, appended(at, i, axes), i);
  }
}

void Way::gather() {
  for (unsigned i = 0; i < at.getDimensions().size(); ++i) {
    if (Axes axes = superfluous(i); !axes.empty())
      go(ReshardStep::allGather, axes, removed(at, i, axes), i);
  }
}

void Way::keepOnFirstRank() {
  if (at.getPartialAxes() == to.getPartialAxes())
    return;
  Axes axes;
  for (StringAttr axis : to.getPartialAxes())
    if (!llvm::is_contained(at.getPartialAxes(), axis))
      axes.push_back(axis);
  go(ReshardStep::firstRank, axes, to);
}

SmallVector<ReshardStep, 2> Way::run() {
  reduce();
  exchange();
  slice();
  gather();
  // What shards could only be cut of the whole.
  slice();
  keepOnFirstRank();
  assert(at == to && "every placement is reached from every other");
  return std::move(steps);
}

SmallVector<ReshardStep, 2> baton::sharding::stepsOf(PlacementAttr from,
                                                     PlacementAttr to) {
  return Way(from, to).run();
}
