//===- AdapterSlots.cpp - adapters that rows of a batch have --------------===//

#include "passes/batching/Passes.h"

#include "dialects/Model/LowRankPairs.h"

#include "mlir/IR/PatternMatch.h"

namespace baton::batching {
#define GEN_PASS_DEF_ADAPTERSLOTS
#include "passes/batching/Passes.h.inc"
} // namespace baton::batching

using namespace mlir;
using namespace baton;
using namespace baton::model;

namespace {

/// Rewrites one program.
class Slots {
public:
  Slots(ProgramOp program, int64_t ranks, int64_t most, Type stored,
        ArrayRef<std::string> targets)
      : program(program), ranks(ranks), most(most), stored(stored),
        targets(targets), rewriter(program.getContext()) {}

  LogicalResult run();
  int64_t pairs = 0;

private:
  /// A parameter that a linear multiplies by, or one of those that it
  /// multiplies by at once.
  struct Part {
    /// Mutable because accessors of ops are not const.
    mutable ParameterOp weight;
    /// Its first column of what the linear makes.
    int64_t offset;
    bool isTarget;
  };

  SmallVector<Part> partsOf(Value weight);
  void addArguments();
  void split(GatedLinearOp gated);
  void ungroup(LinearOp group, ArrayRef<Part> parts);
  template <typename OpT> Value takeNorm(OpT linear);
  void adapt(LinearOp linear);

  ProgramOp program;
  const int64_t ranks, most;
  const Type stored;
  PairTargets targets;
  IRRewriter rewriter;
  Value places, counts;
};

} // namespace

/// The parts of a linear's weight.
SmallVector<Slots::Part> Slots::partsOf(Value weight) {
  SmallVector<Part> parts;
  int64_t offset = 0;
  auto add = [&](Value value) {
    auto parameter = value.getDefiningOp<ParameterOp>();
    parts.push_back({parameter, offset, targets.take(parameter)});
    offset += typeOf(value).getDimension(0);
  };
  if (auto concat = weight.getDefiningOp<ConcatOp>())
    llvm::for_each(concat.getParts(), add);
  else
    add(weight);
  return parts;
}

void Slots::addArguments() {
  Block &block = program.getBody().front();
  auto indices = typeOf(block.getArgument(0));
  places = block.addArgument(indices, program.getLoc());
  counts = block.addArgument(indices, program.getLoc());
}

/// What the module of a weight is called, and `part` behind it.
static Location nameOf(Value weight, StringRef part = "") {
  if (auto concat = weight.getDefiningOp<ConcatOp>())
    weight = concat.getParts().front();
  auto named = dyn_cast<NameLoc>(weight.getLoc());
  StringRef name = named ? named.getName().getValue() : StringRef("linear");
  name.consume_back(".weight");
  return NameLoc::get(StringAttr::get(weight.getContext(), name + part));
}

/// The norm of a linear's rows as an op of its own: pairs multiply these, too.
template <typename OpT> Value Slots::takeNorm(OpT linear) {
  Value x = linear.getX();
  if (linear.getNorm() == Norm::identity)
    return x;
  rewriter.setInsertionPoint(linear);
  Location location = nameOf(linear.getNormWeight());
  if (linear.getNorm() == Norm::rms)
    return rewriter.create<RmsNormOp>(location, x.getType(), x,
                                      linear.getNormWeight(),
                                      linear.getEpsilonAttr());
  return rewriter.create<LayerNormOp>(
      location, x.getType(), x, linear.getNormWeight(), linear.getNormBias(),
      linear.getEpsilonAttr());
}

/// activate(gate) * up
void Slots::split(GatedLinearOp gated) {
  Value x = takeNorm(gated);
  rewriter.setInsertionPoint(gated);
  const Value none;
  auto multiply = [&](Value weight, Value bias) {
    auto linear = rewriter.create<LinearOp>(
        nameOf(weight), gated.getType(), x, weight, bias, /*norm_weight=*/none,
        /*norm_bias=*/none, /*residual=*/none, Norm::identity, APFloat(0.0f));
    linear->setDiscardableAttrs(gated->getDiscardableAttrDictionary());
    return linear;
  };
  LinearOp gate = multiply(gated.getGate(), gated.getGateBias()),
           up = multiply(gated.getUp(), gated.getUpBias());
  auto activated =
      rewriter.create<ActivateOp>(nameOf(gated.getGate(), ".activation"),
                                  gated.getType(), gate, gated.getActivation());
  rewriter.replaceOpWithNewOp<MulOp>(gated, gated.getType(), activated, up);
  adapt(gate);
  adapt(up);
}

