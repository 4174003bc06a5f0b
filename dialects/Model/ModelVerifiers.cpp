//===- ModelVerifiers.cpp - what every model op promises -----------------===//
//
// One verifier per op; each check is a line under **Constraints** in
// ModelOps.td and a case in test/dialects/Model/errors.mlir.
//
// Attributes are read by getInt(): the getters of I64Attr are unsigned.
//
//===----------------------------------------------------------------------===//

#include "dialects/Model/LayerFormats.h"
#include "dialects/Model/Verification.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace baton;
using namespace baton::model;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  int64_t maxSeq = getMaxSeqAttr().getInt();
  if (maxSeq < 1 || maxSeq > (1 << 24))
    return emitOpError() << "max_seq is " << maxSeq
                         << ", expected 1 to 16777216";
  Block &block = getBody().front();
  auto tokens = StepTensorType::get(getContext(), {kRows},
                                    IntegerType::get(getContext(), 32));
  if (getTraining() && getBatch())
    return emitOpError() << "trains, and is a batch that decodes";
  if (getInputs() && !getInputs()->isBF16())
    return emitOpError() << "inputs of linears are " << *getInputs()
                         << ", expected bf16";
  if (getAmx() && !getInputs())
    return emitOpError() << "rounds no inputs of linears whose sums 'amx' "
                            "could order; 'inputs bf16 amx' does";
  if (getInputs() && getTraining() && !getAmx())
    return emitOpError() << "trains, and rounds inputs of linears whose sums "
                            "are not AMX's; 'inputs bf16 amx' are";
  if (getTraining()) {
    auto weights = tokens.withElementType(Float32Type::get(getContext()));
    auto preferences = weights.withShape({kRows, kPreferenceNumbers});
    SmallVector<Type> types = {tokens, tokens, tokens, weights};
    if (block.getNumArguments() == types.size() + 1)
      types.push_back(preferences);
    if (block.getNumArguments() == types.size() + 2) {
      auto named = dyn_cast<StepTensorType>(block.getArgument(4).getType());
      // Else no type is the right one.
      int64_t count =
          named && named.getRank() == 2 ? named.getDimension(1) : int64_t(0);
      if (count > 0)
        types.append({tokens.withShape({kRows, count}),
                      weights.withShape({kRows, count + kTeacherNumbers})});
    }
    if (block.getArgumentTypes() != TypeRange(types))
      return emitOpError() << "the body takes tokens, positions and targets of "
                              "type "
                           << tokens << ", weights of type " << weights
                           << ", and perhaps preferences of type "
                           << preferences
                           << ", or a teacher's tokens [rows, N] in i32 and "
                              "numbers [rows, N + "
                           << kTeacherNumbers << "] in f32";
    return success();
  }
  if (std::optional<uint64_t> sequences = getBatch()) {
    if (*sequences < 1 || *sequences > (1 << 16))
      return emitOpError() << "is a batch of " << int64_t(*sequences)
                           << " sequences, expected 1 to 65536";
    auto pages = tokens.withShape({int64_t(*sequences) * countPages()});
    auto sampling = tokens.withShape({kOutputs, kSamplingWords});
    auto changes =
        tokens.withShape({int64_t(*sequences) * countChanges() * kChangeWords});
    SmallVector<Type> types = {tokens, tokens,   tokens, tokens,
                               pages,  sampling, changes};
    // Which ranks are those of a row's adapter.
    if ((*this)->hasAttr(kAdapters))
      types.append(2, tokens);
    if (block.getArgumentTypes() != TypeRange(types))
      return emitOpError() << "the body takes tokens, positions, sequences and "
                              "slots of type "
                           << tokens << ", pages of type " << pages
                           << ", sampling of type " << sampling
                           << ", and changes of type " << changes
                           << "; and of a batch with adapters two more of "
                              "type "
                           << tokens;
    return success();
  }
  if (block.getNumArguments() != 1 || block.getArgument(0).getType() != tokens)
    return emitOpError() << "the body takes one argument of type " << tokens;
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  llvm::StringSet<> states;
  auto append = [&](Operation *op, StringRef state) -> LogicalResult {
    if (getTraining())
      return op->emitOpError()
             << "appends to a state, which training has none of";
    if (states.insert(state).second)
      return success();
    return op->emitOpError() << "appends to state '" << state
                             << "', which another op appends to already";
  };
  WalkResult result = walk([&](Operation *op) {
    if (auto kv = dyn_cast<KvAppendOp>(op)) {
      if (getBatch())
        return WalkResult(op->emitOpError()
                          << "appends behind a step's past, which a batch has "
                             "none of");
      return WalkResult(append(op, kv.getState()));
    }
    if (auto paged = dyn_cast<PagedAppendOp>(op)) {
      if (!getBatch())
        return WalkResult(op->emitOpError()
                          << "stands outside a batch, which alone has pages");
      return WalkResult(append(op, paged.getState()));
    }
    if (auto custom = dyn_cast<CustomOp>(op))
      for (unsigned i = 0; i < custom.getNumResults(); ++i)
        if (StringRef state = custom.getState(i); !state.empty())
          if (failed(append(op, state)))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return getTraining() ? success() : verifyCausality(*this);
}

LogicalResult ReturnOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  bool training = program.getTraining();
  if (program.getBatch()) {
    if (getNumOperands() < 2 || getNumOperands() > 3 ||
        !getOperand(1).getDefiningOp<SampleOp>())
      return emitOpError() << "returns the logits, what model.sample makes of "
                              "them, and perhaps hidden states";
    if (getNumOperands() == 3) {
      ArrayRef<int64_t> hidden = shapeOf(getOperand(2));
      if (hidden.size() != 2 || hidden[0] != kRows || isSymbol(hidden[1]))
        return emitOpError() << "hidden states have shape " << text(hidden)
                             << ", expected [rows, width]";
      if (failed(expectFloat32(*this, "the hidden states", getOperand(2))))
        return failure();
    }
  } else if (getNumOperands() != 1) {
    return emitOpError() << "returns the " << (training ? "losses" : "logits")
                         << " and nothing else";
  }
  if (training) {
    ArrayRef<int64_t> losses = shapeOf(getOperand(0));
    bool hasParts = losses == ArrayRef<int64_t>({kRows, kRouterLosses}) ||
                    losses == ArrayRef<int64_t>({kRows, kPreferenceLosses}) ||
                    losses == ArrayRef<int64_t>({kRows, kTeacherLosses});
    if (!hasParts &&
        failed(expectShape(*this, "the loss", getOperand(0), {kRows})))
      return failure();
    return expectFloat32(*this, "the loss", getOperand(0));
  }
  ArrayRef<int64_t> shape = shapeOf(getOperand(0));
  if (shape.size() != 2 || shape[0] != kOutputs || isSymbol(shape[1]))
    return emitOpError() << "logits have shape " << text(shape)
                         << ", expected [outputs, vocabulary]";
  return expectFloat32(*this, "the logits", getOperand(0));
}

