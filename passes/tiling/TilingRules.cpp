//===- TilingRules.cpp - how each model op becomes a task grid -----------===//

#include "codegen/bodies/TaskCalls.h"
#include "passes/collectives/RankPlaces.h"
#include "passes/tiling/DeferredNormRules.h"
#include "passes/tiling/HyperRules.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ScopedPrinter.h"

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

StringRef tasks::elementName(Type type) {
  return type.isBF16()  ? "bf16"
         : type.isF16() ? "f16"
         : type.isF64() ? "f64"
                        : "f32";
}

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

WeightSources Tiler::sourcesOf(ValueRange weights) const {
  Builder builder(plan.context());
  SmallVector<Attribute> parts;
  for (Value weight : weights)
    for (model::ParameterOp part : partsOf(weight))
      parts.push_back(event::SourceAttr::get(
          plan.context(), part.getSources(), part.getStoredShape(),
          part.getTransposed(), part.getBlocksAttr(),
          part.getPlus().isZero() ? FloatAttr() : part.getPlusAttr(),
          part.getShards() ? describeShards(part) : ArrayAttr()));
  WeightSources sources{builder.getArrayAttr(parts), {}, {}};
  if (model::StackOp op = stack) {
    sources.firstLayer = builder.getI64IntegerAttr(op.getFirstLayer());
    sources.layerStep = builder.getI64IntegerAttr(op.getLayersPerIteration());
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

event::ParameterOp Tiler::panels(StringRef name, ValueRange weights,
                                 bool alternating) {
  model::StepTensorType type = typeOf(weights.front());
  int64_t outputs = 0;
  for (Value weight : weights)
    outputs += typeOf(weight).getDimension(0);
  return make(name, weights, type.getElementType(),
              event::PanelsAttr::get(plan.context(), outputs,
                                     type.getDimension(1), alternating));
}

event::ParameterOp Tiler::table(StringRef name, Value weight) {
  model::StepTensorType type = typeOf(weight);
  return make(name, weight, type.getElementType(),
              event::TableAttr::get(plan.context(), type.getDimension(0),
                                    type.getDimension(1)));
}

event::ParameterOp Tiler::vector(StringRef name, Value weight) {
  return make(
      name, weight, Float32Type::get(plan.context()),
      event::VectorAttr::get(plan.context(), typeOf(weight).getDimension(0)));
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

/// The library's function for a body that reads a parameter.
static std::string bodyFor(StringRef body, event::ParameterOp parameter) {
  return bodies::functionName(body, llvm::to_string(parameter.getElement()));
}

//===----------------------------------------------------------------------===//
// Embeddings and tables
//===----------------------------------------------------------------------===//

/// Whether a linear multiplies by the table, which then is in memory as panels.
static bool isProjectionToo(Value table) {
  return llvm::any_of(table.getUses(), [](OpOperand &use) {
    auto linear = dyn_cast<model::LinearOp>(use.getOwner());
    return linear && &linear.getWeightMutable() == &use;
  });
}

static LogicalResult tile(model::EmbeddingOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name), tokens = tiler.viewOf(op.getTokens());
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  bool isShared = isProjectionToo(op.getTable());
  event::ParameterOp table =
      isShared ? tiler.panels(name + ".weight", op.getTable(), false)
               : tiler.table(name + ".table", op.getTable());
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box in = phase.whole(tokens), box = phase.whole(out);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  phase.reads(tokens, in);
  phase.writes(out, box);
  model::StepTensorType type = typeOf(op.getTable());
  model::ShardAttr shard = RankPlaces::tokensOf(op.getTable());
  SmallVector<Attribute> operands = {
      phase.address(out, box),
      phase.stride(out, 0),
      phase.address(tokens, in),
      phase.weight(table, phase.constant(0)),
      tiles.count(phase),
      phase.integer(type.getDimension(1)),
      phase.integer(shard ? shard.getExtent() : type.getDimension(0)),
      phase.real(op.getMultiplier())};
  std::string callee = isShared ? "embedding_panels" : "embedding";
  if (shard) {
    callee += "_part";
    operands.push_back(tiler.places->read(phase, shard));
  }
  phase.call(bodyFor(callee, table), operands);
  return success();
}

static LogicalResult tile(model::PositionEmbeddingOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  event::ParameterOp table = tiler.table(name + ".table", op.getTable());
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box box = phase.whole(out);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  phase.writes(out, box);
  phase.call(bodyFor("position_embedding", table),
             {phase.address(out, box), phase.stride(out, 0),
              phase.weight(table, phase.constant(0)),
              phase.count(phase.past() + phase.coordinate(0) * tiles.size),
              tiles.count(phase), phase.integer(out.type.getDimension(1))});
  return success();
}

static LogicalResult tile(model::RopeTableOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  event::ParameterOp frequencies =
      tiler.constants(name + ".frequencies", op.getFrequencies(), op.getLoc());
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box box = phase.whole(out);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  phase.writes(out, box);
  phase.call("rope_table",
             {phase.address(out, box), phase.stride(out, 0),
              phase.weight(frequencies, phase.constant(0)),
              phase.integer(op.getFrequencies().size()),
              phase.count(phase.past() + phase.coordinate(0) * tiles.size),
              tiles.count(phase), phase.real(op.getScale())});
  return success();
}

//===----------------------------------------------------------------------===//
// Norms and linears
//===----------------------------------------------------------------------===//

/// Adds a call that normalises a tile of rows of x, or of one head of them.
static void callNorm(PhaseBuilder &phase, model::Norm norm, Attribute out,
                     Attribute outStride, const View &x, const Box &tile,
                     Attribute rows, event::ParameterOp weight,
                     event::ParameterOp bias, const APFloat &epsilon,
                     bool invariant) {
  SmallVector<Attribute> operands = {out, outStride, phase.address(x, tile),
                                     phase.stride(x, 0),
                                     phase.weight(weight, phase.constant(0))};
  if (norm == model::Norm::layer)
    operands.push_back(bias ? phase.weight(bias, phase.constant(0))
                            : phase.null());
  operands.append({rows,
                   phase.integer(x.type.getDimension(x.type.getRank() - 1)),
                   phase.real(epsilon)});
  phase.call(norm == model::Norm::layer ? "layer_norm" : "rms_norm", operands,
             invariant);
}

static LogicalResult tileNorm(Operation *op, model::Norm norm, Value input,
                              Value weight, Value bias, const APFloat &epsilon,
                              Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View x = tiler.viewOf(input);
  if (failed(expectContiguous(op, "x", x)) ||
      failed(expectStride(op, "x", x, 0)))
    return failure();
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  event::ParameterOp weights = tiler.vector(name + ".weight", weight);
  event::ParameterOp biases =
      bias ? tiler.vector(name + ".bias", bias) : event::ParameterOp();
  SmallVector<AffineExpr> grid = {tiles.extent};
  SmallVector<int64_t> capacity = {tiles.capacity};
  if (x.type.getRank() == 3) {
    grid.push_back(tiler.plan.constant(x.type.getDimension(1)));
    capacity.push_back(x.type.getDimension(1));
  }
  PhaseBuilder phase = tiler.plan.phase(name, op->getLoc(), grid, capacity);
  Box box = phase.whole(out);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  if (x.type.getRank() == 3)
    narrow(box, 1, phase.coordinate(1), 1);
  phase.reads(x, box);
  phase.writes(out, box);
  callNorm(phase, norm, phase.address(out, box), phase.stride(out, 0), x, box,
           tiles.count(phase), weights, biases, epsilon, /*invariant=*/false);
  return success();
}

namespace {
/// The input of a linear's tile: x itself, or x normalised into scratch.
struct LinearInput {
  Attribute pointer, stride;
};
} // namespace

/// Reads a tile of rows of x, through the linear's norm if it has one. The norm
/// is computed again by every worker: that costs less than handing it on.
template <typename OpT>
static LinearInput readLinearInput(OpT op, PhaseBuilder &phase, const View &x,
                                   const RowTiles &tiles,
                                   const std::string &name, Tiler &tiler) {
  Box in = phase.whole(x);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  phase.reads(x, in);
  if (op.getNorm() == model::Norm::identity)
    return {phase.address(x, in), phase.stride(x, 0)};
  int64_t stride = ceilDiv(x.type.getDimension(1), kPanel) * kPanel;
  phase.needsScratch(tiles.size * stride * sizeof(float));
  Value bias = op.getNormBias();
  callNorm(phase, op.getNorm(), phase.scratch(0), phase.integer(stride), x, in,
           tiles.count(phase),
           tiler.vector(name + ".norm_weight", op.getNormWeight()),
           bias ? tiler.vector(name + ".norm_bias", bias)
                : event::ParameterOp(),
           op.getEpsilon(), /*invariant=*/true);
  return {phase.scratch(0), phase.integer(stride)};
}

static LogicalResult tile(model::LinearOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectContiguous(op, "x", x)) ||
      failed(expectStride(op, "x", x, 0)))
    return failure();
  View residual;
  if (op.getResidual()) {
    residual = tiler.viewOf(op.getResidual());
    if (failed(expectContiguous(op, "the residual", residual)) ||
        failed(expectStride(op, "the residual", residual, 0)))
      return failure();
  }
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  const TileSizes &sizes = tiler.plan.tiles();
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, sizes.linearRows));
  int64_t k = x.type.getDimension(1), n = out.type.getDimension(1);
  int64_t width = tiler.columnsOf(op, sizes.linearColumns);
  event::ParameterOp panels =
      tiler.panels(name + ".weight", op.getWeight(), /*alternating=*/false);

  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(ceilDiv(n, width))},
      {tiles.capacity, ceilDiv(n, width)});
  LinearInput input = readLinearInput(op, phase, x, tiles, name, tiler);
  AffineExpr column = phase.coordinate(1) * width;
  Box box = phase.whole(out);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  narrow(box, 1, phase.coordinate(1), width);
  if (residual.buffer)
    phase.reads(residual, box);
  phase.writes(out, box);
  Attribute bias = phase.null();
  if (op.getBias())
    bias = phase.weight(tiler.vector(name + ".bias", op.getBias()), column);
  phase.call(bodyFor("linear", panels),
             {phase.address(out, box), phase.stride(out, 0), input.pointer,
              input.stride,
              phase.weight(panels, panels.getFormAttr().getOffset(column)),
              bias,
              residual.buffer ? phase.address(residual, box) : phase.null(),
              residual.buffer ? phase.stride(residual, 0) : phase.integer(0),
              tiles.count(phase), phase.integer(k),
              phase.count({phase.constant(width), phase.constant(n) - column}),
              phase.integer32(static_cast<int32_t>(op.getActivation()))});
  return success();
}

