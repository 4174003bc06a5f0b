//===- Tiler.cpp - what rules see while a program is tiled ----------------===//

#include "passes/tiling/Tiler.h"

#include "dialects/Model/LayerFormats.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringAttr firstName(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return named.getName();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringAttr name = firstName(part))
        return name;
  return {};
}

std::string tasks::nameOf(Operation *op) {
  if (StringAttr name = firstName(op->getLoc()))
    return name.str();
  return op->getName().stripDialect().str();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Parameters behind a weight operand: itself, or the parts of a concat.
static SmallVector<model::ParameterOp> partsOf(Value weight) {
  SmallVector<model::ParameterOp> parts;
  if (auto concat = weight.getDefiningOp<model::ConcatOp>())
    for (Value part : concat.getParts())
      parts.push_back(part.getDefiningOp<model::ParameterOp>());
  else if (auto parameter = weight.getDefiningOp<model::ParameterOp>())
    parts.push_back(parameter);
  return parts;
}

/// Parameters that name a layer differ from iteration to iteration.
int64_t Tiler::layersOf(ValueRange weights) const {
  model::StackOp op = stack;
  for (Value weight : weights)
    for (model::ParameterOp part : partsOf(weight))
      for (auto source : part.getSources().getAsRange<StringAttr>())
        if (source.getValue().contains("{layer"))
          return op.getRepeat();
  return 1;
}

event::ShardAttr tasks::describeShard(model::ShardAttr shard, int64_t more) {
  Builder builder(shard.getContext());
  IntegerAttr granularity;
  ArrayAttr units;
  if (!shard.getUnits().empty()) {
    granularity = builder.getI64IntegerAttr(shard.getGranularity());
    units = builder.getI64ArrayAttr(shard.getUnits());
  }
  return event::ShardAttr::get(shard.getContext(), shard.getDimension() + more,
                               shard.getExtent(), shard.getAxes(), granularity,
                               units);
}

ArrayAttr tasks::describeShards(model::ParameterOp parameter, int64_t more) {
  SmallVector<Attribute> shards;
  for (auto shard : parameter.getShardsAttr().getAsRange<model::ShardAttr>())
    shards.push_back(describeShard(shard, more));
  return ArrayAttr::get(parameter.getContext(), shards);
}

static ArrayAttr sourcesOfExpert(model::ParameterOp parameter,
                                 const std::string &expert) {
  Builder builder(parameter.getContext());
  SmallVector<Attribute> names;
  for (auto source : parameter.getSources().getAsRange<StringAttr>()) {
    std::string name = source.getValue().str();
    name.replace(name.find(model::kExpert), sizeof(model::kExpert) - 1, expert);
    names.push_back(builder.getStringAttr(name));
  }
  return builder.getArrayAttr(names);
}

namespace {
/// Which experts ranks have, if not all, and which part of each one's tensor.
struct ExpertShards {
  event::ShardAttr experts;
  ArrayAttr shards;

  explicit ExpertShards(model::ParameterOp parameter);
};
} // namespace

ExpertShards::ExpertShards(model::ParameterOp parameter) {
  if (!parameter.getShards())
    return;
  SmallVector<Attribute> ofTensor;
  for (auto shard : parameter.getShardsAttr().getAsRange<model::ShardAttr>())
    if (shard.getDimension() == 0)
      experts = describeShard(shard);
    else
      ofTensor.push_back(describeShard(shard, /*more=*/-1));
  if (!ofTensor.empty())
    shards = ArrayAttr::get(parameter.getContext(), ofTensor);
}

namespace {
/// Heads' parts of one matrix: rows of it in blocks, or, transposed, each
/// head's inputs.
struct HeadParts {
  int64_t own, stride, offset, outputs, inputs;
  DenseI64ArrayAttr blocks;
  ArrayAttr shards;

  explicit HeadParts(model::ParameterOp parameter);
  DenseI64ArrayAttr inputsOf(int64_t head) const {
    return DenseI64ArrayAttr::get(blocks.getContext(),
                                  {head * stride + offset, inputs});
  }
};
} // namespace

HeadParts::HeadParts(model::ParameterOp parameter) {
  ArrayRef<int64_t> shape = typeOf(parameter.getResult()).getShape();
  own = shape[0], outputs = shape[1], inputs = shape[2];
  stride = (*parameter.getHeads())[0], offset = (*parameter.getHeads())[1];
  blocks =
      DenseI64ArrayAttr::get(parameter.getContext(), {outputs, stride, offset});
  if (!parameter.getShards())
    return;
  // In rows of the whole matrix, which are its inputs where it is transposed.
  const bool transposed = parameter.getTransposed();
  SmallVector<Attribute> ofRows;
  for (auto shard : parameter.getShardsAttr().getAsRange<model::ShardAttr>())
    ofRows.push_back(event::ShardAttr::get(
        parameter.getContext(), transposed ? 1 : 0,
        shard.getExtent() * (transposed ? stride : outputs), shard.getAxes(),
        IntegerAttr(), ArrayAttr()));
  shards = ArrayAttr::get(parameter.getContext(), ofRows);
}

/// Of each layer the formats of all parts, where all say theirs.
static ArrayAttr formatsOfLayers(ValueRange weights, int64_t layers) {
  SmallVector<std::set<std::string>> found(layers);
  for (Value weight : weights)
    for (model::ParameterOp part : partsOf(weight)) {
      ArrayAttr formats = model::layerFormatsOf(part);
      if (!formats || int64_t(formats.size()) != layers)
        return {};
      for (auto [layer, format] :
           llvm::zip(found, formats.getAsRange<StringAttr>()))
        layer.insert(format.str());
    }
  SmallVector<std::string> lists;
  for (const std::set<std::string> &layer : found)
    lists.push_back(llvm::join(layer, "|"));
  SmallVector<StringRef> texts(lists.begin(), lists.end());
  return Builder(weights.front().getContext()).getStrArrayAttr(texts);
}

WeightSources Tiler::sourcesOf(ValueRange weights) const {
  Builder builder(plan.context());
  SmallVector<Attribute> parts;
  auto add = [&](model::ParameterOp part, ArrayAttr names,
                 ArrayRef<int64_t> shape, ArrayAttr shards,
                 event::ShardAttr experts, DenseI64ArrayAttr blocks,
                 DenseI64ArrayAttr inputs = {}) {
    parts.push_back(event::SourceAttr::get(
        plan.context(), names, shape, part.getTransposed(), blocks,
        part.getPlus().isZero() ? FloatAttr() : part.getPlusAttr(), shards,
        experts, inputs));
  };
  for (Value weight : weights)
    for (model::ParameterOp part : partsOf(weight)) {
      SmallVector<int64_t> shape = part.getStoredShape();
      // Files of a program that trains have all heads and experts, whoever has
      // them.
      const bool trains =
          part->getParentOfType<model::ProgramOp>().getTraining();
      if (part.getHeads()) {
        const HeadParts heads(part);
        ArrayAttr shards = trains ? ArrayAttr() : heads.shards;
        const int64_t count = trains ? part.getWholeShape()[0] : heads.own;
        if (!part.getTransposed())
          add(part, part.getSources(), shape, shards, {}, heads.blocks);
        else
          for (int64_t i = 0; i < count; ++i)
            add(part, part.getSources(), shape, shards, {}, {},
                heads.inputsOf(i));
        continue;
      }
      if (!part.isOfExperts()) {
        add(part, part.getSources(), shape,
            part.getShards() ? describeShards(part) : ArrayAttr(), {},
            part.getBlocksAttr());
        continue;
      }
      if (trains) {
        for (int64_t i = 0, e = shape.front(); i < e; ++i)
          add(part, sourcesOfExpert(part, std::to_string(i)),
              ArrayRef(shape).drop_front(), ArrayAttr(), {},
              part.getBlocksAttr());
        continue;
      }
      ExpertShards cut(part);
      for (int64_t i = 0, e = typeOf(part.getResult()).getDimension(0); i < e;
           ++i) {
        std::string expert = std::to_string(i);
        if (cut.experts)
          expert = "{expert+" + expert + "}";
        add(part, sourcesOfExpert(part, expert), ArrayRef(shape).drop_front(),
            cut.shards, cut.experts, part.getBlocksAttr());
      }
    }
  WeightSources sources{builder.getArrayAttr(parts), {}, {}, {}};
  if (model::StackOp op = stack) {
    sources.firstLayer = builder.getI64IntegerAttr(op.getFirstLayer());
    sources.layerStep = builder.getI64IntegerAttr(op.getLayersPerIteration());
    sources.layerFormats = formatsOfLayers(weights, op.getRepeat());
  }
  return sources;
}

DictionaryAttr Tiler::describe(ValueRange weights) const {
  Builder builder(plan.context());
  WeightSources sources = sourcesOf(weights);
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("parts", sources.parts)};
  if (sources.firstLayer) {
    entries.push_back(builder.getNamedAttr("first_layer", sources.firstLayer));
    entries.push_back(builder.getNamedAttr("layer_step", sources.layerStep));
  }
  if (sources.layerFormats)
    entries.push_back(
        builder.getNamedAttr("layer_formats", sources.layerFormats));
  auto cut = weights.front().getDefiningOp<model::ParameterOp>();
  if (cut && cut.isOfSeveral() && cut.getShards() &&
      cut->getParentOfType<model::ProgramOp>().getTraining())
    entries.push_back(builder.getNamedAttr("shards", describeShards(cut)));
  return builder.getDictionaryAttr(entries);
}

