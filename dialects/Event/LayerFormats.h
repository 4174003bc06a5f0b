//===- LayerFormats.h - layers of a parameter in different formats --------===//
//
// Each layer of a parameter is found by a pointer of its own, so that layers
// may take different room. Within one the panels are equally long, as long as
// the longest of its own formats; offsets count them as long as the longest of
// all.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_EVENT_LAYERFORMATS_H
#define BATON_DIALECTS_EVENT_LAYERFORMATS_H

#include "dialects/Event/Event.h"

#include <optional>

namespace baton::event {

/// An attribute of parameters: for each layer, a list of those of its form's
/// formats that its panels have.
constexpr char kLayerFormats[] = "event.layer_formats";

/// Those, or null where any layer may have any.
mlir::ArrayAttr layerFormatsOf(ParameterOp parameter);

mlir::LogicalResult verifyLayerFormats(ParameterOp parameter);

/// Bytes of a panel, as offsets count them.
int64_t panelBytes(BlocksAttr form);

/// Elements of all layers, padding included, as far as its form says.
std::optional<int64_t> countAllElements(ParameterOp parameter);

} // namespace baton::event

#endif // BATON_DIALECTS_EVENT_LAYERFORMATS_H