static LogicalResult tile(model::GatedLinearOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectContiguous(op, "x", x)) ||
      failed(expectStride(op, "x", x, 0)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  const TileSizes &sizes = tiler.plan.tiles();
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, sizes.linearRows));
  int64_t k = x.type.getDimension(1), n = out.type.getDimension(1);
  int64_t width =
      tiler.columnsOf(op, bodies::gatedColumns(sizes.linearColumns));
  event::ParameterOp panels = tiler.panels(
      name + ".weight", {op.getGate(), op.getUp()}, /*alternating=*/true);

  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(ceilDiv(n, width))},
      {tiles.capacity, ceilDiv(n, width)});
  LinearInput input = readLinearInput(op, phase, x, tiles, name, tiler);
  AffineExpr column = phase.coordinate(1) * width;
  Box box = phase.whole(out);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  narrow(box, 1, phase.coordinate(1), width);
  phase.writes(out, box);
  Attribute gateBias = phase.null(), upBias = phase.null();
  if (op.getGateBias()) {
    gateBias = phase.weight(tiler.vector(name + ".gate_bias", op.getGateBias()),
                            column);
    upBias =
        phase.weight(tiler.vector(name + ".up_bias", op.getUpBias()), column);
  }
  phase.call(bodyFor("gated_linear", panels),
             {phase.address(out, box), phase.stride(out, 0), input.pointer,
              input.stride,
              phase.weight(panels, panels.getFormAttr().getOffset(column)),
              gateBias, upBias, tiles.count(phase), phase.integer(k),
              phase.count({phase.constant(width), phase.constant(n) - column}),
              phase.integer32(static_cast<int32_t>(op.getActivation()))});
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static LogicalResult tile(model::RopeOp op, Tiler &tiler) {
  return tileRotation(op, op.getX(), op.getTable(), "rope", tiler);
}

