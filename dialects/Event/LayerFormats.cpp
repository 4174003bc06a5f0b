//===- LayerFormats.cpp - layers of a parameter in different formats ------===//

#include "dialects/Event/LayerFormats.h"

#include "runtime/weight_formats.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;

static std::string_view view(StringRef text) {
  return {text.data(), text.size()};
}

ArrayAttr event::layerFormatsOf(ParameterOp parameter) {
  return parameter->getAttrOfType<ArrayAttr>(kLayerFormats);
}

LogicalResult event::verifyLayerFormats(ParameterOp parameter) {
  if (!parameter->hasAttr(kLayerFormats))
    return success();
  auto blocks = dyn_cast_if_present<BlocksAttr>(parameter.getFormAttr());
  if (!blocks || blocks.getVariant() != "mixed")
    return parameter.emitOpError() << "has formats of layers, and no blocks of "
                                      "several formats";
  ArrayAttr layers = layerFormatsOf(parameter);
  if (!layers || !llvm::all_of(layers, llvm::IsaPred<StringAttr>))
    return parameter.emitOpError() << "has formats of layers that are no texts";
  if (layers.size() != parameter.getLayers())
    return parameter.emitOpError()
           << "has formats of " << layers.size() << " layers, and "
           << parameter.getLayers() << " layers";
  for (auto formats : layers.getAsRange<StringAttr>())
    if (!blocks::is_part_of_list(view(formats), view(blocks.getFormats())))
      return parameter.emitOpError()
             << "has a layer of " << formats << ", of which not all are among "
             << blocks.getFormats();
  return success();
}

int64_t event::panelBytes(BlocksAttr form) {
  return blocks::lanes * (form.getInputs() + form.countOverhead());
}

std::optional<int64_t> event::countAllElements(ParameterOp parameter) {
  const std::optional<int64_t> layer = parameter.countElements();
  int64_t all = 0;
  if (!layer || __builtin_mul_overflow(
                    *layer, static_cast<int64_t>(parameter.getLayers()), &all))
    return std::nullopt;
  ArrayAttr layers = layerFormatsOf(parameter);
  if (!layers)
    return all;
  auto form = cast<BlocksAttr>(parameter.getFormAttr());
  const int64_t panels = *layer / panelBytes(form);
  all = 0;
  for (auto formats : layers.getAsRange<StringAttr>())
    all += panels * blocks::lanes *
           blocks::mixed_bytes_of_output(view(formats), form.getInputs());
  return all;
}