LogicalResult StackOp::verify() {
  int64_t repeat = getRepeatAttr().getInt();
  if (repeat < 1 || repeat > (1 << 20))
    return emitOpError() << "repeat is " << repeat << ", expected 1 to 1048576";
  if (getFirstLayerAttr().getInt() < 0)
    return emitOpError() << "first_layer is negative";
  if (getLayersPerIterationAttr().getInt() < 1)
    return emitOpError() << "layers_per_iteration is less than 1";
  if (getBody().empty())
    return emitOpError() << "has no body";
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError() << "the body ends with model.yield";
  TypeRange inits = getInits().getTypes();
  if (inits != TypeRange(block.getArguments()))
    return emitOpError() << "block arguments do not match the operands";
  if (inits != yield.getOperandTypes())
    return emitOpError() << "yielded values do not match the operands";
  if (inits != getResultTypes())
    return emitOpError() << "results do not match the operands";
  for (Type type : inits) {
    ArrayRef<int64_t> shape = cast<StepTensorType>(type).getShape();
    if (shape.empty() || (shape[0] != kRows && !countRowParts(shape[0])))
      return emitOpError() << "carries " << type
                           << ", whose first dimension is not 'rows'";
  }
  return success();
}

/// Blocks of a shard with units; nothing if they are not as its extent has.
static bool haveUnits(ShardAttr shard) {
  int64_t blocks = 0;
  if (shard.getGranularity() < 1)
    return false;
  for (int64_t units : shard.getUnits())
    if (units < 0 || __builtin_add_overflow(blocks, units, &blocks))
      return false;
  return blocks ==
         int64_t(llvm::divideCeil(shard.getExtent(), shard.getGranularity()));
}