/// Whether a state is read as fused attention's keys and nothing else, or as
/// its values: its body wants both in panels of positions.
static bool isReadOnlyAs(model::KvAppendOp op,
                         OpOperand &(model::AttentionOp::*operand)()) {
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto attention = dyn_cast<model::AttentionOp>(use.getOwner());
    return attention && &(attention.*operand)() == &use;
  });
}

static LogicalResult tile(model::KvAppendOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectContiguous(op, "x", x)) ||
      failed(expectStride(op, "x", x, 0)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  model::StackOp stack = tiler.stack;
  bool isKeys = isReadOnlyAs(op, &model::AttentionOp::getKMutable);
  bool isValues = !isKeys && isReadOnlyAs(op, &model::AttentionOp::getVMutable);
  View state = tiler.plan.state(
      tiler.plan.uniqueName(op.getState()), typeOf(op.getResult()),
      stack ? static_cast<int64_t>(stack.getRepeat()) : 1,
      isKeys || isValues ? kPanel : 1, isValues ? kPanel : 1, op.getLoc());
  tiler.views[op.getResult()] = state;
  RowTiles tiles(tiler, x.type, tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  int64_t heads = x.type.getDimension(1);
  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(heads)},
      {tiles.capacity, heads});
  Box in = phase.whole(x);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  narrow(in, 1, phase.coordinate(1), 1);
  Box out = in;
  out.low[0] = in.low[0] + phase.past();
  out.high[0] = in.high[0] + phase.past();
  phase.reads(x, in);
  phase.writes(state, out);
  if (isKeys || isValues) {
    // From the panel with the first row on.
    AffineExpr first = out.low[0];
    Box panels = out;
    panels.low[0] = first.floorDiv(kPanel) * kPanel;
    phase.call(isKeys ? "append_keys" : "append_values",
               {phase.address(state, panels), phase.address(x, in),
                phase.stride(x, 0), phase.count(first % kPanel),
                tiles.count(phase), phase.integer(x.type.getDimension(2))});
    return success();
  }
  phase.call("copy",
             {phase.address(state, out), phase.stride(state, 0),
              phase.address(x, in), phase.stride(x, 0), tiles.count(phase),
              phase.integer(x.type.getDimension(2))});
  return success();
}