event::ParameterOp Tiler::make(StringRef name, ValueRange weights, Type element,
                               event::WeightForm form) {
  auto content = ArrayAttr::get(plan.context(),
                                {TypeAttr::get(element), describe(weights)});
  event::ParameterOp &parameter = made[{form.getAsOpaquePointer(), content}];
  if (!parameter)
    parameter =
        plan.parameter(plan.uniqueName(name), element, layersOf(weights), form,
                       sourcesOf(weights), weights.front().getLoc());
  return parameter;
}

/// As plans have it, which become F64 as a whole (DoublePrecision.h).
static Type storedAs(Type element) {
  return element.isF64() ? Float32Type::get(element.getContext()) : element;
}

event::ParameterOp Tiler::panels(StringRef name, ValueRange weights,
                                 bool alternating) {
  model::StepTensorType type = typeOf(weights.front());
  int64_t outputs = 0, inputs = type.getShape().back();
  for (Value weight : weights) {
    // Of experts one behind the other.
    int64_t own = 1;
    for (int64_t dimension : typeOf(weight).getShape().drop_back())
      own *= dimension;
    outputs += own;
  }
  if (auto stored = dyn_cast<model::QuantizedType>(type.getElementType()))
    return make(name, weights, IntegerType::get(plan.context(), 8),
                event::BlocksAttr::get(plan.context(), stored.getFormats(),
                                       outputs, inputs, alternating));
  return make(
      name, weights, storedAs(type.getElementType()),
      event::PanelsAttr::get(plan.context(), outputs, inputs, alternating));
}

