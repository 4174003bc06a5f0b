//===- Event.cpp - registration and attributes of the event dialect ------===//

#include "dialects/Event/Event.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace baton::event;

#include "dialects/Event/EventDialect.cpp.inc"
#include "dialects/Event/EventEnums.cpp.inc"

#include "dialects/Event/EventAttrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Event/EventAttributes.cpp.inc"

/// A map without its `affine_map<>` wrapper.
static ParseResult parseBareMap(OpAsmParser &parser, AffineMapAttr &map) {
  AffineMap value;
  if (parser.parseAffineMap(value))
    return failure();
  map = AffineMapAttr::get(value);
  return success();
}

static void printBareMap(OpAsmPrinter &printer, Operation *,
                         AffineMapAttr map) {
  map.getValue().print(printer.getStream());
}

#define GET_OP_CLASSES
#include "dialects/Event/EventOps.cpp.inc"

void EventDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Event/EventAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Event/EventOps.cpp.inc"
      >();
}

/// Nothing where a divisor is not positive.
static std::optional<int64_t> evaluate(AffineExpr expression,
                                       ArrayRef<int64_t> coordinates,
                                       ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return constant.getValue();
  if (auto coordinate = dyn_cast<AffineDimExpr>(expression))
    return coordinates[coordinate.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expression);
  auto left = evaluate(binary.getLHS(), coordinates, symbols),
       right = evaluate(binary.getRHS(), coordinates, symbols);
  if (!left || !right)
    return std::nullopt;
  // As two's complement: who overflows says so elsewhere.
  if (binary.getKind() == AffineExprKind::Add)
    return int64_t(uint64_t(*left) + uint64_t(*right));
  if (binary.getKind() == AffineExprKind::Mul)
    return int64_t(uint64_t(*left) * uint64_t(*right));
  if (*right < 1)
    return std::nullopt;
  int64_t remainder = *left % *right;
  if (remainder < 0)
    remainder += *right;
  if (binary.getKind() == AffineExprKind::Mod)
    return remainder;
  int64_t quotient = (*left - remainder) / *right;
  bool roundsUp = binary.getKind() == AffineExprKind::CeilDiv && remainder;
  return quotient + roundsUp;
}

SmallVector<int64_t> baton::event::evaluate(AffineMap map,
                                            ArrayRef<int64_t> coordinates,
                                            ArrayRef<int64_t> symbols) {
  SmallVector<int64_t> results;
  for (AffineExpr result : map.getResults())
    if (auto value = ::evaluate(result, coordinates, symbols))
      results.push_back(*value);
    else
      return {};
  return results;
}

SmallVector<int64_t> baton::event::typicalEntries(PhaseOp phase,
                                                  ArrayRef<int64_t> coordinates,
                                                  ArrayRef<int64_t> symbols) {
  SmallVector<int64_t> values;
  auto program = phase->getParentOfType<ProgramOp>();
  for (AddressAttr entry : phase.getEntryAttrs())
    for (auto table : program.getBody().getOps<TableOp>()) {
      if (table.getBufferAttr() != entry.getBuffer())
        continue;
      auto buffer = SymbolTable::lookupNearestSymbolFrom<BufferOp>(
          phase, entry.getBuffer());
      int64_t low = evaluate(table.getLow(), {}, symbols)[0],
              high = evaluate(table.getHigh(), {}, symbols)[0],
              count = evaluate(buffer.getExtents(), {}, symbols)[0],
              place = evaluate(entry.getIndex(), coordinates, symbols)[0];
      // In a partition the last place has the greatest value.
      if (table.getProperty() == TableProperty::partition && count > 1)
        place = place == count - 1
                    ? high - 1 - low
                    : place * (high - 1 - low) /
                          int64_t(table.getSegments().value_or(count - 1));
      values.push_back(std::clamp(low + place, low, std::max(low, high - 1)));
    }
  return values;
}

SmallVector<PhaseOp> baton::event::phasesOf(ProgramOp program) {
  SmallVector<PhaseOp> phases;
  for (auto segment : program.getBody().getOps<SegmentOp>())
    for (auto phase : segment.getBody().getOps<PhaseOp>())
      phases.push_back(phase);
  return phases;
}