static LogicalResult verifyShards(ParameterOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  SmallVector<int64_t> left(shape);
  llvm::SmallPtrSet<Attribute, 4> axes;
  for (auto shard : llvm::reverse(op.getShardsAttr().getAsRange<ShardAttr>())) {
    int64_t dimension = shard.getDimension();
    if (dimension < 0 || dimension >= int64_t(shape.size()))
      return op.emitOpError() << shard << " is of no dimension";
    if (shard.getAxes().empty())
      return op.emitOpError() << shard << " is over no axis";
    for (Attribute axis : shard.getAxes())
      if (!isa<StringAttr>(axis) || !axes.insert(axis).second)
        return op.emitOpError()
               << shard << " is over " << axis << ", expected different axes";
    int64_t extent = shard.getExtent(), part = left[dimension];
    bool fits = extent >= 1;
    if (shard.getUnits().empty())
      fits &= extent % part == 0;
    else if (!haveUnits(shard))
      return op.emitOpError() << shard << " has units that are not " << extent
                              << " in blocks of " << shard.getGranularity();
    else
      fits &= shard.getPart(shard.getUnits().size()) == part;
    if (!fits)
      return op.emitOpError() << shard << " does not leave " << part
                              << " of dimension " << dimension;
    left[dimension] = extent;
  }
  return success();
}

/// Blocks of quantised weights lie along the inputs of a matrix.
static LogicalResult verifyBlocksOfWeights(ParameterOp op) {
  auto type = typeOf(op.getResult());
  auto quantized = dyn_cast<QuantizedType>(type.getElementType());
  if (!quantized)
    return success();
  if (type.getRank() != 2 && !op.isOfSeveral())
    return op.emitOpError() << "is quantised, but no matrix";
  const StringRef formats = quantized.getFormats();
  const int64_t inputs = blocks::block_inputs({formats.data(), formats.size()});
  if (op.getHeads() && op.getTransposed())
    return op.emitOpError() << "is quantised, and transposed head by head";
  const int64_t own = type.getShape().back();
  if (own % inputs)
    return op.emitOpError() << "has " << own << " inputs, no whole blocks of "
                            << formats << ", of " << inputs << " each";
  return success();
}

static LogicalResult verifyLayerFormats(ParameterOp op) {
  if (!op->hasAttr(kLayerFormats))
    return success();
  auto stack = op->getParentOfType<StackOp>();
  auto quantized =
      dyn_cast<QuantizedType>(typeOf(op.getResult()).getElementType());
  if (!stack || !quantized || !quantized.isMixed())
    return op.emitOpError() << "has formats of layers, and is not of a stack's "
                               "layers, stored in several";
  ArrayAttr layers = layerFormatsOf(op);
  if (!layers || !llvm::all_of(layers, llvm::IsaPred<StringAttr>))
    return op.emitOpError() << "has formats of layers that are no texts";
  if (layers.size() != stack.getRepeat())
    return op.emitOpError() << "has formats of " << layers.size()
                            << " layers, in a stack of " << stack.getRepeat();
  const StringRef all = quantized.getFormats();
  for (auto format : layers.getAsRange<StringAttr>())
    if (format.getValue().contains('|') ||
        !blocks::is_part_of_list({format.getValue().data(), format.size()},
                                 {all.data(), all.size()}))
      return op.emitOpError()
             << "has a layer of " << format << ", which is not one of " << all;
  return success();
}

bool ParameterOp::isOfExperts() {
  return llvm::any_of(
      getSources().getAsRange<StringAttr>(),
      [](StringAttr source) { return source.getValue().contains(kExpert); });
}

static LogicalResult verifyExperts(ParameterOp op) {
  if (!op.isOfExperts())
    return success();
  for (auto source : op.getSources().getAsRange<StringAttr>())
    if (!source.getValue().contains(kExpert))
      return op.emitOpError()
             << "'" << source.getValue() << "' names no expert, as others do";
  const size_t rank = shapeOf(op.getResult()).size();
  if (rank < 2 || rank > 3)
    return op.emitOpError() << "tensors of experts are vectors or matrices";
  if (!op.getShards() || (!op.getTransposed() && !op.getBlocks()))
    return success();
  for (auto shard : op.getShardsAttr().getAsRange<ShardAttr>())
    if (shard.getDimension() != 0)
      return op.emitOpError() << "tensors of experts that are transposed or in "
                                 "blocks are not cut";
  return success();
}

