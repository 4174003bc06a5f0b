//===- UpdateVerifiers.cpp - what makes an update rule well-formed --------===//

#include "dialects/Update/Update.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

#include <cmath>

using namespace mlir;
using namespace baton::update;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Whether an op computes one number from numbers, and nothing else.
static bool isNumeric(Operation &op) {
  StringRef dialect = op.getName().getDialectNamespace();
  auto isNumber = [](Type type) { return type.isIntOrFloat(); };
  return (dialect == "arith" || dialect == "math") && op.getNumRegions() == 0 &&
         op.getNumResults() == 1 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getOperandTypes(), isNumber) &&
         llvm::all_of(op.getResultTypes(), isNumber);
}

LogicalResult NumberOp::verify() {
  if (getName().empty())
    return emitOpError() << "has an empty name";
  bool given = getName() == kStep || getName() == kLearningRate;
  if (given == getInitial().has_value())
    return emitOpError() << '"' << getName() << "\" "
                         << (given ? "is set by the trainer and has a default"
                                   : "has no default");
  if (getInitial() && !getInitial()->isFinite())
    return emitOpError() << "the default of \"" << getName()
                         << "\" is not finite";
  return success();
}

LogicalResult ExtentOp::verify() {
  if (getDimension() != 0 && getDimension() != 1)
    return emitOpError() << "dimension is " << int64_t(getDimension())
                         << ", expected 0 or 1";
  return success();
}

//===----------------------------------------------------------------------===//
// Weights of learned optimizers
//===----------------------------------------------------------------------===//

LogicalResult WeightsOp::verify() {
  if (getName().empty())
    return emitOpError() << "has an empty name";
  std::optional<ArrayRef<float>> initial = getInitial();
  if (!initial)
    return success();
  if (int64_t(initial->size()) != getCount())
    return emitOpError() << '"' << getName() << "\" has " << initial->size()
                         << " defaults, expected " << getCount();
  if (!llvm::all_of(*initial, [](float value) { return std::isfinite(value); }))
    return emitOpError() << "a default of \"" << getName()
                         << "\" is not finite";
  return success();
}

/// What is read of a run has a place there.
static LogicalResult verifyTable(Operation *op, Value weights) {
  if (weights.getDefiningOp<WeightsOp>())
    return success();
  return op->emitOpError() << "takes weights that are none of an "
                              "update.weights";
}

LogicalResult ElementOp::verify() {
  auto type = cast<RankedTensorType>(getWeights().getType());
  bool fits = int64_t(getIndex().size()) == type.getRank();
  for (auto [extent, index] : llvm::zip(type.getShape(), getIndex()))
    fits &= index >= 0 && index < extent;
  if (!fits)
    return emitOpError() << "index [" << getIndex() << "] is none of " << type;
  return verifyTable(*this, getWeights());
}

LogicalResult DenseOp::verify() {
  auto weights = cast<RankedTensorType>(getWeights().getType());
  auto bias = cast<RankedTensorType>(getBias().getType());
  if (weights.getRank() != 2 || bias.getRank() != 1 ||
      bias.getDimSize(0) != weights.getDimSize(0))
    return emitOpError() << "has weights of " << weights << " and a bias of "
                         << bias;
  if (int64_t(getInputs().size()) != weights.getDimSize(1) ||
      int64_t(getResults().size()) != weights.getDimSize(0))
    return emitOpError() << "makes " << getResults().size() << " numbers of "
                         << getInputs().size() << ", and its weights are "
                         << weights;
  if (failed(verifyTable(*this, getWeights())))
    return failure();
  return verifyTable(*this, getBias());
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

static LogicalResult verifyPass(Operation *op) {
  Block &block = op->getRegion(0).front();
  if (!op->getNumOperands() || !op->getNumResults())
    return op->emitOpError()
           << "reads " << op->getNumOperands() << " tensors and makes "
           << op->getNumResults() << " results, expected at least one of each";
  if (block.getNumArguments() != op->getNumOperands() ||
      !llvm::all_of(block.getArgumentTypes(),
                    [](Type type) { return type.isF32(); }))
    return op->emitOpError() << "the region's arguments are no f32 for each of "
                             << op->getNumOperands() << " tensors";
  for (Operation &inner : block.without_terminator())
    if (!isNumeric(inner) && !(isa<MapOp>(op) && isa<DenseOp>(inner)))
      return inner.emitOpError()
             << "may not stand in " << op->getName()
             << ": it is none of arith or math that computes one number from "
                "numbers";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getNumOperands() != op->getNumResults())
    return op->emitOpError()
           << "the region does not yield " << op->getNumResults() << " values";
  return success();
}

LogicalResult MapOp::verifyRegions() {
  if (failed(verifyPass(*this)))
    return failure();
  Type expected = mapType(getContext(), getOperandTypes());
  for (Type type : getResultTypes())
    if (type != expected)
      return emitOpError() << "makes " << type << " of its inputs, expected "
                           << expected;
  return success();
}