namespace {
/// What attention is computed of, and into.
struct AttentionViews {
  View q, k, v, gate, out;
  int64_t heads, groups, width, valueWidth;

  /// Query heads of a key/value head.
  int64_t group() const { return heads / groups; }
};

/// A gate's operands.
struct AttentionGate {
  Attribute pointer, stride, width;
};
} // namespace

/// States that a task reads queries of its row tile and key/value head, and of
/// that head's states the positions [begin, end), of keys in panels up to the
/// end of one. Returns what bodies take of them, from q to the window.
static SmallVector<Attribute> readScored(model::AttentionOp op,
                                         PhaseBuilder &phase,
                                         const AttentionViews &views,
                                         const RowTiles &tiles,
                                         AffineExpr begin, AffineExpr end) {
  event::BufferOp keyBuffer = views.k.buffer, valueBuffer = views.v.buffer;
  int64_t panel = keyBuffer.getInterleave();
  bool valuePanels = valueBuffer.getInterleave() > 1;
  Box queries = phase.whole(views.q);
  narrow(queries, 0, phase.coordinate(0), tiles.size);
  narrow(queries, 1, phase.coordinate(1), views.group());
  Box keys = phase.whole(views.k), values = phase.whole(views.v);
  for (Box *box : {&keys, &values})
    narrow(*box, 1, phase.coordinate(1), 1);
  // Bodies count positions from the first.
  Attribute keyPointer = phase.address(views.k, keys),
            valuePointer = phase.address(views.v, values);
  for (Box *box : {&keys, &values}) {
    box->low[0] = begin;
    box->high[0] = end;
  }
  // Panels are read whole. Whoever writes into the last one comes before.
  int64_t beyond = end.getLargestKnownDivisor() % panel == 0 ? 0 : panel - 1;
  keys.high[0] = keys.high[0] + beyond;
  phase.reads(views.q, queries);
  phase.reads(views.k, keys, {.beyond = beyond});
  phase.reads(views.v, values);
  return {phase.address(views.q, queries),
          phase.stride(views.q, 0),
          keyPointer,
          panel == 1 ? phase.stride(views.k, 0) : phase.integer(0),
          valuePointer,
          valuePanels ? phase.integer(0) : phase.stride(views.v, 0),
          tiles.count(phase),
          phase.count(phase.past() + phase.coordinate(0) * tiles.size),
          phase.integer(views.group()),
          phase.integer(views.width),
          phase.integer(views.valueWidth),
          phase.real(op.getScale()),
          phase.real(op.getSoftcap()),
          phase.integer(op.getWindow())};
}

