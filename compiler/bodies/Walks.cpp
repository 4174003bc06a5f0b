//===- Walks.cpp - how the code of a task body walks its arguments --------===//

#include "compiler/bodies/Walks.h"

#include "codegen/plan/BodyFunctions.h"
#include "dialects/Event/LibraryCalls.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>

using namespace mlir;
using namespace baton;
using namespace baton::checks;

/// Stands for a size: many constants divide it, and nothing is small beside it.
static constexpr int64_t kAssumed = int64_t(4096) * 9 * 5 * 7;

namespace {
struct Interval {
  int64_t low, high;
};

/// What is known of values of index type.
class Evaluator {
public:
  std::optional<Interval> operator()(Value value);
  /// The size of a memref's dimension.
  std::optional<Interval> size(Value memref, unsigned dimension);

  /// The sizes of arguments that what was asked for is made of.
  std::set<std::pair<unsigned, unsigned>> bounds;
  std::vector<Division> divisions, rests;

private:
  std::optional<Interval> compute(Operation *op);
  unsigned depth = 0;
};
} // namespace

static std::optional<int64_t> constantOf(OpFoldResult value) {
  return getConstantIntValue(value);
}

std::optional<Interval> Evaluator::size(Value memref, unsigned dimension) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dimension))
    return Interval{type.getDimSize(dimension), type.getDimSize(dimension)};
  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    if (!isa<func::FuncOp, event::BodyOp>(argument.getOwner()->getParentOp()))
      return std::nullopt;
    bounds.insert({argument.getArgNumber(), dimension});
    return Interval{kAssumed, kAssumed};
  }
  if (auto cast = memref.getDefiningOp<memref::CastOp>())
    return size(cast.getSource(), dimension);
  // Temporaries, which functions have in scratch.
  if (auto memory = memref.getDefiningOp<memref::AllocaOp>())
    return (*this)(
        memory.getDynamicSizes()[type.getDynamicDimIndex(dimension)]);
  if (auto made = memref.getDefiningOp<UnrealizedConversionCastOp>();
      made && made.getInputs().size() >= 2)
    return (*this)(made.getOperand(2 + type.getDynamicDimIndex(dimension)));
  auto part = memref.getDefiningOp<memref::SubViewOp>();
  if (!part)
    return std::nullopt;
  llvm::SmallBitVector dropped = part.getDroppedDims();
  unsigned at = 0;
  for (auto [d, size] : llvm::enumerate(part.getMixedSizes())) {
    if (dropped[d] || at++ != dimension)
      continue;
    if (auto constant = constantOf(size))
      return Interval{*constant, *constant};
    return (*this)(cast<Value>(size));
  }
  return std::nullopt;
}

std::optional<Interval> Evaluator::operator()(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Interval{constant.getSExtValue(), constant.getSExtValue()};
  // A chain this long is no index of a tile.
  if (++depth > 64)
    return std::nullopt;
  std::optional<Interval> result;
  if (Operation *op = value.getDefiningOp()) {
    result = compute(op);
  } else {
    Operation *parent = value.getParentBlock()->getParentOp();
    std::optional<Interval> low, high;
    if (auto loop = dyn_cast<scf::ForOp>(parent);
        loop && loop.getInductionVar() == value) {
      low = (*this)(loop.getLowerBound());
      high = (*this)(loop.getUpperBound());
    } else if (auto loop = dyn_cast<scf::ParallelOp>(parent)) {
      unsigned number = cast<BlockArgument>(value).getArgNumber();
      low = (*this)(loop.getLowerBound()[number]);
      high = (*this)(loop.getUpperBound()[number]);
    }
    if (low && high)
      result = Interval{low->low, high->high - 1};
  }
  --depth;
  return result;
}