LogicalResult SumOp::verifyRegions() {
  if (failed(verifyPass(*this)))
    return failure();
  if (!getDimension()) {
    if (llvm::all_of(getResultTypes(), [](Type type) { return type.isF32(); }))
      return success();
    return emitOpError() << "makes tensors, expected numbers without a "
                            "dimension";
  }
  int64_t dimension = *getDimension();
  if (dimension != 0 && dimension != 1)
    return emitOpError() << "dimension is " << dimension << ", expected 0 or 1";
  if (!llvm::all_of(getOperandTypes(), isWhole))
    return emitOpError() << "adds up along a dimension, expected inputs of "
                         << wholeType(getContext());
  Type expected = tensorType(getContext(), dimension != 0, dimension == 0);
  for (Type type : getResultTypes())
    if (type != expected)
      return emitOpError() << "makes " << type << ", expected " << expected;
  return success();
}

LogicalResult ProductOp::verify() {
  auto rule = (*this)->getParentOfType<RuleOp>();
  for (Value operand : getOperands())
    if (rule && operand == Value(rule.getGradient()))
      return emitOpError() << "multiplies the gradient, which only maps and "
                              "sums scale; multiply a map's result";
  return success();
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

LogicalResult FormatOp::verify() {
  if (!getCodes().isSignlessInteger(8) && !getCodes().isUnsignedInteger(8))
    return emitOpError() << "codes are " << getCodes()
                         << ", expected i8 or ui8";
  if (getBlocks().size() != 2 || getBlockRows() < 1 || getBlockColumns() < 1 ||
      getBlockColumns() % 16)
    return emitOpError() << "blocks are [" << getBlocks()
                         << "], expected rows, and a multiple of 16 columns";
  return success();
}

LogicalResult FormatOp::verifyRegions() {
  struct Part {
    StringRef name;
    Region &region;
    unsigned arguments;
  };
  for (const Part &part :
       {Part{"scale", getScale(), 1}, Part{"encode", getEncode(), 2},
        Part{"decode", getDecode(), 2}}) {
    Block &block = part.region.front();
    auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
    if (block.getNumArguments() != part.arguments || !yield ||
        yield.getNumOperands() != 1)
      return emitOpError() << part.name << " takes " << block.getNumArguments()
                           << " numbers, expected " << part.arguments
                           << ", of which it yields one";
    for (Operation &inner : block.without_terminator())
      if (!isNumeric(inner))
        return inner.emitOpError()
               << "may not stand in " << getOperationName()
               << ": it is none of arith or math that computes one number from "
                  "numbers";
  }
  return success();
}

/// Rules have the weights of one name in common.
static LogicalResult verifyWeights(RuleOp rule) {
  llvm::StringMap<WeightsOp> known;
  for (auto other : rule->getBlock()->getOps<RuleOp>()) {
    for (auto weights : other.getBody().getOps<WeightsOp>()) {
      auto [found, made] = known.try_emplace(weights.getName(), weights);
      WeightsOp first = found->second;
      if (made || (first.getType() == weights.getType() &&
                   first.getInitialAttr() == weights.getInitialAttr()))
        continue;
      return weights.emitOpError() << '"' << weights.getName()
                                   << "\" has another type or default above";
    }
    if (other == rule)
      break;
  }
  return success();
}

LogicalResult RuleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyWeights(*this)))
    return failure();
  std::optional<DictionaryAttr> formats = getFormats();
  if (!formats)
    return success();
  FormatOp first;
  for (NamedAttribute entry : *formats) {
    if (!llvm::is_contained(getStates(), Attribute(entry.getName())))
      return emitOpError() << "gives a format to " << entry.getName()
                           << ", which is none of its states";
    for (auto [state, argument] :
         llvm::zip_equal(getStates(), getBody().getArguments().drop_front(2)))
      if (state == Attribute(entry.getName()) && !isWhole(argument.getType()))
        return emitOpError() << "gives a format to " << entry.getName()
                             << ", which is " << argument.getType();
    auto name = dyn_cast<FlatSymbolRefAttr>(entry.getValue());
    auto format = name ? symbols.lookupNearestSymbolFrom<FormatOp>(*this, name)
                       : FormatOp();
    if (!format)
      return emitOpError() << "keeps " << entry.getName() << " as "
                           << entry.getValue()
                           << ", and there is no update.format of that name";
    if (first && format.getBlocks() != first.getBlocks())
      return emitOpError() << "has formats of different blocks, ["
                           << first.getBlocks() << "] and ["
                           << format.getBlocks() << "]";
    if (getWide() && format.getBlockRows() % 16)
      return emitOpError() << "is wide, and blocks of " << name << " have "
                           << format.getBlockRows()
                           << " rows, expected a multiple of 16";
    first = format;
  }
  for (auto map : getBody().getOps<MapOp>())
    if (!map.getBody().getOps<DenseOp>().empty() &&
        llvm::any_of(map.getResults(),
                     [&](Value result) { return bool(getFormat(result)); }))
      return map.emitOpError()
             << "has an update.dense and makes a state that is kept in a "
                "format; let another map make the state";
  for (auto product : getBody().getOps<ProductOp>())
    for (Value operand : product.getOperands())
      if (getFormat(operand))
        return product.emitOpError()
               << "multiplies a state that is kept in a format, which only "
                  "maps and sums read; multiply a map's result";
  return success();
}

