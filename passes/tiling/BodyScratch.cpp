//===- BodyScratch.cpp - scratch that task bodies of users take -----------===//

#include "passes/tiling/BodyScratch.h"

#include "dialects/Event/LibraryCalls.h"
#include "passes/tiling/TilingPieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

namespace {

/// The most that indices of a body can be, none of which is negative; where all
/// that they are made of is known exactly, what they are.
class Bounds {
public:
  using Most = llvm::function_ref<std::optional<int64_t>(unsigned, unsigned)>;

  explicit Bounds(Most most, bool isExact = false)
      : most(most), isExact(isExact) {}

  std::optional<int64_t> of(Value index) const;
  std::optional<int64_t> ofSize(Value memref, int64_t dimension) const;

private:
  Most most;
  bool isExact;
};

} // namespace

std::optional<int64_t> Bounds::ofSize(Value memref, int64_t dimension) const {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type || dimension < 0 || dimension >= type.getRank())
    return std::nullopt;
  if (!type.isDynamicDim(dimension))
    return type.getDimSize(dimension);
  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    if (!isa<event::BodyOp>(argument.getOwner()->getParentOp()))
      return std::nullopt;
    return most(argument.getArgNumber(), dimension);
  }
  if (auto cast = memref.getDefiningOp<memref::CastOp>())
    return ofSize(cast.getSource(), dimension);
  if (auto memory = memref.getDefiningOp<memref::AllocaOp>())
    return of(memory.getDynamicSizes()[type.getDynamicDimIndex(dimension)]);
  auto part = memref.getDefiningOp<memref::SubViewOp>();
  if (!part)
    return std::nullopt;
  llvm::SmallBitVector dropped = part.getDroppedDims();
  int64_t at = 0;
  for (auto [d, size] : llvm::enumerate(part.getMixedSizes())) {
    if (dropped[d] || at++ != dimension)
      continue;
    if (auto constant = getConstantIntValue(size))
      return *constant;
    return of(cast<Value>(size));
  }
  return std::nullopt;
}

std::optional<int64_t> Bounds::of(Value index) const {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = index.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto number = dim.getConstantIndex();
    return number ? ofSize(dim.getSource(), *number) : std::nullopt;
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;
  auto a = of(op->getOperand(0)), b = of(op->getOperand(1));
  if (isExact && (!a || !b))
    return std::nullopt;
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return a && b ? std::min(*a, *b) : a ? a : b;
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *a + *b;
  if (isa<arith::MulIOp>(op))
    return *a * *b;
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return std::max(*a, *b);
  const bool divides = matchPattern(op->getOperand(1), m_Constant()) && *b > 0;
  if (divides && isa<arith::DivUIOp, arith::DivSIOp>(op))
    return *a / *b;
  if (divides && isa<arith::CeilDivUIOp, arith::CeilDivSIOp>(op))
    return llvm::divideCeil(*a, *b);
  return std::nullopt;
}

/// A temporary's bytes, each rounded up as code generation does.
static std::optional<int64_t> bytesOf(memref::AllocaOp op,
                                      const Bounds &bounds) {
  int64_t bytes = op.getType().getElementTypeBitWidth() / 8;
  for (int64_t d = 0; d < op.getType().getRank(); ++d) {
    auto size = bounds.ofSize(op, d);
    if (!size)
      return std::nullopt;
    bytes *= std::max<int64_t>(*size, 0);
  }
  return static_cast<int64_t>(llvm::alignTo(bytes, 64));
}

/// Of attention, the one function that takes scratch.
static std::optional<int64_t> bytesOf(event::LibraryCallOp op,
                                      const Bounds &bounds) {
  Value out = op.getOutputs().front();
  auto rows = bounds.ofSize(out, 0), heads = bounds.ofSize(out, 1),
       valueWidth = bounds.ofSize(out, 2),
       width = bounds.ofSize(op.getInputs()[0], 2);
  if (!rows || !heads || !valueWidth || !width)
    return std::nullopt;
  int64_t bytes = attentionScratch(*rows, *heads, *width, *valueWidth);
  const bool isDouble =
      cast<MemRefType>(out.getType()).getElementType().isF64();
  return isDouble ? 2 * bytes : bytes;
}

LogicalResult tasks::checkLibraryCalls(event::BodyOp body, Bounds::Most exact) {
  Bounds bounds(exact, /*isExact=*/true);
  WalkResult result = body.walk([&](event::LibraryCallOp op) {
    struct Known {
      int64_t size;
      StringRef operand;
    };
    llvm::StringMap<Known> known;
    std::string fault;
    event::forEachSize(op, [&](StringRef operand, StringRef name, Value memref,
                               unsigned dimension) {
      std::optional<int64_t> size = bounds.ofSize(memref, dimension);
      if (!size)
        return;
      auto [first, isNew] = known.insert({name, {*size, operand}});
      if (!isNew && first->second.size != *size && fault.empty())
        fault = ("operand '" + operand + "' of '" + op.getCallee() + "' has " +
                 Twine(*size) + " " + name + ", '" + first->second.operand +
                 "' has " + Twine(first->second.size))
                    .str();
    });
    auto heads = known.find("heads"), groups = known.find("groups");
    if (fault.empty() && heads != known.end() && groups != known.end() &&
        (groups->second.size < 1 ||
         heads->second.size % groups->second.size != 0))
      fault = ("has " + Twine(heads->second.size) + " heads, which " +
               Twine(groups->second.size) + " groups do not divide")
                  .str();
    if (fault.empty())
      return WalkResult::advance();
    op.emitOpError() << fault;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

FailureOr<int64_t> tasks::scratchOf(event::BodyOp body, Bounds::Most most) {
  Bounds bounds(most);
  int64_t temporaries = 0, called = 0;
  for (auto op : body.getBody().front().getOps<memref::AllocaOp>()) {
    auto bytes = bytesOf(op, bounds);
    if (!bytes)
      return op.emitOpError()
             << "has a size without a bound that can be seen; make it of "
                "memref.dim of arguments, constants, sums, products, minima, "
                "or quotients by constants";
    temporaries += *bytes;
  }
  WalkResult result = body.walk([&](event::LibraryCallOp op) {
    const event::LibraryFunction *function =
        event::findLibraryFunction(op.getCallee());
    if (!function->takesScratch)
      return WalkResult::advance();
    auto bytes = bytesOf(op, bounds);
    if (bytes)
      called = std::max(called, *bytes);
    else
      op.emitOpError() << "has operands without sizes of which a bound can be "
                          "seen, and '"
                       << function->name
                       << "' takes scratch; pass arguments, parts of them or "
                          "temporaries";
    return bytes ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  return temporaries + called;
}