static LogicalResult verifyHeads(ParameterOp op) {
  std::optional<ArrayRef<int64_t>> heads = op.getHeads();
  if (!heads)
    return success();
  if (op.getBlocks() || op.isOfExperts())
    return op.emitOpError() << "heads have neither blocks nor experts";
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  if (heads->size() != 2 || shape.size() != 3)
    return op.emitOpError() << "heads are a stride and an offset, of three "
                               "dimensions";
  const int64_t stride = (*heads)[0], offset = (*heads)[1],
                rows = shape[op.getTransposed() ? 2 : 1];
  int64_t stored;
  if (offset < 0 || stride < rows || offset > stride - rows ||
      __builtin_mul_overflow(op.getWholeShape()[0], stride, &stored))
    return op.emitOpError() << "a head of " << rows << " rows at " << offset
                            << " does not fit into " << stride;
  if (op.getShards())
    for (auto shard : op.getShardsAttr().getAsRange<ShardAttr>())
      if (shard.getDimension() != 0 || !shard.getUnits().empty())
        return op.emitOpError() << "ranks have whole heads, equally many each";
  return success();
}

LogicalResult ParameterOp::verify() {
  if (getSources().empty())
    return emitOpError() << "names no tensor";
  bool inStack = (*this)->getParentOfType<StackOp>() != nullptr;
  for (auto source : getSources().getAsRange<StringAttr>()) {
    if (source.getValue().empty())
      return emitOpError() << "has an empty tensor name";
    if (!inStack && source.getValue().contains("{layer"))
      return emitOpError() << "'" << source.getValue()
                           << "' names a layer outside a stack";
  }
  if (failed(expectStatic(*this, "the type", getResult())) ||
      failed(expectWeight(*this, "the type", getResult())) ||
      failed(verifyBlocksOfWeights(*this)) || failed(verifyExperts(*this)))
    return failure();
  // Of experts' tensors what follows is said of each.
  const unsigned first = isOfSeveral();
  if (getTransposed() && shapeOf(getResult()).size() != 2 + first)
    return emitOpError() << "transposed needs two dimensions";
  if (getShards() && failed(verifyShards(*this)))
    return failure();
  if (failed(verifyHeads(*this)) || failed(verifyLayerFormats(*this)))
    return failure();
  if (std::optional<ArrayRef<int64_t>> blocks = getBlocks()) {
    if ((blocks->size() != 3 && blocks->size() != 4) ||
        shapeOf(getResult()).empty())
      return emitOpError() << "blocks are a size, a stride and an offset of "
                              "rows, and may be in pairs";
    int64_t rows = getWholeShape()[first];
    int64_t size = (*blocks)[0], stride = (*blocks)[1], offset = (*blocks)[2];
    if (size < 1 || rows % size)
      return emitOpError() << "blocks of " << size << " rows do not make "
                           << rows;
    int64_t stored;
    if (offset < 0 || stride < size || offset > stride - size ||
        __builtin_mul_overflow(rows / size, stride, &stored))
      return emitOpError() << "a block of " << size << " rows at " << offset
                           << " does not fit into " << stride;
    if (blocks->size() == 4 &&
        ((*blocks)[3] < 2 || (*blocks)[3] % 2 || size % (*blocks)[3]))
      return emitOpError() << "pairs in runs of " << (*blocks)[3]
                           << " rows do not make blocks of " << size;
  }
  if (!getPlus().isZero() && shapeOf(getResult()).size() != 1)
    return emitOpError() << "plus needs one dimension";
  return expectFinite(*this, "plus", getPlus());
}

SmallVector<int64_t> ParameterOp::getStoredShape() {
  SmallVector<int64_t> shape = getWholeShape();
  if (std::optional<ArrayRef<int64_t>> heads = getHeads())
    return {shape[0] * (*heads)[0], shape[getTransposed() ? 1 : 2]};
  const unsigned first = isOfExperts();
  if (std::optional<ArrayRef<int64_t>> blocks = getBlocks())
    shape[first] = shape[first] / (*blocks)[0] * (*blocks)[1];
  if (getTransposed())
    std::swap(shape[first], shape[first + 1]);
  return shape;
}

