//===- ProgramBuilder.cpp - writes a model.program op by op ---------------===//

#include "models/ProgramBuilder.h"

#include "models/HyperConnections.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::models;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<StepTensorType>(value.getType()).getShape();
}

ProgramBuilder::ProgramBuilder(MLIRContext &context, StringRef family,
                               int64_t maxSeq, FloatType weightType,
                               StringRef prefix)
    : module(ModuleOp::create(UnknownLoc::get(&context))), builder(&context),
      weightType(weightType), f32(FloatType::getF32(&context)), prefix(prefix) {
  builder.setInsertionPointToEnd(module->getBody());
  Location location = locate(family);
  program = builder.create<ProgramOp>(location, builder.getStringAttr(family),
                                      builder.getI64IntegerAttr(maxSeq),
                                      builder.getStringAttr(family),
                                      /*training=*/UnitAttr(),
                                      /*batch=*/IntegerAttr(),
                                      /*inputs=*/TypeAttr(),
                                      /*amx=*/UnitAttr());
  Block *block = builder.createBlock(&program.getBody());
  block->addArgument(
      StepTensorType::get(&context, {kRows}, builder.getI32Type()), location);
}

OwningOpRef<ModuleOp> ProgramBuilder::finish(Value logits) {
  builder.create<ReturnOp>(program.getLoc(), logits);
  return std::move(module);
}

/// A location that names a module whatever its layer: "layers" for
/// "layers.{layer}", "layers+1" for the next one of a pattern.
Location ProgramBuilder::locate(Twine name) {
  std::string text = name.str();
  constexpr StringLiteral layer = ".{layer";
  if (size_t at = text.find(layer); at != std::string::npos) {
    text.erase(at, layer.size());
    if (size_t end = text.find('}', at); end != std::string::npos)
      text.erase(end, 1);
  }
  constexpr StringLiteral expert = ".{expert}";
  if (size_t at = text.find(expert); at != std::string::npos)
    text.erase(at, expert.size());
  return NameLoc::get(builder.getStringAttr(text));
}

