//===- LinearGrouping.cpp - one linear for several of the same rows -------===//

#include "passes/fusion/Passes.h"
#include "passes/fusion/Rewrites.h"

#include "llvm/ADT/MapVector.h"

namespace baton::fusion {
#define GEN_PASS_DEF_LINEARGROUPING
#include "passes/fusion/Passes.h.inc"
} // namespace baton::fusion

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::fusion;

//===----------------------------------------------------------------------===//
// What may be grouped
//===----------------------------------------------------------------------===//

/// A parameter that nobody else reads. (Packed together with others, it could
/// not also stand alone.)
static ParameterOp ownParameter(Value value) {
  return value.hasOneUse() ? value.getDefiningOp<ParameterOp>() : ParameterOp();
}

/// Nothing but x · weightᵀ (+ bias), of own parameters.
static bool isPlain(LinearOp op) {
  return op.getNorm() == Norm::identity &&
         op.getActivation() == Activation::identity && !op.getResidual() &&
         ownParameter(op.getWeight()) &&
         (!op.getBias() || ownParameter(op.getBias()));
}

static Type elementTypeOf(Value value) {
  return value ? cast<StepTensorType>(value.getType()).getElementType()
               : Type();
}

static bool isStoredTransposed(LinearOp op) {
  return op.getWeight().getDefiningOp<ParameterOp>().getTransposed();
}

/// The weights and biases can be stored side by side.
static bool haveOneStorage(LinearOp a, LinearOp b) {
  return elementTypeOf(a.getWeight()) == elementTypeOf(b.getWeight()) &&
         elementTypeOf(a.getBias()) == elementTypeOf(b.getBias()) &&
         isStoredTransposed(a) == isStoredTransposed(b);
}

//===----------------------------------------------------------------------===//
// Gated linears
//===----------------------------------------------------------------------===//

/// Whether panels of both weights may have different formats, which a gated
/// linear, that reads them in pairs, has no body for.
static bool isMixed(LinearOp op) {
  auto type = dyn_cast<QuantizedType>(elementTypeOf(op.getWeight()));
  return type && type.isMixed();
}

/// mul(activate(linear), linear) of the same rows, as (activate, up).
static std::optional<std::pair<ActivateOp, LinearOp>> matchGated(MulOp mul) {
  for (auto [gated, other] : {std::pair(mul.getLhs(), mul.getRhs()),
                              std::pair(mul.getRhs(), mul.getLhs())}) {
    auto activate = gated.getDefiningOp<ActivateOp>();
    auto up = other.getDefiningOp<LinearOp>();
    if (!activate || !up || activate.getActivation() == Activation::identity)
      continue;
    auto gate = activate.getX().getDefiningOp<LinearOp>();
    if (!gate || !isPlain(gate) || !isPlain(up) || gate.getX() != up.getX() ||
        gate.getWeight().getType() != up.getWeight().getType() ||
        !haveOneStorage(gate, up) || isMixed(gate))
      continue;
    if (!gate.getResult().hasOneUse() || !up.getResult().hasOneUse() ||
        !gated.hasOneUse())
      continue;
    if (gate->getBlock() != mul->getBlock() ||
        up->getBlock() != mul->getBlock())
      continue;
    return std::pair(activate, up);
  }
  return std::nullopt;
}

static Operation *makeGated(RewriterBase &rewriter, MulOp mul,
                            ActivateOp activate, LinearOp up) {
  auto gate = activate.getX().getDefiningOp<LinearOp>();
  rewriter.setInsertionPoint(mul);
  Value none;
  auto gated = rewriter.create<GatedLinearOp>(
      FusedLoc::get(mul.getContext(),
                    {mul.getLoc(), gate.getLoc(), up.getLoc()}),
      mul.getType(), gate.getX(), gate.getWeight(), up.getWeight(),
      gate.getBias(), up.getBias(), /*norm_weight=*/none,
      /*norm_bias=*/none, Norm::identity, llvm::APFloat(0.0f),
      activate.getActivation());
  rewriter.replaceAllUsesWith(mul.getResult(), gated.getResult());
  for (Operation *dead : {mul.getOperation(), activate.getOperation(),
                          gate.getOperation(), up.getOperation()})
    rewriter.eraseOp(dead);
  return gated;
}