//===----------------------------------------------------------------------===//
// Rows in, rows out
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  if (failed(expectIndices(*this, "tokens", getTokens())))
    return failure();
  if (failed(expectRank(*this, "the table", getTable(), 2)) ||
      failed(expectStatic(*this, "the table", getTable())) ||
      failed(expectWeight(*this, "the table", getTable())) ||
      failed(expectShape(*this, "the result", getResult(),
                         {kRows, shapeOf(getTable())[1]})) ||
      failed(expectFloat32(*this, "the result", getResult())) ||
      failed(expectFinite(*this, "the multiplier", getMultiplier())))
    return failure();
  if (getMultiplier().isZero())
    return emitOpError() << "the multiplier is zero";
  return success();
}

LogicalResult PositionEmbeddingOp::verify() {
  if (failed(expectRank(*this, "the table", getTable(), 2)) ||
      failed(expectStatic(*this, "the table", getTable())) ||
      failed(expectFloating(*this, "the table", getTable())) ||
      failed(expectShape(*this, "the result", getResult(),
                         {kRows, shapeOf(getTable())[1]})) ||
      failed(expectFloat32(*this, "the result", getResult())))
    return failure();
  if (auto program = (*this)->getParentOfType<ProgramOp>())
    if (static_cast<int64_t>(program.getMaxSeq()) > shapeOf(getTable())[0])
      return emitOpError() << "the table has " << shapeOf(getTable())[0]
                           << " positions, fewer than the program's max_seq "
                           << program.getMaxSeq();
  return success();
}

LogicalResult HeadLinearOp::verify() {
  if (failed(expectHeads(*this, "x", getX())) ||
      failed(expectRank(*this, "the weight", getWeight(), 3)) ||
      failed(expectStatic(*this, "the weight", getWeight())) ||
      failed(expectWeight(*this, "the weight", getWeight())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getWeight());
  if (x[0] != kRows || weight[0] != x[1] || weight[2] != x[2])
    return emitOpError() << "x has shape " << text(x) << " and the weight "
                         << text(weight)
                         << ", expected [rows, H, K] and [H, N, K]";
  if (weight[1] % kHeadOutputs)
    return emitOpError() << "a head has " << weight[1]
                         << " outputs, expected a multiple of " << kHeadOutputs;
  if (failed(expectShape(*this, "the result", getResult(),
                         {kRows, x[1], weight[1]})))
    return failure();
  return expectFloat32(*this, "the result", getResult());
}

/// The operands of a normalisation at the start of a linear.
static LogicalResult verifyNorm(Operation *op, Norm norm, Value weight,
                                Value bias, const APFloat &epsilon, int64_t k) {
  if (norm == Norm::identity) {
    if (weight || bias)
      return op->emitOpError() << "has norm operands but no norm";
    return success();
  }
  if (!weight)
    return op->emitOpError() << "has a norm but no norm weight";
  if (norm == Norm::rms && bias)
    return op->emitOpError() << "an rms norm takes no bias";
  if (failed(expectShape(op, "the norm weight", weight, {k})))
    return failure();
  if (bias && failed(expectShape(op, "the norm bias", bias, {k})))
    return failure();
  return expectNotNegative(op, "epsilon", epsilon);
}

static LogicalResult verifyWeight(Operation *op, StringRef what, Value x,
                                  Value weight, Value result) {
  if (failed(expectRank(op, what, weight, 2)) ||
      failed(expectStatic(op, what, weight)) ||
      failed(expectWeight(op, what, weight)))
    return failure();
  int64_t n = shapeOf(weight)[0], k = shapeOf(weight)[1];
  if (shapeOf(x)[1] != k)
    return op->emitOpError() << "x has width " << shapeOf(x)[1] << ", but "
                             << what << " takes " << k;
  if (failed(expectShape(op, "the result", result, {shapeOf(x)[0], n})))
    return failure();
  return expectFloat32(op, "the result", result);
}

/// Of one factor of a gated product, and the other.
static LogicalResult expectOwnActivation(Operation *op, Activation activation) {
  if (activation == Activation::clamped_swiglu)
    return op->emitOpError() << "the activation clamped_swiglu is one of gated "
                                "products";
  return success();
}

LogicalResult LinearOp::verify() {
  if (failed(expectOwnActivation(*this, getActivation())) ||
      failed(expectRowsByWidth(*this, getX())) ||
      failed(
          verifyWeight(*this, "the weight", getX(), getWeight(), getResult())))
    return failure();
  if (getBias() && failed(expectShape(*this, "the bias", getBias(),
                                      {shapeOf(getWeight())[0]})))
    return failure();
  if (getResidual() && getResidual().getType() != getResult().getType())
    return emitOpError() << "the residual has type " << getResidual().getType()
                         << ", expected " << getResult().getType();
  return verifyNorm(*this, getNorm(), getNormWeight(), getNormBias(),
                    getEpsilon(), shapeOf(getX())[1]);
}

LogicalResult GatedLinearOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(verifyWeight(*this, "the gate", getX(), getGate(), getResult())) ||
      failed(
          verifyWeight(*this, "the up weight", getX(), getUp(), getResult())))
    return failure();
  if (getGate().getType() != getUp().getType())
    return emitOpError() << "the weights' types differ";
  if (!getGateBias() != !getUpBias())
    return emitOpError() << "has one bias of two";
  for (Value bias : {getGateBias(), getUpBias()})
    if (bias &&
        failed(expectShape(*this, "a bias", bias, {shapeOf(getGate())[0]})))
      return failure();
  if (getActivation() == Activation::identity)
    return emitOpError() << "has no activation";
  return verifyNorm(*this, getNorm(), getNormWeight(), getNormBias(),
                    getEpsilon(), shapeOf(getX())[1]);
}

