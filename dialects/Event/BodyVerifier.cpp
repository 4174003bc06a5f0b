//===- BodyVerifier.cpp - what a user's task body promises ----------------===//
//
// The proof trusts a body to touch what its accesses state. Here is what can
// be seen without running it: it reaches memory through its arguments alone,
// and writes only where it says. That it stays inside them is checked at run
// time by programs compiled with a sanitizer.
//
//===----------------------------------------------------------------------===//

#include "dialects/Event/LibraryCalls.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace baton::event;

/// Memrefs whose every size and stride is known when the task runs.
static bool isTile(Type type, int64_t rank) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getRank() != rank || memref.getMemorySpace())
    return false;
  Type element = memref.getElementType();
  if (!element.isF64() && !element.isF32() && !element.isF16() &&
      !element.isBF16() && !element.isSignlessInteger(32) &&
      !element.isSignlessInteger(8))
    return false;
  auto layout = dyn_cast<StridedLayoutAttr>(memref.getLayout());
  return layout && layout.getOffset() == 0 && rank > 0 &&
         llvm::all_of(memref.getShape(), ShapedType::isDynamic) &&
         llvm::all_of(layout.getStrides().drop_back(), ShapedType::isDynamic) &&
         (ShapedType::isDynamic(layout.getStrides().back()) ||
          layout.getStrides().back() == 1);
}

LogicalResult BodyOp::verify() {
  AffineMap grid = getGrid();
  if (grid.getNumDims() || grid.getNumSymbols() != kStepSymbols ||
      !grid.getNumResults())
    return emitOpError() << "the grid is " << getGridAttr()
                         << ", expected results of "
                         << "the symbols rows, past, outputs alone";
  if (getAccesses().size() < 2)
    return emitOpError() << "states " << getAccesses().size()
                         << " accesses, expected what it reads and what it "
                         << "makes";
  for (auto [i, attribute] : llvm::enumerate(getAccesses())) {
    auto access = dyn_cast<AccessAttr>(attribute);
    if (!access)
      return emitOpError() << attribute << " is no access";
    if (access.getLow().getNumDims() != grid.getNumResults() ||
        access.getLow().getNumSymbols() != kStepSymbols)
      return emitOpError() << "access " << i << " takes "
                           << access.getLow().getNumDims()
                           << " coordinates and "
                           << access.getLow().getNumSymbols()
                           << " symbols, expected " << grid.getNumResults()
                           << " and rows, past, outputs";
  }
  if (llvm::none_of(getAccessAttrs(),
                    [](AccessAttr access) { return access.getWrite(); }))
    return emitOpError() << "states no access that writes";
  return success();
}

SmallVector<BodyOp::Argument> BodyOp::getStatedArguments() {
  SmallVector<Argument> arguments;
  for (AccessAttr access : getAccessAttrs()) {
    auto *found = llvm::find_if(arguments, [&](const Argument &argument) {
      return argument.access.getBuffer() == access.getBuffer();
    });
    if (found == arguments.end())
      found = &arguments.emplace_back(Argument{access, false});
    found->written |= access.getWrite();
  }
  return arguments;
}

bool BodyOp::usesScratch() {
  if (!getBody().front().getOps<memref::AllocaOp>().empty())
    return true;
  WalkResult result = getBody().walk([](LibraryCallOp call) {
    const LibraryFunction *function = findLibraryFunction(call.getCallee());
    return function && function->takesScratch ? WalkResult::interrupt()
                                              : WalkResult::advance();
  });
  return result.wasInterrupted();
}

