//===- States.cpp - where values and factors lie, and since when ----------===//

#include "passes/sharding/States.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

bool Sharding::has(StringAttr axis) const {
  return llvm::any_of(axes, [&](const Use &use) { return use.axis == axis; });
}

DimensionAttr Sharding::attribute(MLIRContext *context) const {
  SmallVector<StringAttr> names;
  for (const Use &use : axes)
    names.push_back(use.axis);
  return DimensionAttr::get(context, names, granularity, units);
}

static int64_t countParts(ArrayRef<Sharding::Use> axes, MeshOp mesh) {
  int64_t parts = 1;
  for (const Sharding::Use &use : axes)
    parts *= mesh.getSize(use.axis);
  return parts;
}

bool baton::sharding::divides(int64_t size, ArrayRef<Sharding::Use> axes,
                              int64_t more, MeshOp mesh) {
  return size % (countParts(axes, mesh) * more) == 0;
}

/// Whether what is behind the factor may be sharded.
static bool isFull(const Factor &factor, const Sharding &sharding,
                   MeshOp mesh) {
  return factor.size && countParts(sharding.axes, mesh) == factor.size;
}

SmallVector<Sharding, 2> baton::sharding::split(const Sharding &dimension,
                                                const FactorList &list,
                                                const Rule &rule, MeshOp mesh) {
  SmallVector<Sharding, 2> parts(list.size());
  if (list.size() == 1) {
    parts.front() = dimension;
    return parts;
  }
  if (rule.isRows(list)) {
    for (const Sharding::Use &use : dimension.axes)
      parts[mesh.isBatch(use.axis) ? 0 : 1].axes.push_back(use);
    return parts;
  }
  // Uneven parts end anywhere within outer factors.
  if (dimension.granularity)
    return parts;
  unsigned at = 0;
  for (const Sharding::Use &use : dimension.axes) {
    while (at < list.size() && isFull(rule.factors[list[at]], parts[at], mesh))
      ++at;
    if (at == list.size() ||
        !divides(rule.factors[list[at]].size, parts[at].axes,
                 mesh.getSize(use.axis), mesh))
      break;
    parts[at].axes.push_back(use);
  }
  return parts;
}

Sharding baton::sharding::combine(const FactorList &list,
                                  ArrayRef<Sharding> factors, const Rule &rule,
                                  MeshOp mesh) {
  if (list.size() == 1)
    return factors[list.front()];
  Sharding dimension;
  for (unsigned index : list) {
    llvm::append_range(dimension.axes, factors[index].axes);
    if (!rule.isRows(list) &&
        !isFull(rule.factors[index], factors[index], mesh))
      break;
  }
  return dimension;
}

PlacementAttr baton::sharding::placementOf(const FactorLists &tensor,
                                           ArrayRef<Sharding> factors,
                                           const Rule &rule, MeshOp mesh) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimensionAttr> dimensions;
  for (const FactorList &list : tensor)
    dimensions.push_back(combine(list, factors, rule, mesh).attribute(context));
  return PlacementAttr::get(context, dimensions, Reduction::sum, {});
}

PlacementAttr baton::sharding::computedPlacement(const FactorLists &result,
                                                 ArrayRef<Sharding> factors,
                                                 const Rule &rule,
                                                 MeshOp mesh) {
  SmallVector<StringAttr> partial;
  Reduction reduction = Reduction::sum;
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    bool has = llvm::any_of(result, [i = unsigned(i)](const FactorList &list) {
      return llvm::is_contained(list, i);
    });
    if (has ||
        (factor.kind != FactorKind::sum && factor.kind != FactorKind::maximum))
      continue;
    if (factor.kind == FactorKind::maximum && !factors[i].axes.empty())
      reduction = Reduction::max;
    for (const Sharding::Use &use : factors[i].axes)
      partial.push_back(use.axis);
  }
  // In the mesh's order, whatever factors they come from.
  SmallVector<StringAttr> sorted;
  for (auto axis : mesh.getNames().getAsRange<StringAttr>())
    if (llvm::is_contained(partial, axis))
      sorted.push_back(axis);
  return placementOf(result, factors, rule, mesh)
      .withPartial(reduction, sorted);
}

Shardings baton::sharding::shardingsOf(PlacementAttr placement,
                                       const Origin *origin) {
  Shardings shardings;
  for (DimensionAttr dimension : placement.getDimensions()) {
    Sharding &sharding = shardings.emplace_back();
    for (StringAttr axis : dimension.getAxes())
      sharding.axes.push_back({axis, origin});
    sharding.granularity = dimension.getGranularity();
    sharding.units.assign(dimension.getUnits().begin(),
                          dimension.getUnits().end());
  }
  return shardings;
}

std::string baton::sharding::nameOf(Value value) {
  auto quoted = [](StringRef name) { return "'" + name.str() + "'"; };
  Operation *op = value.getDefiningOp();
  if (auto parameter = dyn_cast_or_null<ParameterOp>(op))
    return quoted(cast<StringAttr>(parameter.getSources()[0]).getValue());
  if (auto saved = dyn_cast_or_null<SavedOp>(op))
    return quoted(saved.getName());
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    std::string number = std::to_string(argument.getArgNumber());
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto program = dyn_cast<ProgramOp>(parent))
      return "argument " + number + " of " + quoted(program.getSymName());
    op = parent;
  }
  if (auto location = dyn_cast<NameLoc>(op->getLoc()))
    return quoted(location.getName());
  return "the result of " + quoted(op->getName().getStringRef());
}