std::optional<Interval> Evaluator::compute(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto number = dim.getConstantIndex();
    return number && isa<MemRefType>(dim.getSource().getType())
               ? size(dim.getSource(), *number)
               : std::nullopt;
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return (*this)(op->getOperand(0));
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    auto one = (*this)(choice.getTrueValue()),
         other = (*this)(choice.getFalseValue());
    if (!one || !other)
      return std::nullopt;
    return Interval{std::min(one->low, other->low),
                    std::max(one->high, other->high)};
  }
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return std::nullopt;
  auto a = (*this)(op->getOperand(0)), b = (*this)(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  auto combine = [&](auto with) {
    auto all = {with(a->low, b->low), with(a->low, b->high),
                with(a->high, b->low), with(a->high, b->high)};
    return Interval{std::min(all), std::max(all)};
  };
  if (isa<arith::AddIOp>(op))
    return combine([](int64_t x, int64_t y) { return x + y; });
  if (isa<arith::SubIOp>(op))
    return combine([](int64_t x, int64_t y) { return x - y; });
  if (isa<arith::MulIOp>(op))
    return combine([](int64_t x, int64_t y) { return x * y; });
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return combine([](int64_t x, int64_t y) { return std::min(x, y); });
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return combine([](int64_t x, int64_t y) { return std::max(x, y); });
  if (b->low != b->high || b->low <= 0)
    return std::nullopt;
  int64_t by = b->low;
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op) && by < 16)
    by = int64_t(1) << by;
  else if (!isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
                arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
                arith::RemUIOp>(op))
    return std::nullopt;
  bool isRest = isa<arith::RemSIOp, arith::RemUIOp>(op);
  if (a->low == a->high && by > 1 &&
      !isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    for (auto [argument, dimension] : bounds)
      (isRest ? rests : divisions).push_back({{argument, dimension}, by});
  if (isRest)
    return Interval{0, by - 1};
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return Interval{llvm::divideCeilSigned(a->low, by),
                    llvm::divideCeilSigned(a->high, by)};
  return Interval{llvm::divideFloorSigned(a->low, by),
                  llvm::divideFloorSigned(a->high, by)};
}

namespace {
/// Follows accesses to the arguments.
class Finder {
public:
  void access(Value memref, ValueRange indices);
  /// An access to these indices of one dimension.
  void reach(Value memref, unsigned dimension, std::optional<Interval> index,
             Evaluator &evaluate);
  void call(event::LibraryCallOp op);
  void finish();
  Walks found;

private:
  /// Who asks for the rest of a division, too, takes sizes that have one.
  std::vector<Division> rests;
  /// For each walked dimension and each bound, how far.
  std::map<std::array<unsigned, 4>, int64_t> reached;
};
} // namespace

void Finder::access(Value memref, ValueRange indices) {
  for (unsigned d = 0; d < indices.size(); ++d) {
    Evaluator evaluate;
    std::optional<Interval> index = evaluate(indices[d]);
    reach(memref, d, index, evaluate);
  }
}

void Finder::reach(Value memref, unsigned dimension,
                   std::optional<Interval> index, Evaluator &evaluate) {
  Value of = memref;
  unsigned at = dimension;
  while (index && !isa<BlockArgument>(of)) {
    if (auto cast = of.getDefiningOp<memref::CastOp>()) {
      of = cast.getSource();
      continue;
    }
    auto part = of.getDefiningOp<memref::SubViewOp>();
    if (!part)
      break;
    llvm::SmallBitVector dropped = part.getDroppedDims();
    unsigned source = 0;
    for (unsigned kept = 0;; ++source)
      if (!dropped[source] && kept++ == at)
        break;
    auto value = [&](OpFoldResult mixed) -> std::optional<Interval> {
      if (auto constant = constantOf(mixed))
        return Interval{*constant, *constant};
      return evaluate(cast<Value>(mixed));
    };
    auto offset = value(part.getMixedOffsets()[source]),
         stride = value(part.getMixedStrides()[source]);
    if (!offset || !stride) {
      index.reset();
      break;
    }
    index = Interval{offset->low + index->low * stride->low,
                     offset->high + index->high * stride->high};
    of = part.getSource();
    at = source;
  }
  llvm::append_range(found.divisions, evaluate.divisions);
  llvm::append_range(rests, evaluate.rests);
  // A temporary's size is one of an argument.
  Evaluator own;
  std::optional<Interval> size = index ? own.size(of, at) : std::nullopt;
  if (!size || size->low != kAssumed || size->high != kAssumed ||
      own.bounds.size() != 1 || evaluate.bounds.size() != 1)
    return;
  auto [walked, place] = *own.bounds.begin();
  auto [argument, bound] = *evaluate.bounds.begin();
  int64_t &most = reached[{walked, place, argument, bound}];
  most = std::max(most, index->high + 1);
}

