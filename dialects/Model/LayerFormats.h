//===- LayerFormats.h - layers of a stack in different formats ------------===//

#ifndef BATON_DIALECTS_MODEL_LAYERFORMATS_H
#define BATON_DIALECTS_MODEL_LAYERFORMATS_H

#include "dialects/Model/Model.h"
#include "runtime/weight_formats.h"

namespace baton::model {

/// An attribute of parameters in stacks: for each layer, the format that it has
/// of those that its type lists.
constexpr char kLayerFormats[] = "model.layer_formats";

/// Those, or null where any layer may have any.
inline mlir::ArrayAttr layerFormatsOf(ParameterOp parameter) {
  return parameter->getAttrOfType<mlir::ArrayAttr>(kLayerFormats);
}

/// Whether some layers are not quantised.
inline bool isQuantizedInPart(QuantizedType type) {
  const llvm::StringRef formats = type.getFormats();
  return blocks::lists_plain_formats({formats.data(), formats.size()});
}

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_LAYERFORMATS_H
