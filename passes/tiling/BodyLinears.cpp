//===- BodyLinears.cpp - linears in task bodies of users, as tasks call them =//

#include "passes/tiling/BodyLinears.h"

#include "dialects/Event/BodyProducts.h"
#include "dialects/Event/LibraryCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using event::BodyOp;
using event::BodyProduct;
using linalg::LinalgOp;

/// On a copy: the body that it is of.
static constexpr llvm::StringLiteral kCopyOfAttribute = "event.copy_of";

//===----------------------------------------------------------------------===//
// Products as calls
//===----------------------------------------------------------------------===//

/// The input that a factor is, if it is one as it is stored, a row of its
/// matrix for each of the dimension's indices.
static OpOperand *storedFactor(LinalgOp op, Value factor,
                               const BodyProduct &product, unsigned dimension) {
  if (auto widened = factor.getDefiningOp<arith::ExtFOp>())
    factor = widened.getIn();
  auto argument = dyn_cast<BlockArgument>(factor);
  if (!argument || event::isFromOutside(op, factor))
    return nullptr;
  OpOperand *input = op.getDpsInputOperand(argument.getArgNumber());
  AffineMap map = op.getMatchingIndexingMap(input);
  const bool isByRows = map.getDimPosition(0) == dimension &&
                        map.getDimPosition(1) == product.depth;
  return isByRows ? input : nullptr;
}

static Type elementOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

/// The op in front of a product that sets all that it adds to to 0, if there is
/// one, and nothing touches the memory between them.
static linalg::FillOp clearingOf(LinalgOp op) {
  Value out = op.getDpsInitOperand(0)->get(), root = event::rootOf(out);
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    auto fill = dyn_cast<linalg::FillOp>(before);
    if (fill && fill.getOutputs().front() == out)
      return matchPattern(fill.getInputs().front(), m_PosZeroFloat())
                 ? fill
                 : linalg::FillOp();
    if (isMemoryEffectFree(before))
      continue;
    WalkResult touches = before->walk([&](Operation *inside) {
      return llvm::any_of(
                 inside->getOperands(),
                 [&](Value operand) { return event::rootOf(operand) == root; })
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (touches.wasInterrupted())
      return {};
  }
  return {};
}

/// Copies what computes a value of the product's region into that of an op of
/// its rows and depths.
static Value copyValue(LinalgOp op, Value value, OpBuilder &builder,
                       IRMapping &copies) {
  if (event::isFromOutside(op, value))
    return value;
  if (Value copy = copies.lookupOrNull(value))
    return copy;
  Operation *maker = value.getDefiningOp();
  for (Value operand : maker->getOperands())
    copyValue(op, operand, builder, copies);
  builder.clone(*maker, copies);
  return copies.lookup(value);
}

/// The left side of a product as a temporary of its rows and depths.
static Value computeLeft(LinalgOp op, const BodyProduct &product, Value weight,
                         OpBuilder &builder) {
  Location location = op.getLoc();
  auto sizeOf = [&](Value memref, int64_t dimension) -> Value {
    return builder.create<memref::DimOp>(location, memref, dimension);
  };
  Value out = op.getDpsInitOperand(0)->get();
  Value temporary = builder.create<memref::AllocaOp>(
      location,
      MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                      elementOf(out)),
      ValueRange{sizeOf(out, 0), sizeOf(weight, 1)});
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<BlockArgument> arguments;
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> loops(3, getAffineConstantExpr(0, context));
  loops[product.row] = getAffineDimExpr(0, context);
  loops[product.depth] = getAffineDimExpr(1, context);
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!map.isFunctionOfDim(product.row))
      continue;
    inputs.push_back(input->get());
    maps.push_back(map.replaceDimsAndSymbols(loops, {}, 2, 0));
    arguments.push_back(
        op->getRegion(0).getArgument(input->getOperandNumber()));
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(2, context));
  builder.create<linalg::GenericOp>(
      location, inputs, temporary, maps,
      SmallVector<utils::IteratorType>(2, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location, ValueRange elements) {
        IRMapping copies;
        for (auto [argument, element] : llvm::zip(arguments, elements))
          copies.map(argument, element);
        inner.create<linalg::YieldOp>(
            location, copyValue(op, product.left, inner, copies));
      });
  return temporary;
}