LogicalResult RmsNormOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() == 3) {
    if (!isSymbol(x[0]) || isSymbol(x[1]) || isSymbol(x[2]))
      return emitOpError() << "x has shape " << text(x)
                           << ", expected a symbol and numbers";
    if (failed(expectFloat32(*this, "x", getX())))
      return failure();
  } else if (failed(expectRowsByWidth(*this, getX()))) {
    return failure();
  }
  if (failed(expectSameType(*this, getX(), getResult())) ||
      failed(expectShape(*this, "the weight", getWeight(), {x.back()})))
    return failure();
  return expectNotNegative(*this, "epsilon", getEpsilon());
}

LogicalResult NormBeginOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectSameType(*this, getX(), getScaled())) ||
      failed(
          expectShape(*this, "the weight", getWeight(), {shapeOf(getX())[1]})))
    return failure();
  return verifySquares(*this, "the squares", getSquares(), getX());
}

LogicalResult NormEndOp::verify() {
  if (failed(expectSameType(*this, getX(), getResult())))
    return failure();
  return verifyNormEnd(*this, getX(), getSquares(), getWidth(), getEpsilon());
}

LogicalResult LayerNormOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())) ||
      failed(expectSameType(*this, getX(), getResult())) ||
      failed(
          expectShape(*this, "the weight", getWeight(), {shapeOf(getX())[1]})))
    return failure();
  if (getBias() &&
      failed(expectShape(*this, "the bias", getBias(), {shapeOf(getX())[1]})))
    return failure();
  return expectNotNegative(*this, "epsilon", getEpsilon());
}

LogicalResult RopeTableOp::verify() {
  if (getFrequencies().empty())
    return emitOpError() << "has no frequencies";
  if (!llvm::all_of(getFrequencies(), [](float f) { return std::isfinite(f); }))
    return emitOpError() << "a frequency is not finite";
  if (getPositions() &&
      failed(expectIndices(*this, "positions", getPositions())))
    return failure();
  if (failed(expectFinite(*this, "the scale", getScale())) ||
      failed(expectShape(*this, "the result", getResult(),
                         {kRows, 2 * int64_t(getFrequencies().size())})))
    return failure();
  return expectFloat32(*this, "the result", getResult());
}

LogicalResult RopeOp::verify() {
  return verifyRope(*this, getX(), getTable(), getResult());
}

LogicalResult JoinHeadsOp::verify() {
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"front", getFront()}, {"back", getBack()}})
    if (failed(expectHeads(*this, name, value)))
      return failure();
  ArrayRef<int64_t> front = shapeOf(getFront()), back = shapeOf(getBack());
  if (front[0] != kRows || back[0] != kRows || front[1] != back[1])
    return emitOpError() << "front has shape " << text(front) << " and back "
                         << text(back) << ", expected rows of as many heads";
  if (failed(expectShape(*this, "the result", getResult(),
                         {kRows, front[1], front[2] + back[2]})))
    return failure();
  return expectFloat32(*this, "the result", getResult());
}

