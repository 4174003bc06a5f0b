//===- StoredTypes.cpp - parameters as a GGUF file stores them ------------===//

#include "models/StoredTypes.h"

#include "dialects/Model/ExpertGates.h"
#include "dialects/Model/LayerFormats.h"

#include <set>

using namespace mlir;
using namespace baton;
using namespace baton::model;

/// Of every layer the tensor that the loader will find; none where there is
/// none, which it reports.
static SmallVector<DataType>
storedTypes(ParameterOp parameter, const models::TypeOfTensor &typeOfTensor) {
  std::vector<std::string> sources;
  for (auto source : parameter.getSources().getAsRange<StringAttr>()) {
    sources.push_back(source.str());
    // Files have all experts of a layer as one tensor.
    if (size_t at = sources.back().find(kExpert); at != std::string::npos)
      sources.back().replace(at, sizeof(kExpert) - 1, "0");
  }
  int64_t layers = 1, first = 0, step = 1;
  if (auto stack = parameter->getParentOfType<StackOp>()) {
    layers = stack.getRepeat();
    first = stack.getFirstLayer();
    step = stack.getLayersPerIteration();
  }
  SmallVector<DataType> types;
  for (int64_t layer = 0; layer < layers; ++layer)
    for (const std::string &name :
         names_in_layer(sources, first + layer * step))
      if (std::optional<DataType> type = typeOfTensor(name)) {
        types.push_back(*type);
        break;
      }
  return types;
}

/// Whether whoever reads it has bodies for blocks.
static bool mayBeQuantised(ParameterOp parameter) {
  return llvm::all_of(parameter->getUses(), [&](OpOperand &use) {
    if (auto linear = dyn_cast<LinearOp>(use.getOwner()))
      return &linear.getWeightMutable() == &use;
    if (isa<HeadLinearOp>(use.getOwner()))
      return !parameter.getTransposed();
    return isa<EmbeddingOp, GroupedLinearOp, GroupedGatedLinearOp>(
        use.getOwner());
  });
}

static Type elementFor(const std::set<DataType> &types, MLIRContext *context) {
  Type f32 = Float32Type::get(context);
  if (types == std::set<DataType>{DataType::F16})
    return Float16Type::get(context);
  if (types == std::set<DataType>{DataType::BF16})
    return BFloat16Type::get(context);
  auto mayBeListed = [](DataType type) { return panel_format(type); };
  if (!llvm::any_of(types, is_quantised) || !llvm::all_of(types, mayBeListed))
    return f32;
  // In one order, so that equal lists are equal types.
  std::set<int> formats;
  for (DataType type : types)
    formats.insert(static_cast<int>(blocks::find_format(panel_format(type)) -
                                    blocks::formats));
  std::string list;
  for (int format : formats)
    list +=
        (list.empty() ? "" : "|") + std::string(blocks::formats[format].name);
  return QuantizedType::get(context, list);
}

static ArrayAttr formatsOf(ArrayRef<DataType> types, MLIRContext *context) {
  SmallVector<StringRef> formats;
  for (DataType type : types)
    formats.push_back(panel_format(type));
  return Builder(context).getStrArrayAttr(formats);
}

/// Gates and ups that are stored in several formats become products of their
/// own.
static void haveOneFormat(GroupedGatedLinearOp op) {
  auto stored = dyn_cast<QuantizedType>(typeOf(op.getGate()).getElementType());
  if (op.getGate().getType() == op.getUp().getType() &&
      !(stored && stored.isMixed()))
    return;
  IRRewriter rewriter(op.getContext());
  separateGates(rewriter, op);
}

void models::useStoredTypes(ModuleOp module, const TypeOfTensor &typeOfTensor) {
  module.walk([&](ParameterOp parameter) {
    auto type = cast<StepTensorType>(parameter.getType());
    const SmallVector<DataType> layers = storedTypes(parameter, typeOfTensor);
    const std::set<DataType> types(layers.begin(), layers.end());
    const bool isMatrix = type.getRank() == (parameter.isOfSeveral() ? 3 : 2);
    if (!isMatrix || types.empty())
      return;
    Type element = elementFor(types, module.getContext());
    if (isa<QuantizedType>(element) && !mayBeQuantised(parameter))
      element = Float32Type::get(module.getContext());
    parameter.getResult().setType(type.withElementType(element));
    auto stack = parameter->getParentOfType<StackOp>();
    auto quantised = dyn_cast<QuantizedType>(element);
    if (stack && quantised && quantised.isMixed() &&
        layers.size() == stack.getRepeat())
      parameter->setAttr(kLayerFormats, formatsOf(layers, module.getContext()));
  });
  SmallVector<GroupedGatedLinearOp> products;
  module.walk([&](GroupedGatedLinearOp op) { products.push_back(op); });
  for (GroupedGatedLinearOp op : products)
    haveOneFormat(op);
}