/// States that a task reads the gates of its row tile and `heads` query heads.
static AttentionGate readGate(PhaseBuilder &phase, const AttentionViews &views,
                              const RowTiles &tiles, int64_t heads) {
  const View &gate = views.gate;
  if (!gate.buffer)
    return {phase.null(), phase.integer(0), phase.integer(0)};
  Box gates = phase.whole(gate);
  narrow(gates, 0, phase.coordinate(0), tiles.size);
  narrow(gates, 1, phase.coordinate(1), heads);
  phase.reads(gate, gates);
  return {phase.address(gate, gates), phase.stride(gate, 0),
          phase.integer(gate.type.getRank() == 3 ? views.valueWidth : 1)};
}

/// One task for a row tile and a key/value head.
static void tileWhole(model::AttentionOp op, const std::string &name,
                      const AttentionViews &views, const RowTiles &tiles,
                      Tiler &tiler) {
  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(views.groups)},
      {tiles.capacity, views.groups});
  // A tile sees positions up to its last row's own.
  SmallVector<Attribute> scored =
      readScored(op, phase, views, tiles, phase.constant(0),
                 phase.past() + phase.coordinate(0) * tiles.size + tiles.size);
  AttentionGate gate = readGate(phase, views, tiles, views.group());
  Box result = phase.whole(views.out);
  narrow(result, 0, phase.coordinate(0), tiles.size);
  narrow(result, 1, phase.coordinate(1), views.group());
  phase.writes(views.out, result);
  phase.needsScratch(attentionScratch(tiles.size, views.group(), views.width,
                                      views.valueWidth));
  SmallVector<Attribute> operands = {phase.address(views.out, result),
                                     phase.stride(views.out, 0)};
  operands.append(scored);
  operands.append({gate.pointer, gate.stride, gate.width, phase.scratch(0)});
  phase.call("attention", operands);
}