llvm::MapVector<StringAttr, StorageScope>
baton::event::scopesOf(ProgramOp program) {
  llvm::MapVector<StringAttr, StorageScope> scopes;
  for (auto storage : program.getBody().getOps<StorageOp>())
    scopes[storage.getSymNameAttr()];
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (buffer.getKind() != BufferKind::persistent ||
        !buffer.getDescription() || !buffer.getStorage())
      continue;
    auto entry = [&](StringRef key) {
      auto text = buffer.getDescription()->getAs<StringAttr>(key);
      return text ? text.getValue() : StringRef();
    };
    bool isStage = llvm::is_contained(
        {"parameter", "gradient", "optimizer", "kept"}, entry("role"));
    scopes[buffer.getStorageAttr().getAttr()] = {
        isStage ? StorageScope::stage : StorageScope::rank, entry("slot")};
  }
  return scopes;
}

//===----------------------------------------------------------------------===//
// Text forms
//
// Maps print without their `affine_map<>` wrapper, so that an access reads
// `read @x, (d0)[s0, s1, s2] -> (d0 * 8, 0) to (d0)[s0, s1, s2] -> (...)`.
//===----------------------------------------------------------------------===//

static ParseResult parseSymbol(AsmParser &parser, FlatSymbolRefAttr &symbol) {
  StringAttr name;
  if (parser.parseSymbolName(name))
    return failure();
  symbol = FlatSymbolRefAttr::get(name);
  return success();
}

/// `,` low `to` high
static ParseResult parseBox(AsmParser &parser, AffineMap &low,
                            AffineMap &high) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseComma() || parser.parseAffineMap(low) ||
      parser.parseKeyword("to") || parser.parseAffineMap(high))
    return failure();
  if (low.getNumDims() != high.getNumDims() ||
      low.getNumSymbols() != high.getNumSymbols() ||
      low.getNumResults() != high.getNumResults())
    return parser.emitError(location)
           << "the two corners of a box differ in dimensions or symbols";
  return success();
}

Attribute AccessAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr buffer, condition;
  AffineMap low, high;
  int64_t beyond = 0;
  if (parser.parseLess())
    return {};
  bool may = succeeded(parser.parseOptionalKeyword("may"));
  bool write = succeeded(parser.parseOptionalKeyword("write"));
  if ((!write && parser.parseKeyword("read")) || parseSymbol(parser, buffer) ||
      parseBox(parser, low, high))
    return {};
  if (succeeded(parser.parseOptionalKeyword("beyond")) &&
      parser.parseInteger(beyond))
    return {};
  if (succeeded(parser.parseOptionalKeyword("if")) &&
      parseSymbol(parser, condition))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), write, buffer, low, high, beyond, may,
             condition);
}

void AccessAttr::print(AsmPrinter &printer) const {
  printer << '<' << (getMay() ? "may " : "")
          << (getWrite() ? "write " : "read ") << getBuffer() << ", "
          << getLow() << " to " << getHigh();
  if (getBeyond())
    printer << " beyond " << getBeyond();
  if (getCondition())
    printer << " if " << getCondition();
  printer << '>';
}

Attribute WaitAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr event;
  int64_t distance = 0;
  AffineMap low, high;
  if (parser.parseLess() || parseSymbol(parser, event))
    return {};
  if (succeeded(parser.parseOptionalKeyword("distance")) &&
      parser.parseInteger(distance))
    return {};
  if (parseBox(parser, low, high) || parser.parseGreater())
    return {};
  return get(parser.getContext(), event, distance, low, high);
}

void WaitAttr::print(AsmPrinter &printer) const {
  printer << '<' << getEvent();
  if (getDistance())
    printer << " distance " << getDistance();
  printer << ", " << getLow() << " to " << getHigh() << '>';
}

/// `<` @symbol `,` map `>`
static ParseResult parseSymbolAndMap(AsmParser &parser,
                                     FlatSymbolRefAttr &symbol,
                                     AffineMap &map) {
  return failure(parser.parseLess() || parseSymbol(parser, symbol) ||
                 parser.parseComma() || parser.parseAffineMap(map) ||
                 parser.parseGreater());
}

#define BATON_SYMBOL_AND_MAP(CLASS, SYMBOL, MAP)                               \
  Attribute CLASS::parse(AsmParser &parser, Type) {                            \
    FlatSymbolRefAttr symbol;                                                  \
    AffineMap map;                                                             \
    if (parseSymbolAndMap(parser, symbol, map))                                \
      return {};                                                               \
    return get(parser.getContext(), symbol, map);                              \
  }                                                                            \
  void CLASS::print(AsmPrinter &printer) const {                               \
    printer << '<' << SYMBOL() << ", " << MAP() << '>';                        \
  }
BATON_SYMBOL_AND_MAP(NotifyAttr, getEvent, getIndex)
BATON_SYMBOL_AND_MAP(AddressAttr, getBuffer, getIndex)
BATON_SYMBOL_AND_MAP(WeightAttr, getParameter, getOffset)
#undef BATON_SYMBOL_AND_MAP