/// Whether sizes of a memref have bounds that can be seen (BodyScratch.h), if a
/// body of its temporaries has.
static bool isWhole(Value memref) {
  return isa<BlockArgument>(memref) || memref.getDefiningOp<memref::AllocaOp>();
}

/// The input that the left side is, where a call may read it as it is.
static OpOperand *plainLeft(LinalgOp op, const BodyProduct &product) {
  OpOperand *stored = storedFactor(op, product.left, product, product.row);
  return stored && elementOf(stored->get()).isF32() ? stored : nullptr;
}

/// Whether a product can be a call, whose sums begin at 0.
static bool isLinear(LinalgOp op) {
  std::optional<BodyProduct> product = event::productOf(op);
  if (!product || !isa<BodyOp>(op->getParentOp()))
    return false;
  Value out = op.getDpsInitOperand(0)->get();
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  OpOperand *weight =
      storedFactor(op, product->right, *product, product->column);
  if (!weight || map.getDimPosition(0) != product->row ||
      !elementOf(out).isF32() || !product->left.getType().isF32())
    return false;
  if (!plainLeft(op, *product) && !(isWhole(out) && isWhole(weight->get())))
    return false;
  Type stored = elementOf(weight->get());
  return (stored.isF32() || stored.isBF16() || stored.isF16()) &&
         clearingOf(op);
}

static void makeCall(LinalgOp op) {
  const BodyProduct product = *event::productOf(op);
  Value out = op.getDpsInitOperand(0)->get(),
        weight =
            storedFactor(op, product.right, product, product.column)->get();
  clearingOf(op).erase();
  OpBuilder builder(op);
  OpOperand *plain = plainLeft(op, product);
  Value left = plain ? plain->get() : computeLeft(op, product, weight, builder);
  builder.create<event::LibraryCallOp>(op.getLoc(), "linear",
                                       ValueRange{left, weight}, out);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Packed weights
//===----------------------------------------------------------------------===//

/// Whether a task's part of a matrix, so large, is whole rows from a panel's
/// border on.
static bool beginsAtPanel(event::AccessAttr access, int64_t depth) {
  AffineMap low = access.getLow(), high = access.getHigh();
  auto first = dyn_cast<AffineConstantExpr>(low.getResult(1)),
       last = dyn_cast<AffineConstantExpr>(high.getResult(1));
  return first && last && first.getValue() == 0 && last.getValue() >= depth &&
         low.getResult(0).isMultipleOf(kPanel);
}

/// A copy of the body whose products are calls; null of a body without any.
static OwningOpRef<BodyOp> copyWithCalls(BodyOp body) {
  OwningOpRef<BodyOp> copy = body.clone();
  SmallVector<LinalgOp> products;
  for (auto op : copy->getBody().front().getOps<LinalgOp>())
    if (isLinear(op))
      products.push_back(op);
  if (products.empty())
    return nullptr;
  for (LinalgOp op : products)
    makeCall(op);
  return copy;
}

/// Whether tasks of an op read an operand, a matrix, as linears' weight from a
/// panel's border on.
static bool readsAsWeight(model::CustomOp op, unsigned operand) {
  auto body =
      op->getParentOfType<ModuleOp>().lookupSymbol<BodyOp>(op.getBodyAttr());
  // Whoever reads its result calls the body as it is.
  if (!body || isRecomputed(op.getResult(0)) ||
      operand >= body.getBody().getNumArguments())
    return false;
  auto access = cast<event::AccessAttr>(body.getAccesses()[operand]);
  const int64_t depth =
      model::typeOf(op.getInputs()[operand]).getShape().back();
  if (access.getLow().getNumResults() != 2 || !beginsAtPanel(access, depth))
    return false;
  OwningOpRef<BodyOp> copy = copyWithCalls(body);
  BodyOp called = copy ? *copy : body;
  return event::isWeightOfLinears(called.getBody().getArgument(operand));
}

/// Whether a value is a parameter whose order in memory is free: only linears
/// read it.
static bool mayBePacked(Value value) {
  auto parameter = value.getDefiningOp<model::ParameterOp>();
  if (!parameter || parameter.getTransposed())
    return false;
  model::StepTensorType type = model::typeOf(value);
  Type element = type.getElementType();
  if (type.getRank() != 2 ||
      !(element.isF32() || element.isBF16() || element.isF16()))
    return false;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (auto linear = dyn_cast<model::LinearOp>(use.getOwner()))
      return linear.getWeight() == value;
    auto custom = dyn_cast<model::CustomOp>(use.getOwner());
    return custom && readsAsWeight(custom, use.getOperandNumber());
  });
}