/// A task for `split` positions, too, which keeps what each block of them
/// makes; and one for each query head that merges its blocks.
static void tileSplit(model::AttentionOp op, const std::string &name,
                      const AttentionViews &views, const RowTiles &tiles,
                      int64_t split, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  std::string partialName = plan.uniqueName(name + ".partial");
  // Elements, maximum and sum (a test holds this against the library's header).
  View partials =
      plan.blocks(partialName, views.heads, views.valueWidth + 2, op.getLoc());
  AffineExpr parts = plan.extent(model::kKv).ceilDiv(split);
  int64_t blocks = split / kAttentionBlock;
  {
    PhaseBuilder phase = plan.phase(
        partialName, op.getLoc(),
        {tiles.extent, plan.constant(views.groups), parts},
        {tiles.capacity, views.groups, ceilDiv(plan.bound(model::kKv), split)});
    AffineExpr first = phase.coordinate(2) * split;
    SmallVector<Attribute> scored =
        readScored(op, phase, views, tiles, first, first + split);
    Box box = phase.whole(partials);
    narrow(box, 0, phase.coordinate(0), tiles.size);
    narrow(box, 1, phase.coordinate(1), views.group());
    narrow(box, 2, phase.coordinate(2), blocks);
    // Blocks that no row of the tile sees are not computed.
    phase.writes(partials, box, {.may = true});
    phase.needsScratch(attentionScratch(tiles.size, views.group(), views.width,
                                        views.valueWidth));
    SmallVector<Attribute> operands = {phase.address(partials, box),
                                       phase.stride(partials, 0)};
    operands.append(scored);
    operands.append({phase.count(first), phase.integer(split),
                     phase.stride(partials, 1), phase.scratch(0)});
    phase.call("attention_partial", operands);
  }
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent, plan.constant(views.heads)},
                 {tiles.capacity, views.heads});
  Box box = phase.whole(partials), result = phase.whole(views.out);
  for (Box *tile : {&box, &result}) {
    narrow(*tile, 0, phase.coordinate(0), tiles.size);
    narrow(*tile, 1, phase.coordinate(1), 1);
  }
  // All parts, in the words of their grid.
  box.high[2] = parts * blocks;
  phase.reads(partials, box, {.beyond = blocks - 1, .may = true});
  AttentionGate gate = readGate(phase, views, tiles, 1);
  phase.writes(views.out, result);
  phase.call("attention_merge",
             {phase.address(views.out, result), phase.stride(views.out, 0),
              phase.address(partials, box), phase.stride(partials, 0),
              tiles.count(phase),
              phase.count(phase.past() + phase.coordinate(0) * tiles.size),
              phase.integer(views.valueWidth), phase.integer(op.getWindow()),
              gate.pointer, gate.stride, gate.width});
}

static LogicalResult tile(model::AttentionOp op, Tiler &tiler) {
  AttentionViews views;
  views.q = tiler.viewOf(op.getQ());
  views.k = tiler.viewOf(op.getK());
  views.v = tiler.viewOf(op.getV());
  views.heads = views.q.type.getDimension(1);
  views.width = views.q.type.getDimension(2);
  views.groups = views.k.type.getDimension(1);
  views.valueWidth = views.v.type.getDimension(2);
  SmallVector<std::pair<StringRef, View>> read = {{"q", views.q}};
  if (views.k.buffer.getInterleave() == 1)
    read.push_back({"k", views.k});
  if (views.v.buffer.getInterleave() == 1)
    read.push_back({"v", views.v});
  if (op.getGate()) {
    views.gate = tiler.viewOf(op.getGate());
    read.push_back({"the gate", views.gate});
  }
  for (const auto &[what, view] : read)
    if (failed(expectContiguous(op, what, view)) ||
        failed(expectStride(op, what, view, 0)))
      return failure();
  if (failed(expectAdjacentHeads(op, "q", views.q, views.group())) ||
      (views.gate.buffer &&
       failed(expectAdjacentHeads(op, "the gate", views.gate, views.group()))))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  views.out = tiler.resultFor(op, name);
  const TileSizes &sizes = tiler.plan.tiles();
  RowTiles tiles(tiler, views.out.type, tiler.rowsOf(op, sizes.attentionRows));
  // Several row tiles are work enough without the blocks' memory, which grows
  // with rows times positions.
  int64_t split = tiler.columnsOf(op, sizes.attentionSplit);
  if (split && tiles.capacity == 1 && split < tiler.plan.bound(model::kKv))
    tileSplit(op, name, views, tiles, split, tiler);
  else
    tileWhole(op, name, views, tiles, tiler);
  return success();
}