Attribute ConditionAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr buffer;
  AffineMap low, high;
  int64_t unit;
  if (parser.parseLess() || parseSymbol(parser, buffer) ||
      parser.parseComma() || parser.parseAffineMap(low) ||
      parser.parseKeyword("below") || parser.parseAffineMap(high) ||
      parser.parseKeyword("by") || parser.parseInteger(unit) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), buffer, low, high, unit);
}

void ConditionAttr::print(AsmPrinter &printer) const {
  printer << '<' << getBuffer() << ", " << getLow() << " below " << getHigh()
          << " by " << getUnit() << '>';
}

Attribute StrideAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr buffer;
  SmallVector<int64_t> steps;
  if (parser.parseLess() || parseSymbol(parser, buffer) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parser.parseInteger(steps.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), buffer, steps);
}

void StrideAttr::print(AsmPrinter &printer) const {
  printer << '<' << getBuffer() << ", [";
  llvm::interleaveComma(getSteps(), printer);
  printer << "]>";
}

Attribute CountAttr::parse(AsmParser &parser, Type) {
  AffineMap map;
  if (parser.parseLess() || parser.parseAffineMap(map) || parser.parseGreater())
    return {};
  return get(parser.getContext(), map);
}

void CountAttr::print(AsmPrinter &printer) const {
  printer << '<' << getMap() << '>';
}

/// A number, or a map of the step's symbols with one result.
static ParseResult parseCount(AsmParser &parser, AffineMap &count) {
  int64_t number;
  OptionalParseResult isNumber = parser.parseOptionalInteger(number);
  if (isNumber.has_value()) {
    count = AffineMap::get(0, kStepSymbols,
                           getAffineConstantExpr(number, parser.getContext()));
    return *isNumber;
  }
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseAffineMap(count))
    return failure();
  if (count.getNumDims() != 0 || count.getNumSymbols() != kStepSymbols ||
      count.getNumResults() != 1)
    return parser.emitError(location)
           << "a count is one number of the step's symbols";
  return success();
}

static void printCount(AsmPrinter &printer, AffineMap count) {
  if (count.isSingleConstant())
    printer << count.getSingleConstantResult();
  else
    printer << count;
}

Attribute TransferAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr send, receive;
  AffineMap elements, part;
  if (parser.parseLess() || parseSymbol(parser, send) ||
      parser.parseKeyword("to") || parseSymbol(parser, receive) ||
      parser.parseComma() || parseCount(parser, elements) ||
      parser.parseKeyword("by") || parseCount(parser, part) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), send, receive, elements, part);
}

void TransferAttr::print(AsmPrinter &printer) const {
  printer << '<' << getSend() << " to " << getReceive() << ", ";
  printCount(printer, getElements());
  printer << " by ";
  printCount(printer, getPart());
  printer << '>';
}

Attribute TaskAttr::parse(AsmParser &parser, Type) {
  StringAttr phase;
  int64_t iteration;
  SmallVector<int64_t> coordinates;
  if (parser.parseLess() || parser.parseAttribute(phase) ||
      parser.parseComma() || parser.parseInteger(iteration) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parser.parseInteger(coordinates.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), phase, iteration, coordinates);
}

void TaskAttr::print(AsmPrinter &printer) const {
  printer << '<' << getPhase() << ", " << getIteration() << ", [";
  llvm::interleaveComma(getCoordinates(), printer);
  printer << "]>";
}

int64_t MeshOp::countRanks(ArrayAttr axes) {
  int64_t ranks = 1;
  for (Attribute axis : axes) {
    const auto *found = llvm::find(getNames(), axis);
    if (found == getNames().end())
      return 0;
    ranks *= getSizes()[found - getNames().begin()];
  }
  return ranks;
}

int64_t ExchangeOp::countRanks() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  return (*program.getBody().getOps<MeshOp>().begin()).countRanks(getAxes());
}

int64_t BufferOp::countWriters() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  auto name = FlatSymbolRefAttr::get(getSymNameAttr());
  return llvm::count_if(phasesOf(program), [&](PhaseOp phase) {
    return phase.getBody().getOps<AdvanceOp>().empty() &&
           llvm::any_of(phase.getAccessAttrs(), [&](AccessAttr access) {
             return access.getWrite() && access.getBuffer() == name;
           });
  });
}

int64_t MessageOp::getHop() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  int64_t ranks = (*program.getBody().getOps<MeshOp>().begin())
                      .countRanks(ArrayAttr::get(getContext(), getAxisAttr()));
  return sends() == (getPeer() == MessagePeer::next) ? 1 : ranks - 1;
}