BodyOp tasks::bodyOfTasks(model::CustomOp op, BodyOp body, Tiler &tiler) {
  auto module = op->getParentOfType<ModuleOp>();
  OwningOpRef<BodyOp> copy = copyWithCalls(body);
  SmallVector<int64_t> packed;
  // What trains lies in rows, for who updates it.
  if (!tiler.training)
    for (auto [i, input] : llvm::enumerate(op.getInputs()))
      if (mayBePacked(input))
        packed.push_back(int64_t(i));
  if (!copy && packed.empty())
    return body;
  // Tasks of one body may get a matrix packed, and others not.
  std::string name = body.getSymName().str() + ".linear";
  for (int64_t number : packed)
    name += "." + std::to_string(number);
  // A body of the user's may have that name.
  while (Operation *known = module.lookupSymbol(name)) {
    if (known->getAttr(kCopyOfAttribute) == SymbolRefAttr::get(body))
      return cast<BodyOp>(known);
    name += "_";
  }
  if (!copy)
    copy = body.clone();
  copy->setSymName(name);
  if (!packed.empty())
    (*copy)->setAttr(event::kPanelsAttribute,
                     DenseI64ArrayAttr::get(op.getContext(), packed));
  (*copy)->setAttr(kCopyOfAttribute, SymbolRefAttr::get(body));
  BodyOp made = copy.release();
  module.insert(std::next(body->getIterator()), made);
  return made;
}

bool tasks::isPacked(BodyOp body, unsigned argument) {
  auto panels = body->getAttrOfType<DenseI64ArrayAttr>(event::kPanelsAttribute);
  return panels && llvm::is_contained(panels.asArrayRef(), int64_t(argument));
}

void tasks::replaceCopiedBodies(ModuleOp module) {
  llvm::MapVector<StringAttr, SmallVector<BodyOp>> copies;
  llvm::StringSet<> named;
  for (auto body : module.getOps<BodyOp>()) {
    if (Attribute original = body->removeAttr(kCopyOfAttribute))
      copies[cast<FlatSymbolRefAttr>(original).getAttr()].push_back(body);
    for (auto adjoint :
         {body.getAdjointInputsAttr(), body.getAdjointWeightsAttr()})
      if (adjoint)
        named.insert(adjoint.getValue());
  }
  llvm::StringMap<SmallVector<event::CallOp>> calls;
  module.walk([&](event::CallOp call) {
    calls[call.getCallee()].push_back(call);
    named.insert(call.getCallee());
  });
  for (auto &[name, made] : copies) {
    if (named.contains(name))
      continue;
    module.lookupSymbol(name)->erase();
    if (made.size() > 1)
      continue;
    for (event::CallOp call : calls[made.front().getSymName()])
      call.setCallee(name);
    made.front().setSymName(name);
  }
}