/// Linears of their own again, each with its own bias.
void Slots::ungroup(LinearOp group, ArrayRef<Part> parts) {
  Value x = takeNorm(group);
  rewriter.setInsertionPoint(group);
  auto biases =
      group.getBias() ? group.getBias().getDefiningOp<ConcatOp>() : ConcatOp();
  SmallVector<LinearOp> linears;
  const Value none;
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto type = typeOf(group.getResult());
    const int64_t columns = typeOf(part.weight.getResult()).getDimension(0);
    linears.push_back(rewriter.create<LinearOp>(
        nameOf(part.weight), type.withShape({type.getDimension(0), columns}), x,
        part.weight, biases ? biases.getParts()[i] : none,
        /*norm_weight=*/none, /*norm_bias=*/none, /*residual=*/none,
        Norm::identity, APFloat(0.0f)));
  }
  for (Operation *user : llvm::make_early_inc_range(group->getUsers())) {
    auto slice = cast<SliceOp>(user);
    auto part = llvm::find_if(parts, [&](const Part &part) {
      return part.offset == int64_t(slice.getOffset());
    });
    rewriter.replaceOp(slice, linears[part - parts.begin()].getResult());
  }
  Operation *joined[] = {group.getWeight().getDefiningOp(), biases};
  rewriter.eraseOp(group);
  for (Operation *concat : joined)
    if (concat && concat->use_empty())
      rewriter.eraseOp(concat);
  for (LinearOp linear : linears)
    adapt(linear);
}

/// Whether a group is read part by part, by nothing else.
static bool isReadByParts(LinearOp group, ArrayRef<int64_t> offsets,
                          ArrayRef<int64_t> columns) {
  return !group.getResidual() &&
         group.getActivation() == Activation::identity &&
         llvm::all_of(group->getUsers(), [&](Operation *user) {
           auto slice = dyn_cast<SliceOp>(user);
           if (!slice || slice.getAxis() != 1)
             return false;
           auto *at = llvm::find(offsets, int64_t(slice.getOffset()));
           return at != offsets.end() &&
                  columns[at - offsets.begin()] ==
                      typeOf(slice.getResult()).getDimension(1);
         });
}

