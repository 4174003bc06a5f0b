//===- Shard.cpp - parameters of which a rank has a part ------------------===//

#include "dialects/Model/Model.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace baton::model;

Attribute ShardAttr::parse(AsmParser &parser, Type) {
  int64_t dimension = 0, extent = 0, granularity = 1;
  ArrayAttr axes;
  SmallVector<int64_t> units;
  if (parser.parseLess() || parser.parseInteger(dimension) ||
      parser.parseKeyword("of") || parser.parseInteger(extent) ||
      parser.parseKeyword("over") || parser.parseAttribute(axes))
    return {};
  if (succeeded(parser.parseOptionalKeyword("by")) &&
      (parser.parseInteger(granularity) || parser.parseKeyword("units") ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
         return parser.parseInteger(units.emplace_back());
       })))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), dimension, extent, axes, granularity, units);
}

void ShardAttr::print(AsmPrinter &printer) const {
  printer << '<' << getDimension() << " of " << getExtent() << " over "
          << getAxes();
  if (!getUnits().empty()) {
    printer << " by " << getGranularity() << " units [";
    llvm::interleaveComma(getUnits(), printer);
    printer << ']';
  }
  printer << '>';
}

int64_t ShardAttr::getPart(int64_t ranks) const {
  if (getUnits().empty())
    return getExtent() / ranks;
  int64_t most = *std::max_element(getUnits().begin(), getUnits().end());
  return std::min(getExtent(), most * getGranularity());
}

SmallVector<int64_t> ParameterOp::getWholeShape() {
  SmallVector<int64_t> shape(
      cast<StepTensorType>(getResult().getType()).getShape());
  // The first shard of a dimension is of all of it.
  if (ArrayAttr shards = getShardsAttr())
    for (auto shard : llvm::reverse(shards.getAsRange<ShardAttr>()))
      shape[shard.getDimension()] = shard.getExtent();
  return shape;
}

SmallVector<Attribute> ParameterOp::getShardAxes() {
  SmallVector<Attribute> axes;
  if (ArrayAttr shards = getShardsAttr())
    for (auto shard : shards.getAsRange<ShardAttr>())
      llvm::append_range(axes, shard.getAxes());
  return axes;
}