static LogicalResult tile(model::GateOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX()), gate = tiler.viewOf(op.getGate());
  int64_t heads = x.type.getDimension(1), width = x.type.getDimension(2);
  for (const auto &[what, view] :
       {std::pair<StringRef, const View &>{"x", x}, {"the gate", gate}})
    if (failed(expectContiguous(op, what, view)) ||
        failed(expectStride(op, what, view, 0)) ||
        failed(expectAdjacentHeads(op, what, view, heads)))
      return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box box = phase.whole(out), gates = phase.whole(gate);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  narrow(gates, 0, phase.coordinate(0), tiles.size);
  phase.reads(x, box);
  phase.reads(gate, gates);
  phase.writes(out, box);
  phase.call("gate",
             {phase.address(out, box), phase.stride(out, 0),
              phase.address(x, box), phase.stride(x, 0),
              phase.address(gate, gates), phase.stride(gate, 0),
              tiles.count(phase), phase.integer(heads), phase.integer(width),
              phase.integer(gate.type.getRank() == 3 ? width : 1)});
  return success();
}

static LogicalResult tile(model::MatmulOp op, Tiler &tiler) {
  View lhs = tiler.viewOf(op.getLhs()), rhs = tiler.viewOf(op.getRhs());
  if (failed(expectContiguous(op, "lhs", lhs)) ||
      failed(expectStride(op, "lhs", lhs, 1)) ||
      failed(expectStride(op, "rhs", rhs, 1)) ||
      failed(expectStride(op, "rhs", rhs, 2)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  int64_t batch = out.type.getDimension(0);
  PhaseBuilder phase = tiler.plan.phase(
      name, op.getLoc(), {tiles.extent, tiler.plan.constant(batch)},
      {tiles.capacity, batch});
  Box left = phase.whole(lhs), right = phase.whole(rhs),
      result = phase.whole(out);
  for (Box *box : {&left, &result})
    narrow(*box, 1, phase.coordinate(0), tiles.size);
  for (Box *box : {&left, &right, &result})
    narrow(*box, 0, phase.coordinate(1), 1);
  phase.reads(lhs, left);
  phase.reads(rhs, right);
  phase.writes(out, result);
  phase.call("matmul",
             {phase.address(out, result), phase.stride(out, 1),
              phase.address(lhs, left), phase.stride(lhs, 1),
              phase.address(rhs, right), phase.stride(rhs, 2),
              phase.stride(rhs, 1), tiles.count(phase),
              phase.count(tiler.plan.extent(out.type.getDimension(2))),
              phase.count(tiler.plan.extent(lhs.type.getDimension(2)))});
  return success();
}

//===----------------------------------------------------------------------===//
// Element-wise, and whole rows
//===----------------------------------------------------------------------===//

static LogicalResult tile(model::MaskOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View x = tiler.viewOf(op.getX());
  return tileRows(op, name, "mask_causal", x, tiler.resultFor(op, name), tiler,
                  [&](PhaseBuilder &phase, const RowTiles &tiles,
                      SmallVectorImpl<Attribute> &operands) {
                    operands.push_back(phase.count(
                        phase.past() + phase.coordinate(0) * tiles.size));
                    operands.push_back(phase.integer(op.getWindow()));
                  });
}

LogicalResult tasks::tileCopy(Operation *at, const std::string &name,
                              const View &from, const View &to, Tiler &tiler) {
  return tileRows(at, name, "copy", from, to, tiler);
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

static LogicalResult tile(model::ReturnOp op, Tiler &tiler) {
  View logits = tiler.viewOf(op.getOperand(0));
  if (tiler.training)
    return tiler.training->finish(logits, op.getLoc());
  // The runtime gets a pointer and a row stride.
  bool plain = logits.fixedStrideOf(1) == 1 &&
               logits.buffer.getCapacity().size() == 2 &&
               logits.buffer.getCapacity()[1] == logits.type.getDimension(1) &&
               logits.map.getResult(0) == getAffineDimExpr(0, op.getContext());
  if (!plain) {
    std::string name = tiler.plan.uniqueName("logits");
    View copy = tiler.plan.transient(name, logits.type, op.getLoc());
    if (failed(tileCopy(op, name, logits, copy, tiler)))
      return failure();
    logits = copy;
  }
  PhaseBuilder phase =
      tiler.plan.phase(tiler.plan.uniqueName("advance"), op.getLoc(),
                       {tiler.plan.constant(1)}, {1});
  phase.reads(logits, phase.whole(logits));
  phase.advance(logits);
  return success();
}

LogicalResult tasks::tileOp(Operation *op, Tiler &tiler) {
  if (isViewOp(op)) {
    View x = tiler.viewOf(op->getOperand(0));
    if (std::optional<View> view = viewThrough(op, x)) {
      tiler.views[op->getResult(0)] = *view;
      return success();
    }
    // The elements do not lie evenly: lay them out anew, then look again.
    std::string name = tiler.plan.uniqueName(nameOf(op));
    View copy = tiler.plan.transient(name, x.type, op->getLoc());
    if (failed(tileCopy(op, name, x, copy, tiler)))
      return failure();
    std::optional<View> view = viewThrough(op, copy);
    if (!view)
      return op->emitOpError() << "cannot be tiled: no layout of " << x.type
                               << " makes this a view";
    tiler.views[op->getResult(0)] = *view;
    return success();
  }
  if (std::optional<LogicalResult> tiled = tileHyper(op, tiler))
    return *tiled;
  if (std::optional<LogicalResult> tiled = tileDeferredNorm(op, tiler))
    return *tiled;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<model::ParameterOp, model::ConcatOp>(
          [](Operation *) { return success(); })
      .Case<model::EmbeddingOp, model::PositionEmbeddingOp, model::RopeTableOp,
            model::LinearOp, model::GatedLinearOp, model::RopeOp,
            model::KvAppendOp, model::AttentionOp, model::GateOp,
            model::MatmulOp, model::MaskOp, model::ReturnOp>(
          [&](auto typed) { return tile(typed, tiler); })
      .Case([&](model::CustomOp custom) { return tileCustom(custom, tiler); })
      .Case([&](model::RmsNormOp norm) {
        return tileNorm(op, model::Norm::rms, norm.getX(), norm.getWeight(),
                        Value(), norm.getEpsilon(), tiler);
      })
      .Case([&](model::LayerNormOp norm) {
        return tileNorm(op, model::Norm::layer, norm.getX(), norm.getWeight(),
                        norm.getBias(), norm.getEpsilon(), tiler);
      })
      .Case([&](model::SoftmaxOp) { return tileRowsOf(op, "softmax", tiler); })
      .Case([&](model::Elementwise elementwise) {
        return tileElementwise(elementwise, tiler);
      })
      .Default([](Operation *other) {
        return other->emitOpError() << "has no tiling rule";
      });
}

/// Whether the body of an op may write over its n-th input.
static bool isWrittenInPlace(model::Elementwise op, unsigned n) {
  std::optional<bodies::BodyFunction> body = bodies::lookUp(op.getBody());
  if (!body)
    return false;
  const bodies::Signature &signature = bodies::signatureOf(body->kind);
  for (const bodies::OperandSignature &operand : signature.operands)
    if (operand.role == bodies::Role::Input && n-- == 0)
      return llvm::is_contained(signature.inPlace, operand.name);
  return false;
}

bool tasks::mayWriteOver(Operation *op, OpOperand &operand) {
  // A linear's tile reads whole rows of x, but of the residual its own tile.
  if (auto linear = dyn_cast<model::LinearOp>(op))
    return linear.getResidual() == operand.get() &&
           linear.getX() != operand.get();
  // All streams of its rows are what a task reads and what it writes.
  if (auto post = dyn_cast<model::HyperPostOp>(op))
    return &post.getXMutable() == &operand;
  if (auto turn = dyn_cast<model::HyperTurnOp>(op))
    return &turn.getXMutable() == &operand;
  if (auto end = dyn_cast<model::NormEndOp>(op))
    return &end.getXMutable() == &operand;
  if (auto elementwise = dyn_cast<model::Elementwise>(op))
    return isWrittenInPlace(elementwise, operand.getOperandNumber());
  return isa<model::RmsNormOp, model::LayerNormOp>(op);
}