LogicalResult KvAppendOp::verify() {
  if (failed(verifyAppend(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (failed(expectShape(*this, "the result", getResult(), {kKv, x[1], x[2]})))
    return failure();
  return expectFloat32(*this, "the result", getResult());
}

LogicalResult LastRowsOp::verify() {
  if (failed(expectRowsByWidth(*this, getX())))
    return failure();
  if (shapeOf(getX())[0] != kRows)
    return emitOpError() << "x has shape " << text(shapeOf(getX()))
                         << ", expected [rows, width]";
  if (failed(expectShape(*this, "the result", getResult(),
                         {kOutputs, shapeOf(getX())[1]})))
    return failure();
  return expectFloat32(*this, "the result", getResult());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

LogicalResult GateOp::verify() {
  if (failed(expectSameType(*this, getX(), getResult())))
    return failure();
  return verifyGated(*this, getX(), getGate());
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifySameTypeUnary(*this, getX(), getResult())))
    return failure();
  if (!getSinks())
    return success();
  if (failed(expectRank(*this, "x", getX(), 3)))
    return failure();
  return verifySinks(*this, getSinks(), shapeOf(getX())[0]);
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this, kKv)))
    return failure();
  return verifyAttended(*this);
}

LogicalResult MatmulOp::verify() {
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"lhs", getLhs()}, {"rhs", getRhs()}})
    if (failed(expectRank(*this, name, value, 3)) ||
        failed(expectFloat32(*this, name, value)))
      return failure();
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (isSymbol(lhs[0]) || lhs[0] != rhs[0] || lhs[2] != rhs[1] ||
      !isSymbol(lhs[1]))
    return emitOpError() << "lhs has shape " << text(lhs) << " and rhs "
                         << text(rhs) << ", expected [B, M, K] and [B, K, N]";
  if (failed(expectShape(*this, "the result", getResult(),
                         {lhs[0], lhs[1], rhs[2]})))
    return failure();
  return expectFloat32(*this, "the result", getResult());
}

