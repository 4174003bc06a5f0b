//===- Placement.cpp - placements of values -------------------------------===//

#include "dialects/Dist/Placement.h"

#include <numeric>

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;

MeshOp baton::dist::findMesh(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

PlacementAttr baton::dist::replicated(MLIRContext *context, int64_t rank) {
  SmallVector<DimensionAttr> dimensions(rank,
                                        DimensionAttr::getShard(context, {}));
  return PlacementAttr::get(context, dimensions, Reduction::sum, {});
}

PlacementAttr baton::dist::placementOf(Value value) {
  Operation *op = value.getDefiningOp();
  unsigned index;
  ArrayAttr list;
  if (op) {
    // Moves say it themselves.
    if (auto to = op->getAttrOfType<PlacementAttr>("to"))
      return to;
    index = cast<OpResult>(value).getResultNumber();
    list = op->getAttrOfType<ArrayAttr>(kPlacements);
  } else {
    auto argument = cast<BlockArgument>(value);
    index = argument.getArgNumber();
    Operation *parent = argument.getOwner()->getParentOp();
    list = parent->getAttrOfType<ArrayAttr>(
        isa<ProgramOp>(parent) ? kArguments : kPlacements);
  }
  // A list that is too short, or of something else, has an error of its own.
  if (list && index < list.size())
    if (auto placement = dyn_cast<PlacementAttr>(list[index]))
      return placement;
  return replicated(value.getContext(),
                    cast<StepTensorType>(value.getType()).getRank());
}

DimensionAttr baton::dist::withAxes(DimensionAttr dimension,
                                    ArrayRef<StringAttr> axes) {
  SmallVector<StringAttr> all(dimension.getAxes());
  all.append(axes.begin(), axes.end());
  return DimensionAttr::get(dimension.getContext(), all,
                            dimension.getGranularity(), dimension.getUnits());
}

std::string baton::dist::countBytes(StepTensorType type,
                                    PlacementAttr placement, MeshOp mesh) {
  std::string text =
      std::to_string(type.getElementType().getIntOrFloatBitWidth() / 8);
  for (auto [size, dimension] :
       llvm::zip(type.getShape(), placement.getDimensions())) {
    int64_t parts = mesh.countRanks(dimension.getAxes());
    text += " * ";
    if (dimension.isRagged())
      text += std::to_string(
          std::min(size, dimension.getGranularity() *
                             *llvm::max_element(dimension.getUnits())));
    else if (isSymbol(size))
      text +=
          dimensionName(size) + (parts == 1 ? "" : "/" + std::to_string(parts));
    else
      text += std::to_string(size / parts);
  }
  return text;
}

/// Blocks of the granularity, dealt out to the ranks.
static LogicalResult verifyRagged(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t size, unsigned index,
                                  DimensionAttr dimension, int64_t parts) {
  ArrayRef<int64_t> units = dimension.getUnits();
  if (isSymbol(size))
    return emitError() << "dimension " << index << " is ragged, but no number";
  if (int64_t(units.size()) != parts)
    return emitError() << "dimension " << index << " has " << units.size()
                       << " units for " << parts << " ranks";
  int64_t blocks = std::accumulate(units.begin(), units.end(), int64_t(0));
  int64_t needed = llvm::divideCeil(size, dimension.getGranularity());
  if (blocks != needed)
    return emitError() << "dimension " << index << " has " << blocks
                       << " blocks of " << dimension.getGranularity()
                       << ", but " << size << " indices make " << needed;
  return success();
}

LogicalResult
baton::dist::verifyPlacement(function_ref<InFlightDiagnostic()> emitError,
                             Type type, PlacementAttr placement, MeshOp mesh) {
  auto tensor = dyn_cast<StepTensorType>(type);
  if (!tensor)
    return emitError() << "a placement is one of a tensor, found " << type;
  ArrayRef<DimensionAttr> dimensions = placement.getDimensions();
  if (int64_t(dimensions.size()) != tensor.getRank())
    return emitError() << "a placement of " << dimensions.size()
                       << " dimensions for a tensor of " << tensor.getRank();
  SmallVector<StringAttr> axes(placement.getPartialAxes());
  for (DimensionAttr dimension : dimensions)
    llvm::append_range(axes, dimension.getAxes());
  if (axes.empty())
    return success();
  if (!mesh)
    return emitError() << "a placement needs a mesh, and the module has none";
  for (StringAttr axis : axes)
    if (!mesh.getSize(axis))
      return emitError() << "the mesh has no axis " << axis;
  for (auto [index, dimension] : llvm::enumerate(dimensions)) {
    int64_t size = tensor.getShape()[index];
    int64_t parts = mesh.countRanks(dimension.getAxes());
    if (dimension.isRagged()) {
      if (failed(verifyRagged(emitError, size, index, dimension, parts)))
        return failure();
    } else if (!isSymbol(size) && size % parts) {
      return emitError() << "dimension " << index << " of " << size
                         << " is not divisible by " << parts << ", the size of "
                         << dimension;
    }
    if (size != kRows)
      continue;
    bool other = false;
    for (StringAttr axis : dimension.getAxes()) {
      if (mesh.isBatch(axis) && other)
        return emitError() << "rows have batch axis " << axis
                           << " behind another axis";
      other |= !mesh.isBatch(axis);
    }
  }
  return success();
}