StepTensorType ProgramBuilder::type(ArrayRef<int64_t> shape) {
  return StepTensorType::get(builder.getContext(), shape, f32);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

ParameterOp ProgramBuilder::parameter(const Twine &name, StepTensorType type,
                                      bool transposed) {
  std::string bare = name.str();
  SmallVector<StringRef, 2> sources;
  std::string prefixed = prefix + bare;
  // The head belongs to no body, so it never has the body's prefix.
  if (!StringRef(bare).starts_with("lm_head."))
    sources.push_back(prefixed);
  sources.push_back(bare);
  return builder.create<ParameterOp>(
      locate(bare), type, builder.getStrArrayAttr(sources), transposed);
}

ParameterOp ProgramBuilder::parameter(const Twine &name, StepTensorType type,
                                      RowBlocks rows) {
  ParameterOp op = parameter(name, type);
  SmallVector<int64_t, 4> blocks = {rows.size, rows.stride, rows.offset};
  if (rows.pairs)
    blocks.push_back(rows.pairs);
  op.setBlocks(blocks);
  return op;
}

Value ProgramBuilder::weight(StringRef module, ArrayRef<int64_t> shape,
                             bool transposed) {
  return parameter(module + ".weight", type(shape).withElementType(weightType),
                   transposed);
}

//===----------------------------------------------------------------------===//
// Rows in, rows out
//===----------------------------------------------------------------------===//

Value ProgramBuilder::embedding(StringRef module, Value table,
                                float multiplier) {
  return builder.create<EmbeddingOp>(
      locate(module), type({kRows, shapeOf(table)[1]}), getTokens(), table,
      llvm::APFloat(multiplier));
}

Value ProgramBuilder::positionEmbedding(StringRef module, int64_t positions,
                                        int64_t width) {
  Value table = weight(module, {positions, width});
  return builder.create<PositionEmbeddingOp>(locate(module),
                                             type({kRows, width}), table);
}

Value ProgramBuilder::stack(StringRef name, Value x, int64_t repeat,
                            function_ref<Value(Value)> body, int64_t firstLayer,
                            int64_t layers) {
  Location location = locate(name);
  auto stack =
      builder.create<StackOp>(location, TypeRange(x.getType()), ValueRange(x),
                              repeat, firstLayer, layers);
  OpBuilder::InsertionGuard guard(builder);
  Block *block =
      builder.createBlock(&stack.getBody(), {}, x.getType(), location);
  Value result = body(block->getArgument(0));
  builder.create<YieldOp>(location, result);
  return stack.getResult(0);
}

Value ProgramBuilder::rmsNorm(StringRef module, Value x, float epsilon,
                              NormWeight meaning) {
  ParameterOp weight = parameter(module + ".weight", type({shapeOf(x).back()}));
  if (meaning == NormWeight::lessOne)
    weight.setPlus(llvm::APFloat(1.0f));
  return builder.create<RmsNormOp>(locate(module), x.getType(), x, weight,
                                   builder.getF32FloatAttr(epsilon));
}

Value ProgramBuilder::layerNorm(StringRef module, Value x, float epsilon) {
  Value weight = parameter(module + ".weight", type({shapeOf(x)[1]}));
  Value bias = parameter(module + ".bias", type({shapeOf(x)[1]}));
  return builder.create<LayerNormOp>(locate(module), x.getType(), x, weight,
                                     bias, builder.getF32FloatAttr(epsilon));
}

Value ProgramBuilder::linear(StringRef module, Value x, int64_t outputs,
                             bool hasBias, bool transposed) {
  Value matrix = weight(module, {outputs, shapeOf(x)[1]}, transposed);
  return createLinear(module, x, matrix,
                      hasBias ? parameter(module + ".bias", type({outputs}))
                              : Value());
}

Value ProgramBuilder::linear(StringRef name, StringRef module, Value x,
                             int64_t outputs, RowBlocks rows, bool hasBias) {
  Value matrix = parameter(
      module + ".weight",
      type({outputs, shapeOf(x)[1]}).withElementType(weightType), rows);
  return createLinear(
      name, x, matrix,
      hasBias ? parameter(module + ".bias", type({outputs}), rows) : Value());
}

Value ProgramBuilder::linear(StringRef module, Value x, Value weight) {
  return createLinear(module, x, weight, /*bias=*/Value());
}

Value ProgramBuilder::createLinear(StringRef module, Value x, Value weight,
                                   Value bias) {
  Value none;
  return builder.create<LinearOp>(
      locate(module), type({shapeOf(x)[0], shapeOf(weight)[0]}), x, weight,
      bias, /*norm_weight=*/none, /*norm_bias=*/none, /*residual=*/none,
      Norm::identity, llvm::APFloat(0.0f));
}

Value ProgramBuilder::headLinear(StringRef name, StringRef module, Value x,
                                 int64_t columns, HeadRows rows) {
  const int64_t heads = shapeOf(x)[1], inputs = shapeOf(x)[2],
                outputs = rows.transposed ? columns : rows.size;
  ParameterOp matrix =
      parameter(module + ".weight",
                type({heads, outputs, inputs}).withElementType(weightType),
                rows.transposed);
  matrix.setHeads(ArrayRef<int64_t>{rows.stride, rows.offset});
  return builder.create<HeadLinearOp>(
      locate(name), type({shapeOf(x)[0], heads, outputs}), x, matrix);
}

LinearWeights ProgramBuilder::weightsOfExperts(const Twine &module,
                                               const char *name,
                                               int64_t outputs, int64_t inputs,
                                               const MixtureForm &form,
                                               std::optional<RowBlocks> rows) {
  std::string full = (module + ".experts.{expert}." + name).str();
  if (!form.isInterleaved)
    return {weight(full, {form.experts, outputs, inputs}),
            form.hasBias
                ? parameter(full + ".bias", type({form.experts, outputs}))
                : Value()};
  auto weights = parameter(
      full, type({form.experts, outputs, inputs}).withElementType(weightType),
      form.isTransposed);
  auto bias = parameter(full + "_bias", type({form.experts, outputs}));
  if (rows)
    for (ParameterOp op : {weights, bias})
      op.setBlocks(ArrayRef<int64_t>{rows->size, rows->stride, rows->offset});
  return {weights, bias};
}

Value ProgramBuilder::experts(StringRef module, Value x, Value logits,
                              const MixtureForm &form) {
  const int64_t width = shapeOf(x)[1], k = form.expertsOfRow;
  if (form.balanceLoss > 0)
    program->setAttr(kBalanceLoss, builder.getF32FloatAttr(
                                       static_cast<float>(form.balanceLoss)));
  Type i32 = builder.getI32Type();
  auto choices = type({kRows, k}).withElementType(i32);
  Value bias;
  if (form.correctsChoice)
    bias = parameter(module + "." + form.router + ".e_score_correction_bias",
                     type({form.experts}));
  auto route = builder.create<RouteOp>(
      locate(module + ".route"), choices, type({kRows, k}), logits, bias,
      ScoringAttr::get(builder.getContext(), form.scoring),
      form.normalizes ? builder.getUnitAttr() : UnitAttr(),
      builder.getF32FloatAttr(form.factor),
      builder.getI64IntegerAttr(form.groups),
      builder.getI64IntegerAttr(form.groupsOfRow),
      form.byBestTwo ? builder.getUnitAttr() : UnitAttr(),
      /*counts_loads=*/UnitAttr());
  auto dispatch =
      builder.create<DispatchOp>(locate(module + ".dispatch"),
                                 type({form.experts + 1}).withElementType(i32),
                                 choices, choices, route.getExperts(),
                                 /*axes=*/ArrayAttr());
  Value places = builder.create<GatherOp>(locate(module + ".gather"),
                                          type({kRows, k, width}), x,
                                          dispatch.getChoices());
  auto weightsOf = [&](const char *name, int64_t outputs, int64_t inputs,
                       std::optional<RowBlocks> rows = {}) {
    return weightsOfExperts(module, name, outputs, inputs, form, rows);
  };
  std::optional<RowBlocks> gates, ups;
  if (form.isInterleaved) {
    gates = RowBlocks{.size = 1, .stride = 2, .offset = 0};
    ups = RowBlocks{.size = 1, .stride = 2, .offset = 1};
  }
  LinearWeights gate =
                    weightsOf(form.isInterleaved ? "gate_up_proj" : form.gate,
                              form.width, width, gates),
                up = weightsOf(form.isInterleaved ? "gate_up_proj" : form.up,
                               form.width, width, ups);
  places = builder.create<GroupedGatedLinearOp>(
      locate(module + ".experts.gate_up"), type({kRows, k, form.width}), places,
      dispatch.getBounds(), gate.weight, up.weight, gate.bias, up.bias,
      form.activation);
  LinearWeights down = weightsOf(form.isInterleaved ? "down_proj" : form.down,
                                 width, form.width);
  places = builder.create<GroupedLinearOp>(
      locate(module + ".experts.down"), type({kRows, k, width}), places,
      dispatch.getBounds(), down.weight, down.bias);
  return builder.create<CombineOp>(locate(module + ".combine"),
                                   type({kRows, width}), places,
                                   dispatch.getPlaces(), route.getWeights());
}

Value ProgramBuilder::activate(StringRef name, Value x, Activation activation) {
  return builder.create<ActivateOp>(
      locate(name), x.getType(), x,
      ActivationAttr::get(builder.getContext(), activation));
}

Value ProgramBuilder::add(StringRef name, Value lhs, Value rhs) {
  return builder.create<AddOp>(locate(name), lhs.getType(), lhs, rhs);
}

Value ProgramBuilder::multiply(StringRef name, Value lhs, Value rhs) {
  return builder.create<MulOp>(locate(name), lhs.getType(), lhs, rhs);
}

Value ProgramBuilder::gateRows(StringRef name, Value x, Value gate) {
  x = splitHeads((name + ".row").str(), x, 1);
  x = builder.create<GateOp>(locate(name), x.getType(), x, gate);
  return builder.create<ReshapeOp>(locate(name + ".rows"),
                                   type({shapeOf(x)[0], shapeOf(x)[2]}), x);
}

Value ProgramBuilder::softcap(const Twine &name, Value x, float limit) {
  x = builder.create<ScaleOp>(locate(name + ".divide"), x.getType(), x,
                              builder.getF32FloatAttr(1.0f / limit));
  x = builder.create<TanhOp>(locate(name + ".tanh"), x.getType(), x);
  return builder.create<ScaleOp>(locate(name), x.getType(), x,
                                 builder.getF32FloatAttr(limit));
}

Value ProgramBuilder::columns(StringRef name, Value x, int64_t offset,
                              int64_t width) {
  return builder.create<SliceOp>(locate(name), type({shapeOf(x)[0], width}), x,
                                 builder.getI64IntegerAttr(1),
                                 builder.getI64IntegerAttr(offset));
}

Value ProgramBuilder::lastRows(StringRef name, Value x) {
  return builder.create<LastRowsOp>(locate(name),
                                    type({kOutputs, shapeOf(x)[1]}), x);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value ProgramBuilder::splitHeads(StringRef name, Value x, int64_t heads) {
  return builder.create<ReshapeOp>(
      locate(name), type({shapeOf(x)[0], heads, shapeOf(x)[1] / heads}), x);
}

Value ProgramBuilder::ropeTable(StringRef name, ArrayRef<float> frequencies,
                                float scale) {
  return builder.create<RopeTableOp>(
      locate(name), type({kRows, 2 * static_cast<int64_t>(frequencies.size())}),
      /*positions=*/Value(), frequencies, llvm::APFloat(scale));
}

Value ProgramBuilder::rope(StringRef name, Value x, Value table) {
  return builder.create<RopeOp>(locate(name), x.getType(), x, table);
}

Value ProgramBuilder::transpose(const Twine &name, Value x,
                                ArrayRef<int64_t> permutation) {
  SmallVector<int64_t, 3> shape;
  for (int64_t axis : permutation)
    shape.push_back(shapeOf(x)[axis]);
  return builder.create<TransposeOp>(locate(name), type(shape), x, permutation);
}

/// Gives every query head its key/value head.
Value ProgramBuilder::repeatHeads(const Twine &name, Value x, int64_t times) {
  if (times == 1)
    return x;
  SmallVector<int64_t, 3> shape(shapeOf(x));
  shape[0] *= times;
  return builder.create<BroadcastOp>(locate(name), type(shape), x,
                                     builder.getI64IntegerAttr(0),
                                     builder.getI64IntegerAttr(times));
}

Value ProgramBuilder::causalAttention(StringRef module, Value q, Value k,
                                      Value v, const AttentionForm &form) {
  int64_t groups = shapeOf(k)[1];
  std::string number = attentions++ ? "." + std::to_string(attentions) : "";
  Value keys = builder.create<KvAppendOp>(locate(module + ".k_state"),
                                          type({kKv, groups, shapeOf(k)[2]}), k,
                                          "k" + number);
  Value values = builder.create<KvAppendOp>(locate(module + ".v_state"),
                                            type({kKv, groups, shapeOf(v)[2]}),
                                            v, "v" + number);
  Value result = attendTo(module, q, keys, values, form);
  if (form.gate)
    result = builder.create<GateOp>(locate(module + ".gate"), result.getType(),
                                    result, form.gate);
  return mergeHeads((module + ".merge_heads").str(), result);
}

Value ProgramBuilder::latentAttention(StringRef module, Value q, Value k,
                                      int64_t valueDim,
                                      const AttentionForm &form) {
  std::string number = attentions++ ? "." + std::to_string(attentions) : "";
  Value state = builder.create<KvAppendOp>(locate(module + ".latent_state"),
                                           type({kKv, 1, shapeOf(k)[2]}), k,
                                           "latent" + number);
  Value values =
      headColumns((module + ".latent_values").str(), state, 0, valueDim);
  return attendTo(module, q, state, values, form);
}

Value ProgramBuilder::attendTo(StringRef module, Value q, Value keys,
                               Value values, const AttentionForm &form) {
  int64_t heads = shapeOf(q)[1], valueDim = shapeOf(values)[2];
  int64_t times = heads / shapeOf(keys)[1];
  q = transpose(module + ".q_heads", q, {1, 0, 2});
  keys = transpose(module + ".k_heads", keys, {1, 2, 0});
  keys = repeatHeads(module + ".k_repeat", keys, times);
  values = transpose(module + ".v_heads", values, {1, 0, 2});
  values = repeatHeads(module + ".v_repeat", values, times);

  Value scores = builder.create<MatmulOp>(locate(module + ".scores"),
                                          type({heads, kRows, kKv}), q, keys);
  if (form.scale)
    scores =
        builder.create<ScaleOp>(locate(module + ".scale"), scores.getType(),
                                scores, builder.getF32FloatAttr(*form.scale));
  if (form.softcap != 0)
    scores = softcap(module + ".softcap", scores, form.softcap);
  scores = builder.create<MaskOp>(locate(module + ".mask"), scores.getType(),
                                  scores, /*positions=*/Value(), form.window);
  Value sinks;
  if (form.hasSinks)
    sinks = parameter(module + ".sinks", type({heads}));
  Value weights = builder.create<SoftmaxOp>(locate(module + ".softmax"),
                                            scores.getType(), scores, sinks);
  Value result =
      builder.create<MatmulOp>(locate(module + ".weighted_values"),
                               type({heads, kRows, valueDim}), weights, values);
  return transpose(module + ".attention", result, {1, 0, 2});
}

Value ProgramBuilder::joinHeads(StringRef name, Value front, Value back) {
  ArrayRef<int64_t> shape = shapeOf(front);
  return builder.create<JoinHeadsOp>(
      locate(name), type({shape[0], shape[1], shape[2] + shapeOf(back)[2]}),
      front, back);
}

Value ProgramBuilder::mergeHeads(StringRef name, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return builder.create<ReshapeOp>(locate(name),
                                   type({shape[0], shape[1] * shape[2]}), x);
}

Value ProgramBuilder::headColumns(StringRef name, Value x, int64_t offset,
                                  int64_t width) {
  return builder.create<SliceOp>(
      locate(name), type({shapeOf(x)[0], shapeOf(x)[1], width}), x,
      builder.getI64IntegerAttr(2), builder.getI64IntegerAttr(offset));
}

//===----------------------------------------------------------------------===//
// Hyper-connections
//===----------------------------------------------------------------------===//

Value ProgramBuilder::repeatAsStreams(StringRef name, Value x,
                                      int64_t streams) {
  int64_t width = shapeOf(x)[1];
  x = builder.create<ReshapeOp>(locate(name + ".one"), type({kRows, 1, width}),
                                x);
  return builder.create<BroadcastOp>(
      locate(name), type({kRows, streams, width}), x,
      builder.getI64IntegerAttr(1), builder.getI64IntegerAttr(streams));
}

Value ProgramBuilder::hyperMaps(StringRef module, Value x,
                                const HyperConnections &form, Mixing mixing) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t maps = countMaps(form.streams, mixing);
  Value phi = parameter(module + ".fn", type({maps, shape[1] * shape[2]}));
  Value scale = parameter(module + ".scale", type({countParts(mixing)}));
  Value base = parameter(module + ".base", type({maps}));
  Value logits = builder.create<HyperProjectOp>(
      locate(module + ".fn"), type({shape[0], maps}), x, phi,
      builder.getF32FloatAttr(form.normEpsilon));
  return builder.create<HyperMapsOp>(
      locate(module + ".maps"), logits.getType(), logits, scale, base,
      builder.getI64IntegerAttr(form.streams),
      MixingAttr::get(builder.getContext(), mixing),
      builder.getI64IntegerAttr(form.iterations),
      builder.getF32FloatAttr(form.epsilon));
}

Value ProgramBuilder::hyperPre(StringRef module, Value x, Value maps) {
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shapeOf(maps)[1] != shape[1])
    maps = columns((module + ".read").str(), maps, 0, shape[1]);
  return builder.create<HyperPreOp>(locate(module + ".pre"),
                                    type({shape[0], shape[2]}), x, maps);
}

Value ProgramBuilder::hyperPost(StringRef module, Value x, Value y,
                                Value maps) {
  int64_t streams = shapeOf(x)[1];
  Value weights = columns((module + ".write").str(), maps, streams,
                          shapeOf(maps)[1] - streams);
  return builder.create<HyperPostOp>(locate(module + ".post"), x.getType(), x,
                                     y, weights);
}

Value ProgramBuilder::lastStreams(StringRef name, Value x) {
  int64_t streams = shapeOf(x)[1], width = shapeOf(x)[2];
  x = builder.create<ReshapeOp>(locate(name + ".joined"),
                                type({kRows, streams * width}), x);
  x = lastRows(name, x);
  return builder.create<ReshapeOp>(locate(name + ".streams"),
                                   type({kOutputs, streams, width}), x);
}