Value baton::event::rootOf(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// Memory of the task's own: on its stack.
static bool isOnStack(Value root) {
  auto effects = root.getDefiningOp<MemoryEffectOpInterface>();
  SmallVector<MemoryEffects::EffectInstance> instances;
  if (effects)
    effects.getEffectsOnValue(root, instances);
  return llvm::any_of(instances, [](const auto &instance) {
    return isa<MemoryEffects::Allocate>(instance.getEffect()) &&
           isa<SideEffects::AutomaticAllocationScopeResource>(
               instance.getResource());
  });
}

/// Whether a temporary can have these elements: others are no whole bytes.
static bool isOfBytes(MemRefType temporary) {
  Type element = temporary.getElementType();
  if (auto vector = dyn_cast<VectorType>(element))
    element = vector.getElementType();
  return element.isIndex() || element.isF16() || element.isBF16() ||
         element.isF32() || element.isF64() ||
         (isa<IntegerType>(element) &&
          llvm::is_contained({8u, 16u, 32u, 64u},
                             element.getIntOrFloatBitWidth()));
}

/// Whether an op can be told to touch memory only through what it names.
static LogicalResult verifyEffects(Operation *op, BodyOp body) {
  Block &block = body.getBody().front();
  static const llvm::StringSet<> dialects = {
      "arith", "math", "memref", "scf", "vector", "linalg", "affine", "index"};
  StringRef dialect = op->getName().getDialectNamespace();
  if (!dialects.contains(dialect) && !isa<LibraryCallOp>(op))
    return op->emitOpError() << "may not stand in a task body";
  if (op->getName().getStringRef().contains("atomic"))
    return op->emitOpError() << "may not stand in a task body: tasks hand work "
                             << "on through events alone";
  auto isScalable = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && vector.isScalable();
  };
  if (llvm::any_of(op->getOperandTypes(), isScalable) ||
      llvm::any_of(op->getResultTypes(), isScalable))
    return op->emitOpError() << "may not stand in a task body: its vectors "
                             << "have no fixed size";
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return success();
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return op->emitOpError() << "may not stand in a task body: what it does "
                             << "to memory is not known";
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  for (const auto &instance : instances) {
    if (isa<MemoryEffects::Allocate>(instance.getEffect())) {
      if (!isa<SideEffects::AutomaticAllocationScopeResource>(
              instance.getResource()))
        return op->emitOpError() << "may not stand in a task body: it "
                                 << "allocates on the heap";
      for (Type type : op->getResultTypes())
        if (auto temporary = dyn_cast<MemRefType>(type);
            temporary && !isOfBytes(temporary))
          return op->emitOpError()
                 << "makes a temporary of " << temporary.getElementType()
                 << ", expected index, i8, i16, i32, i64, f16, bf16, f32 or "
                    "f64, or vectors of them";
      continue;
    }
    if (isa<MemoryEffects::Free>(instance.getEffect()) || !instance.getValue())
      return op->emitOpError() << "may not stand in a task body: it touches "
                               << "memory that it does not name";
    if (!isa<MemoryEffects::Write>(instance.getEffect()))
      continue;
    Value root = rootOf(instance.getValue());
    if (isOnStack(root))
      continue;
    auto argument = dyn_cast<BlockArgument>(root);
    if (!argument || argument.getOwner() != &block)
      return op->emitOpError() << "writes to memory that cannot be traced to "
                               << "an argument";
    BodyOp::Argument stated =
        body.getStatedArguments()[argument.getArgNumber()];
    if (!stated.written)
      return op->emitOpError()
             << "writes to argument " << argument.getArgNumber() << ", "
             << stated.access.getBuffer() << ", which the body states to read";
  }
  return success();
}

LogicalResult BodyOp::verifyRegions() {
  Block &block = getBody().front();
  SmallVector<Argument> stated = getStatedArguments();
  if (block.getNumArguments() != stated.size())
    return emitOpError() << "has " << block.getNumArguments()
                         << " arguments and states accesses to "
                         << stated.size();
  for (auto [argument, statement] : llvm::zip(block.getArguments(), stated)) {
    AccessAttr access = statement.access;
    if (!isTile(argument.getType(), access.getLow().getNumResults()))
      return emitOpError() << "argument " << argument.getArgNumber() << ", "
                           << access.getBuffer() << ", is "
                           << argument.getType()
                           << ", expected a memref of rank "
                           << access.getLow().getNumResults()
                           << " of f64, f32, f16 or bf16 with dynamic sizes "
                              "and strides (the last "
                              "stride may be 1)";
  }
  if (Attribute panels = (*this)->getAttr(kPanelsAttribute)) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(panels);
    const int64_t count = block.getNumArguments();
    if (!numbers || llvm::any_of(numbers.asArrayRef(), [&](int64_t number) {
          return number < 0 || number >= count ||
                 !isWeightOfLinears(block.getArgument(number));
        }))
      return emitOpError() << "has " << kPanelsAttribute << " = " << panels
                           << ", expected numbers of arguments that only "
                           << "linears of the task library read, as weights";
  }
  WalkResult result = getBody().walk([&](Operation *op) {
    return failed(verifyEffects(op, *this)) ? WalkResult::interrupt()
                                            : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