LogicalResult MaskOp::verify() {
  if (failed(verifyMask(*this, "x", getX(), getResult())))
    return failure();
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (program && program.getTraining() != (getPositions() != nullptr))
    return emitOpError() << (getPositions() ? "has positions outside training"
                                            : "has no positions in training");
  if (getPositions() &&
      failed(expectIndices(*this, "positions", getPositions())))
    return failure();
  if (getWindowAttr().getInt() < 0)
    return emitOpError() << "window is negative";
  return success();
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

LogicalResult ActivateOp::verify() {
  if (failed(expectOwnActivation(*this, getActivation())))
    return failure();
  return verifySameTypeUnary(*this, getX(), getResult());
}
LogicalResult ScaleOp::verify() {
  if (failed(expectFinite(*this, "the factor", getFactor())))
    return failure();
  return verifySameTypeUnary(*this, getX(), getResult());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult expectSameElements(Operation *op) {
  auto x = cast<StepTensorType>(op->getOperand(0).getType());
  auto result = cast<StepTensorType>(op->getResult(0).getType());
  if (x.getElementType() == result.getElementType())
    return success();
  return op->emitOpError() << "element types differ: " << x.getElementType()
                           << " and " << result.getElementType();
}

LogicalResult ReshapeOp::verify() {
  if (failed(expectSameElements(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), result = shapeOf(getResult());
  auto product = [](ArrayRef<int64_t> shape) -> std::optional<int64_t> {
    int64_t product = 1;
    for (int64_t dimension : shape)
      if (isSymbol(dimension) ||
          __builtin_mul_overflow(product, dimension, &product))
        return std::nullopt;
    return product;
  };
  if (x.empty() || result.empty() || x[0] != result[0])
    return emitOpError() << "changes the first dimension: " << text(x) << " to "
                         << text(result);
  std::optional<int64_t> from = product(x.drop_front());
  if (!from || from != product(result.drop_front()))
    return emitOpError() << "cannot make " << text(result) << " of " << text(x);
  return success();
}

LogicalResult TransposeOp::verify() {
  if (failed(expectSameElements(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), permutation = getPermutation();
  SmallVector<bool> seen(x.size());
  if (permutation.size() != x.size())
    return emitOpError() << "the permutation names " << permutation.size()
                         << " of " << x.size() << " dimensions";
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= int64_t(x.size()) || seen[axis])
      return emitOpError() << "the permutation is none";
    seen[axis] = true;
  }
  Shape expected;
  for (int64_t axis : permutation)
    expected.push_back(x[axis]);
  return expectShape(*this, "the result", getResult(), expected);
}

/// `axis` names a numbered dimension of the first operand.
static LogicalResult verifyAxis(Operation *op, int64_t axis) {
  ArrayRef<int64_t> x = shapeOf(op->getOperand(0));
  if (axis < 0 || axis >= int64_t(x.size()))
    return op->emitOpError()
           << "axis " << axis << " is not one of " << x.size() << " dimensions";
  if (isSymbol(x[axis]))
    return op->emitOpError() << "axis " << axis << " is the symbol '"
                             << dimensionName(x[axis]) << "'";
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(expectSameElements(*this)) || failed(verifyAxis(*this, getAxis())))
    return failure();
  Shape expected(shapeOf(getX()));
  ArrayRef<int64_t> result = shapeOf(getResult());
  if (result.size() != expected.size())
    return emitOpError() << "changes the number of dimensions";
  int64_t size = result[getAxis()];
  int64_t offset = getOffset();
  if (isSymbol(size) || offset < 0 || offset > expected[getAxis()] - size)
    return emitOpError() << "takes " << dimensionName(size) << " from offset "
                         << offset << " of " << expected[getAxis()];
  expected[getAxis()] = size;
  return expectShape(*this, "the result", getResult(), expected);
}

LogicalResult ConcatOp::verify() {
  if (getParts().size() < 2)
    return emitOpError() << "joins fewer than two parts";
  Shape expected(shapeOf(getParts().front()));
  if (expected.empty())
    return emitOpError() << "joins tensors without dimensions";
  expected[0] = 0;
  for (Value part : getParts()) {
    if (!part.getDefiningOp<ParameterOp>())
      return emitOpError() << "joins a value that is no parameter";
    ArrayRef<int64_t> shape = shapeOf(part);
    if (shape.drop_front() != ArrayRef(expected).drop_front() ||
        cast<StepTensorType>(part.getType()).getElementType() !=
            cast<StepTensorType>(getResult().getType()).getElementType())
      return emitOpError() << "joins " << part.getType() << " into "
                           << getResult().getType();
    expected[0] += shape[0];
  }
  return expectShape(*this, "the result", getResult(), expected);
}

LogicalResult BroadcastOp::verify() {
  if (failed(expectSameElements(*this)) || failed(verifyAxis(*this, getAxis())))
    return failure();
  if (getTimesAttr().getInt() < 1)
    return emitOpError() << "times is less than 1";
  Shape expected(shapeOf(getX()));
  if (__builtin_mul_overflow(expected[getAxis()], int64_t(getTimes()),
                             &expected[getAxis()]))
    return emitOpError() << "is too large";
  return expectShape(*this, "the result", getResult(), expected);
}

LogicalResult CustomOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "has no operands";
  if (getResults().empty())
    return emitOpError() << "has no results";
  if (getStates() && getStates()->size() != getNumResults())
    return emitOpError() << "names " << getStates()->size() << " states for "
                         << getNumResults() << " results";
  for (OpResult result : getResults()) {
    StepTensorType type = typeOf(result);
    ArrayRef<int64_t> shape = type.getShape();
    if (!getState(result.getResultNumber()).empty()) {
      if (shape.size() != 3 || shape[0] != kKv || isSymbol(shape[1]) ||
          isSymbol(shape[2]) || !type.getElementType().isF32())
        return emitOpError() << "makes a state of " << type
                             << ", expected kv x heads x dim x f32";
      continue;
    }
    if (llvm::count_if(shape, [](int64_t dimension) {
          return dimension == kRows || dimension == kOutputs;
        }) > 1)
      return emitOpError() << "makes " << type
                           << ", expected at most one dimension of rows or "
                              "outputs";
  }
  return success();
}