void Slots::adapt(LinearOp linear) {
  // The output projection has rows with logits only.
  if (isRouter(linear) || typeOf(linear.getX()).getDimension(0) != kRows)
    return;
  SmallVector<Part> parts = partsOf(linear.getWeight());
  if (llvm::none_of(parts, [](const Part &part) { return part.isTarget; }))
    return;
  if (llvm::any_of(parts, [](const Part &part) {
        return part.isTarget && part.offset % kRankUnit;
      })) {
    SmallVector<int64_t> offsets, columns;
    for (const Part &part : parts) {
      offsets.push_back(part.offset);
      columns.push_back(typeOf(part.weight.getResult()).getDimension(0));
    }
    if (isReadByParts(linear, offsets, columns))
      return ungroup(linear, parts);
  }
  Value x = takeNorm(linear);
  const Activation activation = linear.getActivation();
  Value residual = linear.getResidual();
  const Value none;
  rewriter.setInsertionPoint(linear);
  // A sum behind an activation comes behind the pair.
  auto base = rewriter.create<LinearOp>(
      linear.getLoc(), typeOf(linear.getResult()), x, linear.getWeight(),
      linear.getBias(), /*norm_weight=*/none, /*norm_bias=*/none,
      activation == Activation::identity ? residual : none, Norm::identity,
      APFloat(0.0f));
  base->setDiscardableAttrs(linear->getDiscardableAttrDictionary());
  Value sum = base;
  for (const Part &part : parts) {
    if (!part.isTarget)
      continue;
    const int64_t inputs = typeOf(x).getDimension(1),
                  outputs = typeOf(part.weight.getResult()).getDimension(0);
    // Parameters stand anywhere before their uses.
    ParameterOp weight = part.weight;
    ParameterOp a = makePairParameter(rewriter, weight, weight.getLoc(),
                                      "lora_A", {most, inputs}, stored),
                b = makePairParameter(rewriter, weight, weight.getLoc(),
                                      "lora_B", {outputs, most}, stored);
    auto narrow = typeOf(x).withShape({kRows, most});
    Value low =
        rewriter.create<AdapterDownOp>(a.getLoc(), narrow, x, a, places, counts,
                                       rewriter.getI64IntegerAttr(ranks));
    sum = rewriter.create<AdapterUpOp>(b.getLoc(), sum.getType(), sum, low, b,
                                       places, counts,
                                       rewriter.getI64IntegerAttr(ranks),
                                       rewriter.getI64IntegerAttr(part.offset));
    ++pairs;
  }
  if (activation != Activation::identity) {
    sum = rewriter.create<ActivateOp>(nameOf(linear.getWeight(), ".activation"),
                                      sum.getType(), sum, activation);
    if (residual)
      sum =
          rewriter.create<AddOp>(linear.getLoc(), sum.getType(), residual, sum);
  }
  rewriter.replaceOp(linear, sum);
}

LogicalResult Slots::run() {
  addArguments();
  SmallVector<Operation *> linears;
  program.walk([&](Operation *op) {
    if (isa<LinearOp, GatedLinearOp>(op))
      linears.push_back(op);
  });
  for (Operation *op : linears)
    if (auto linear = dyn_cast<LinearOp>(op)) {
      adapt(linear);
    } else {
      auto gated = cast<GatedLinearOp>(op);
      if (llvm::any_of(partsOf(gated.getGate()),
                       [](const Part &part) { return part.isTarget; }) ||
          partsOf(gated.getUp()).front().isTarget)
        split(gated);
    }
  if (failed(targets.check(program)))
    return failure();
  program->setAttr(
      kAdapters,
      rewriter.getDictionaryAttr(
          {rewriter.getNamedAttr("ranks", rewriter.getI64IntegerAttr(ranks)),
           rewriter.getNamedAttr("most", rewriter.getI64IntegerAttr(most)),
           rewriter.getNamedAttr("targets",
                                 rewriter.getStrArrayAttr(targets.taken()))}));
  return success();
}

namespace {
struct AdapterSlots : baton::batching::impl::AdapterSlotsBase<AdapterSlots> {
  using AdapterSlotsBase::AdapterSlotsBase;

  void runOnOperation() override {
    std::string fault;
    if (most < 1 || most > kMostRanks || most % kRankUnit)
      fault = "most is " + std::to_string(most) +
              ", expected a multiple of 16 up to " + std::to_string(kMostRanks);
    else if (ranks < most || ranks % kRankUnit || ranks > (1 << 24))
      fault = "ranks is " + std::to_string(ranks) +
              ", expected a multiple of 16, at least " + std::to_string(most);
    else if (stored != "f32" && stored != "bf16")
      fault = "stored is '" + stored + "', expected f32 or bf16";
    else if (targets.empty())
      fault = "there are no targets";
    if (!fault.empty()) {
      getOperation().emitError() << "adapter-slots: " << fault;
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<ProgramOp>()) {
      if (program->hasAttr(kAdapters))
        continue;
      if (!program.getBatch()) {
        program.emitOpError() << "is no batch; batch-form makes one";
        return signalPassFailure();
      }
      std::vector<std::string> names(targets.begin(), targets.end());
      Builder builder(&getContext());
      Type element = stored == "f32" ? Type(builder.getF32Type())
                                     : Type(builder.getBF16Type());
      Slots slots(program, ranks, most, element, names);
      if (failed(slots.run()))
        return signalPassFailure();
      numPairs += slots.pairs;
    }
  }
};
} // namespace