//===----------------------------------------------------------------------===//
// Rules and groups
//===----------------------------------------------------------------------===//

LogicalResult ReturnOp::verify() {
  auto rule = cast<RuleOp>((*this)->getParentOp());
  size_t count = 1 + rule.getStates().size();
  if (getValues().size() != count)
    return emitOpError() << "returns " << getValues().size()
                         << " values, expected the parameter and " << count - 1
                         << " states";
  llvm::SmallPtrSet<void *, 4> seen;
  for (auto [i, value] : llvm::enumerate(getValues())) {
    auto map = value.getDefiningOp<MapOp>();
    if (!map || !seen.insert(value.getAsOpaquePointer()).second)
      return emitOpError() << "value " << i
                           << (map ? " is returned twice"
                                   : " is no result of a map");
    // Argument 1 is the gradient.
    unsigned number = i ? unsigned(i) + 1 : 0;
    if (number >= rule.getBody().getNumArguments())
      continue;
    BlockArgument old = rule.getBody().getArgument(number);
    if (value.getType() != old.getType())
      return emitOpError() << "value " << i << " is " << value.getType()
                           << ", expected " << old.getType();
    for (Operation *user : old.getUsers())
      if (map->isBeforeInBlock(user))
        return user->emitOpError()
               << "reads argument " << old.getArgNumber()
               << " after the map that makes its new value, which is written "
                  "over it";
  }
  return success();
}

LogicalResult RuleOp::verify() {
  Block &block = getBody().front();
  llvm::StringSet<> names;
  for (auto state : getStates().getAsRange<StringAttr>())
    if (state.empty() || !names.insert(state.getValue()).second)
      return emitOpError() << "state \"" << state.getValue()
                           << "\" has no name or one that another has";
  if (block.getNumArguments() != 2 + getStates().size() ||
      !isWhole(getParameter().getType()) || !isWhole(getGradient().getType()) ||
      !llvm::all_of(block.getArgumentTypes(), isTensor))
    return emitOpError() << "takes " << block.getNumArguments()
                         << " arguments, expected the parameter, its gradient "
                            "and "
                         << getStates().size()
                         << " states, of tensor<?x?xf32>, or for states "
                            "tensor<?x1xf32> or tensor<1x?xf32>";
  return success();
}

LogicalResult RuleOp::verifyRegions() {
  Block &block = getBody().front();
  if (!isa<ReturnOp>(block.back()))
    return emitOpError() << "does not end in update.return";
  llvm::StringMap<NumberOp> numbers;
  for (Operation &op : block.without_terminator()) {
    if (!isNumeric(op) && op.getDialect() != (*this)->getDialect())
      return op.emitOpError()
             << "may not stand in a rule: it is neither of update nor an op of "
                "arith or math that computes one number from numbers";
    auto number = dyn_cast<NumberOp>(op);
    if (!number)
      continue;
    auto [found, made] = numbers.try_emplace(number.getName(), number);
    if (!made && found->second.getInitialAttr() != number.getInitialAttr())
      return number.emitOpError()
             << '"' << number.getName() << "\" has another default above";
  }
  return success();
}

LogicalResult GroupOp::verify() {
  if (getRank() && *getRank() != 1 && *getRank() != 2)
    return emitOpError() << "rank is " << int64_t(*getRank())
                         << ", expected 1 or 2";
  if (getNames())
    for (auto text : getNames()->getAsRange<StringAttr>())
      if (auto pattern = llvm::GlobPattern::create(text.getValue()); !pattern)
        return emitOpError() << "pattern \"" << text.getValue()
                             << "\": " << llvm::toString(pattern.takeError());
  if (std::optional<DictionaryAttr> numbers = getNumbers())
    for (NamedAttribute number : *numbers) {
      auto value = dyn_cast<FloatAttr>(number.getValue());
      if (!value || !value.getType().isF32())
        return emitOpError() << "number " << number.getName() << " is no f32";
    }
  return success();
}

LogicalResult GroupOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto rule = symbols.lookupNearestSymbolFrom<RuleOp>(*this, getRuleAttr());
  if (!rule)
    return emitOpError() << "names " << getRuleAttr()
                         << ", and there is no update.rule of that name";
  if (std::optional<DictionaryAttr> numbers = getNumbers())
    for (NamedAttribute number : *numbers) {
      auto isIt = [&](NumberOp op) { return op.getName() == number.getName(); };
      if (!llvm::any_of(rule.getBody().getOps<NumberOp>(), isIt))
        return emitOpError()
               << getRuleAttr() << " has no number " << number.getName();
    }
  return success();
}
