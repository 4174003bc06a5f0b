//===- LinearGrouping.cpp - one linear for several of the same rows -------===//

#include "passes/fusion/Passes.h"

#include "dialects/Model/Model.h"

#include "llvm/ADT/MapVector.h"

namespace baton::fusion {
#define GEN_PASS_DEF_LINEARGROUPING
#include "passes/fusion/Passes.h.inc"
} // namespace baton::fusion

using namespace mlir;
using namespace baton;
using namespace baton::model;

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
        !haveOneStorage(gate, up))
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

static void makeGated(MulOp mul, ActivateOp activate, LinearOp up) {
  auto gate = activate.getX().getDefiningOp<LinearOp>();
  OpBuilder builder(mul);
  Value none;
  auto gated = builder.create<GatedLinearOp>(
      mul.getLoc(), mul.getType(), gate.getX(), gate.getWeight(),
      up.getWeight(), gate.getBias(), up.getBias(), /*norm_weight=*/none,
      /*norm_bias=*/none, Norm::identity, llvm::APFloat(0.0f),
      activate.getActivation());
  mul.getResult().replaceAllUsesWith(gated.getResult());
  for (Operation *dead : {mul.getOperation(), activate.getOperation(),
                          gate.getOperation(), up.getOperation()})
    dead->erase();
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
static void makeGroup(ArrayRef<LinearOp> linears) {
  LinearOp first = linears.front();
  Location location = joinLocations(linears);
  OpBuilder builder(first);
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
    linear.getResult().replaceAllUsesWith(part.getResult());
  }
  for (LinearOp linear : linears)
    linear.erase();
}

/// The linears of a block that may become one, each list in block order.
static SmallVector<SmallVector<LinearOp>> findGroups(Block &block) {
  llvm::MapVector<Value, SmallVector<SmallVector<LinearOp>, 1>> byInput;
  for (auto linear : block.getOps<LinearOp>()) {
    if (!isPlain(linear) || awaitsEpilogue(linear))
      continue;
    auto &groups = byInput[linear.getX()];
    auto *fitting = llvm::find_if(groups, [&](ArrayRef<LinearOp> group) {
      return haveOneStorage(group.front(), linear);
    });
    if (fitting == groups.end())
      groups.push_back({linear});
    else
      fitting->push_back(linear);
  }
  SmallVector<SmallVector<LinearOp>> found;
  for (auto &[input, groups] : byInput)
    for (SmallVector<LinearOp> &group : groups)
      if (group.size() > 1)
        found.push_back(std::move(group));
  return found;
}

namespace {
struct LinearGrouping
    : baton::fusion::impl::LinearGroupingBase<LinearGrouping> {
  using LinearGroupingBase::LinearGroupingBase;

  void runOnOperation() override {
    SmallVector<MulOp> products;
    getOperation().walk([&](MulOp mul) { products.push_back(mul); });
    for (MulOp mul : products)
      if (auto gated = matchGated(mul)) {
        makeGated(mul, gated->first, gated->second);
        ++numGated;
      }

    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      for (ArrayRef<LinearOp> group : findGroups(*block)) {
        makeGroup(group);
        ++numGroups;
      }
  }
};
} // namespace