event::ParameterOp Tiler::table(StringRef name, Value weight) {
  model::StepTensorType type = typeOf(weight);
  return make(name, weight, storedAs(type.getElementType()),
              event::TableAttr::get(plan.context(), type.getDimension(0),
                                    type.getDimension(1)));
}

event::ParameterOp Tiler::vector(StringRef name, Value weight) {
  // Of experts one behind the other.
  int64_t size = 1;
  for (int64_t dimension : typeOf(weight).getShape())
    size *= dimension;
  return make(name, weight, Float32Type::get(plan.context()),
              event::VectorAttr::get(plan.context(), size));
}

event::ParameterOp Tiler::constants(StringRef name, ArrayRef<float> values,
                                    Location location) {
  auto numbers = DenseF32ArrayAttr::get(plan.context(), values);
  return plan.parameter(plan.uniqueName(name), Float32Type::get(plan.context()),
                        1, event::ConstantAttr::get(plan.context(), numbers),
                        {}, location);
}

std::string tasks::checkTileSizes(ArrayRef<int64_t> sizes) {
  if (sizes.empty() || sizes.size() > 2)
    return "has " + std::to_string(sizes.size()) +
           " sizes, expected rows, rows and columns, or rows and positions";
  if (sizes[0] < 1 || sizes[0] > 4096)
    return "has " + std::to_string(sizes[0]) + " rows, expected 1 to 4096";
  if (sizes.size() == 2 &&
      (sizes[1] < 0 || sizes[1] % kPanel || sizes[1] > 65536))
    return "has " + std::to_string(sizes[1]) +
           " columns, expected a multiple of 16 up to 65536";
  return "";
}

std::string tasks::checkTileSizes(Operation *op, ArrayRef<int64_t> sizes) {
  if (sizes.size() == 2 && isa<model::AttentionOp>(op) &&
      (sizes[1] < 0 || sizes[1] % kAttentionBlock || sizes[1] > 65536))
    return "has " + std::to_string(sizes[1]) +
           " positions, expected 0 for all or a multiple of 64 up to 65536";
  if (sizes.size() == 2 && sizes[1] == 0 && !isa<model::AttentionOp>(op))
    return "has 0 columns, expected a multiple of 16 up to 65536";
  return checkTileSizes(sizes);
}

/// Entry `i` of an op's tile sizes.
static int64_t tileSize(Operation *op, unsigned i, int64_t otherwise) {
  auto sizes = op->getAttrOfType<DenseI64ArrayAttr>(kTileAttribute);
  return sizes && i < sizes.size() ? sizes[i] : otherwise;
}

int64_t Tiler::rowsOf(Operation *op, int64_t otherwise) const {
  return tileSize(op, 0, otherwise);
}

int64_t Tiler::columnsOf(Operation *op, int64_t otherwise) const {
  return tileSize(op, 1, otherwise);
}

View Tiler::bufferFor(Value result, StringRef name) {
  View view = destinations.lookup(result);
  if (!view.buffer)
    view = plan.transient(name, typeOf(result), result.getLoc());
  views[result] = view;
  return view;
}