Outcome fusion::fuseGated(RewriterBase &rewriter, MulOp product) {
  auto gated = matchGated(product);
  if (!gated)
    return {false, product,
            "the product stays a phase: it is not of an activated linear and "
            "a linear of the same rows, equally stored and read by nothing "
            "else"};
  return {true, makeGated(rewriter, product, gated->first, gated->second),
          "multiplies gate and value while both are in registers: two "
          "products of the same rows are one phase, and neither is stored"};
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Its only user becomes the linear's epilogue later, which a slice prevents.
static bool awaitsEpilogue(LinearOp op) {
  return op.getResult().hasOneUse() &&
         isa<ActivateOp, AddOp>(*op.getResult().getUsers().begin());
}

/// "layers.self_attn.q_proj" and "layers.self_attn.k_proj" make
/// "layers.self_attn.q_proj+k_proj".
static Location joinLocations(ArrayRef<LinearOp> linears) {
  SmallVector<Location> locations;
  std::string joined;
  StringRef module;
  for (LinearOp linear : linears) {
    locations.push_back(linear.getLoc());
    auto named = dyn_cast<NameLoc>(linear.getLoc());
    if (!named)
      continue;
    StringRef name = named.getName().getValue();
    if (locations.size() == 1)
      module = name.substr(0, name.rfind('.') + 1);
    if (!module.empty() && name.starts_with(module) && !joined.empty())
      name = name.drop_front(module.size());
    joined += (joined.empty() ? "" : "+") + name.str();
  }
  MLIRContext *context = linears.front()->getContext();
  if (!llvm::all_of(locations, [](Location l) { return isa<NameLoc>(l); }))
    return FusedLoc::get(context, locations);
  return NameLoc::get(StringAttr::get(context, joined));
}

/// One parameter of those that `select` gives, made before `linears.front()`.
static Value concatenate(OpBuilder &builder, Location location,
                         ArrayRef<LinearOp> linears,
                         function_ref<Value(LinearOp)> select) {
  SmallVector<Value> parts;
  int64_t size = 0;
  for (LinearOp linear : linears) {
    Value part = select(linear);
    if (!part)
      return {};
    // A parameter has no operands, so it may stand anywhere before its uses.
    Operation *parameter = part.getDefiningOp();
    if (parameter->getBlock() == linears.front()->getBlock())
      parameter->moveBefore(linears.front());
    parts.push_back(part);
    size += cast<StepTensorType>(part.getType()).getDimension(0);
  }
  auto type = cast<StepTensorType>(parts.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = size;
  return builder.create<ConcatOp>(location, type.withShape(shape), parts);
}

/// `linears` are of one block, in its order.
static Operation *makeGroup(RewriterBase &builder, ArrayRef<LinearOp> linears) {
  LinearOp first = linears.front();
  Location location = joinLocations(linears);
  builder.setInsertionPoint(first);
  Value weight = concatenate(builder, location, linears,
                             [](LinearOp op) { return op.getWeight(); });
  Value bias = concatenate(builder, location, linears,
                           [](LinearOp op) { return op.getBias(); });
  auto resultType = cast<StepTensorType>(first.getType());
  int64_t width = cast<StepTensorType>(weight.getType()).getDimension(0);
  Value none;
  auto group = builder.create<LinearOp>(
      location, resultType.withShape({resultType.getDimension(0), width}),
      first.getX(), weight, bias, /*norm_weight=*/none, /*norm_bias=*/none,
      /*residual=*/none, Norm::identity, llvm::APFloat(0.0f));
  int64_t offset = 0;
  for (LinearOp linear : linears) {
    auto part = builder.create<SliceOp>(linear.getLoc(), linear.getType(),
                                        group, builder.getI64IntegerAttr(1),
                                        builder.getI64IntegerAttr(offset));
    offset += cast<StepTensorType>(linear.getType()).getDimension(1);
    builder.replaceAllUsesWith(linear.getResult(), part.getResult());
  }
  for (LinearOp linear : linears)
    builder.eraseOp(linear);
  return group;
}

SmallVector<Outcome> fusion::groupLinears(RewriterBase &rewriter,
                                          ArrayRef<LinearOp> linears) {
  // Of one block and one input, in the order given.
  llvm::MapVector<std::pair<Block *, Value>, SmallVector<SmallVector<LinearOp>>>
      byInput;
  SmallVector<Outcome> outcomes;
  for (LinearOp linear : linears) {
    if (!isPlain(linear)) {
      outcomes.push_back({false, linear,
                          "is not grouped: it does more than multiply, or "
                          "shares its parameters"});
      continue;
    }
    if (awaitsEpilogue(linear)) {
      outcomes.push_back({false, linear,
                          "is not grouped: what it makes is read by an "
                          "activation or a sum alone, which is worth more as "
                          "its epilogue"});
      continue;
    }
    auto &groups = byInput[{linear->getBlock(), linear.getX()}];
    auto *fitting = llvm::find_if(groups, [&](ArrayRef<LinearOp> group) {
      return haveOneStorage(group.front(), linear);
    });
    if (fitting == groups.end())
      groups.push_back({linear});
    else
      fitting->push_back(linear);
  }
  for (auto &[input, groups] : byInput)
    for (SmallVector<LinearOp> &group : groups) {
      if (group.size() == 1) {
        outcomes.push_back({false, group.front(),
                            "is not grouped: no other linear of its block "
                            "reads the same rows and is stored alike"});
        continue;
      }
      llvm::sort(group,
                 [](LinearOp a, LinearOp b) { return a->isBeforeInBlock(b); });
      std::string why = "is " + std::to_string(group.size()) +
                        " linears of the same rows: one phase reads them, "
                        "and small ones share its tasks";
      outcomes.push_back({true, makeGroup(rewriter, group), why});
    }
  return outcomes;
}

namespace {
struct LinearGrouping
    : baton::fusion::impl::LinearGroupingBase<LinearGrouping> {
  using LinearGroupingBase::LinearGroupingBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<MulOp> products;
    getOperation().walk([&](MulOp mul) { products.push_back(mul); });
    for (MulOp mul : products) {
      Outcome outcome = fuseGated(rewriter, mul);
      numGated += outcome.done;
      if (explain)
        outcome.remark();
    }

    SmallVector<LinearOp> linears;
    getOperation().walk([&](LinearOp op) { linears.push_back(op); });
    for (const Outcome &outcome : groupLinears(rewriter, linears)) {
      numGroups += outcome.done;
      if (explain)
        outcome.remark();
    }
  }
};
} // namespace