void Finder::call(event::LibraryCallOp op) {
  llvm::StringMap<ArgumentDimension> known;
  event::forEachSize(
      op, [&](StringRef, StringRef name, Value memref, unsigned at) {
        Evaluator evaluate;
        std::optional<Interval> size = evaluate.size(memref, at);
        // One size of one argument, as it is.
        if (size && size->low == kAssumed && size->high == kAssumed &&
            evaluate.bounds.size() == 1) {
          auto [argument, dimension] = *evaluate.bounds.begin();
          ArgumentDimension here = {argument, dimension};
          auto [first, isNew] = known.insert({name, here});
          if (!isNew)
            found.walks.push_back({first->second, here, 1, 1});
          // Two query heads share those of keys and values.
          else if (name == "groups" && known.contains("heads"))
            found.walks.push_back({known["heads"], here, 2, 1});
        }
        // All of it is touched: of a part, up to where that ends.
        if (size && size->high > 0)
          reach(memref, at, Interval{0, size->high - 1}, evaluate);
        auto part = memref.getDefiningOp<memref::SubViewOp>();
        if (at != 0 || !part)
          return;
        // And of what the part is one of, as many as loops walk.
        for (unsigned d : part.getDroppedDims().set_bits()) {
          Evaluator walk;
          if (auto index = dyn_cast<Value>(part.getMixedOffsets()[d]))
            reach(part.getSource(), d, walk(index), walk);
        }
      });
}

void Finder::finish() {
  llvm::erase_if(found.divisions, [&](const Division &division) {
    return llvm::any_of(rests, [&](const Division &rest) {
      return rest.divided.argument == division.divided.argument &&
             rest.divided.dimension == division.divided.dimension &&
             rest.divisor == division.divisor;
    });
  });
  for (auto [key, most] : reached) {
    auto [walked, dimension, argument, bound] = key;
    if (most <= 0 || (walked == argument && dimension == bound))
      continue;
    bool less = most <= kAssumed + kAssumed / 8;
    int64_t factor =
        less ? (kAssumed + most / 2) / most : (most + kAssumed / 2) / kAssumed;
    int64_t expected = less ? kAssumed / factor : kAssumed * factor;
    // A few elements next to it are a fault of the code, not another size.
    if (factor > 64 || std::abs(expected - most) > kAssumed / 1000)
      continue;
    found.walks.push_back({{walked, dimension},
                           {argument, bound},
                           less ? 1 : factor,
                           less ? factor : 1});
  }
}

llvm::Expected<Walks> checks::findWalks(const Body &body) {
  OwningOpRef<ModuleOp> alone = ModuleOp::create(body.op->getLoc());
  alone->getBody()->push_back(body.op->clone());
  auto made = plan::makeBodyFunctions(*alone);
  if (!made)
    return made.takeError();
  OwningOpRef<ModuleOp> &functions = *made;
  if (llvm::Error error = plan::compileBodies(*alone, [&] {
        PassManager manager(alone->getContext());
        OpPassManager &each = manager.nest<func::FuncOp>();
        each.addPass(createConvertLinalgToLoopsPass());
        each.addPass(createConvertVectorToSCFPass());
        each.addPass(createLowerAffinePass());
        return manager.run(*functions);
      }))
    return std::move(error);
  Finder finder;
  functions->walk([&](Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      finder.access(load.getMemRef(), load.getIndices());
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      finder.access(store.getMemRef(), store.getIndices());
    else if (auto load = dyn_cast<vector::LoadOp>(op))
      finder.access(load.getBase(), load.getIndices());
    else if (auto store = dyn_cast<vector::StoreOp>(op))
      finder.access(store.getBase(), store.getIndices());
    else if (auto load = dyn_cast<vector::MaskedLoadOp>(op))
      finder.access(load.getBase(), load.getIndices());
    else if (auto store = dyn_cast<vector::MaskedStoreOp>(op))
      finder.access(store.getBase(), store.getIndices());
  });
  cast<event::BodyOp>(body.op).walk(
      [&](event::LibraryCallOp call) { finder.call(call); });
  finder.finish();
  return std::move(finder.found);
}
