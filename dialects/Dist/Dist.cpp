//===- Dist.cpp - registration and text forms of the dist dialect ---------===//

#include "dialects/Dist/Dist.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton::dist;

#include "dialects/Dist/DistDialect.cpp.inc"
#include "dialects/Dist/DistEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttributes.cpp.inc"

/// `type`, or `type -> type` where an op's result has another one.
static ParseResult parseLocalTypes(OpAsmParser &parser, Type &x, Type &result) {
  if (parser.parseType(x))
    return failure();
  result = x;
  return success(failed(parser.parseOptionalArrow()) ||
                 succeeded(parser.parseType(result)));
}

static void printLocalTypes(OpAsmPrinter &printer, Operation *, Type x,
                            Type result) {
  printer << x;
  if (result != x)
    printer << " -> " << result;
}

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dist/DistAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

static ParseResult parseAxis(AsmParser &parser,
                             SmallVectorImpl<StringAttr> &axes) {
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  axes.push_back(parser.getBuilder().getStringAttr(name));
  return success();
}

static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<StringAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::None, [&] { return parseAxis(parser, axes); });
}

static void printAxes(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  llvm::interleaveComma(axes, printer, [&](StringAttr axis) {
    printer.printKeywordOrString(axis.getValue());
  });
}

/// `replicate`, `shard(axes)` or `ragged(axes: granularity, [units])`.
static DimensionAttr parseDimension(AsmParser &parser) {
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return {};
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> units;
  int64_t granularity = 0;
  if (word == "shard") {
    if (parser.parseLParen() || parseAxes(parser, axes) || parser.parseRParen())
      return {};
  } else if (word == "ragged") {
    auto unit = [&] { return parser.parseInteger(units.emplace_back()); };
    if (parser.parseLParen() || parseAxes(parser, axes) ||
        parser.parseColon() || parser.parseInteger(granularity) ||
        parser.parseComma() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, unit) ||
        parser.parseRParen())
      return {};
    // 0 is how an even dimension is stored.
    if (granularity == 0) {
      parser.emitError(location) << "a granularity is at least 1, found 0";
      return {};
    }
  } else if (word != "replicate") {
    parser.emitError(location)
        << "expected 'replicate', 'shard' or 'ragged', found '" << word << "'";
    return {};
  }
  return parser.getChecked<DimensionAttr>(location, parser.getContext(), axes,
                                          granularity, units);
}

static void printDimension(AsmPrinter &printer, DimensionAttr dimension) {
  if (dimension.isReplicate()) {
    printer << "replicate";
    return;
  }
  printer << (dimension.isRagged() ? "ragged(" : "shard(");
  printAxes(printer, dimension.getAxes());
  if (dimension.isRagged()) {
    printer << ": " << dimension.getGranularity() << ", [";
    llvm::interleaveComma(dimension.getUnits(), printer);
    printer << "]";
  }
  printer << ")";
}

Attribute DimensionAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  DimensionAttr dimension = parseDimension(parser);
  return !dimension || parser.parseGreater() ? DimensionAttr() : dimension;
}

void DimensionAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDimension(printer, *this);
  printer << ">";
}

LogicalResult
DimensionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<StringAttr> axes, int64_t granularity,
                      ArrayRef<int64_t> units) {
  if (granularity == 0 && units.empty())
    return success();
  if (granularity < 1)
    return emitError() << "a granularity is at least 1, found " << granularity;
  if (axes.empty())
    return emitError() << "a ragged dimension has an axis";
  if (units.empty())
    return emitError() << "a ragged dimension has units";
  for (int64_t unit : units)
    if (unit < 0)
      return emitError() << "units are not negative, found " << unit;
  return success();
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimensionAttr> dimensions;
  SmallVector<StringAttr> axes;
  Reduction reduction = Reduction::sum;
  SMLoc location = parser.getCurrentLocation();
  auto dimension = [&]() -> ParseResult {
    dimensions.push_back(parseDimension(parser));
    return success(dimensions.back() != nullptr);
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, dimension))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    if (parser.parseKeyword("partial") || parser.parseKeyword(&word))
      return {};
    std::optional<Reduction> kind = symbolizeReduction(word);
    if (!kind) {
      parser.emitError(location)
          << "a partial is a 'sum' or a 'max', found '" << word << "'";
      return {};
    }
    reduction = *kind;
    if (parser.parseLParen() || parseAxes(parser, axes) || parser.parseRParen())
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PlacementAttr>(location, parser.getContext(),
                                          dimensions, reduction, axes);
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDimensions(), printer, [&](DimensionAttr dimension) {
    printDimension(printer, dimension);
  });
  printer << "]";
  if (isPartial()) {
    printer << ", partial " << stringifyReduction(getReduction()) << "(";
    printAxes(printer, getPartialAxes());
    printer << ")";
  }
  printer << ">";
}

LogicalResult
PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<DimensionAttr> dimensions, Reduction,
                      ArrayRef<StringAttr> partialAxes) {
  llvm::SmallPtrSet<Attribute, 8> seen;
  auto isNew = [&](StringAttr axis) { return seen.insert(axis).second; };
  for (DimensionAttr dimension : dimensions)
    for (StringAttr axis : dimension.getAxes())
      if (!isNew(axis))
        return emitError() << "axis " << axis << " occurs twice";
  for (StringAttr axis : partialAxes)
    if (!isNew(axis))
      return emitError() << "axis " << axis << " occurs twice";
  return success();
}

PlacementAttr PlacementAttr::withPartial(Reduction reduction,
                                         ArrayRef<StringAttr> axes) const {
  return get(getContext(), getDimensions(), reduction, axes);
}

PlacementAttr PlacementAttr::withDimension(unsigned index,
                                           DimensionAttr dimension) const {
  SmallVector<DimensionAttr> dimensions(getDimensions());
  dimensions[index] = dimension;
  return get(getContext(), dimensions, getReduction(), getPartialAxes());
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

/// `[name = size, ...] (batch [names])?`
ParseResult MeshOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<StringAttr> names, batch;
  SmallVector<int64_t> sizes;
  auto axis = [&]() -> ParseResult {
    return failure(parseAxis(parser, names) || parser.parseEqual() ||
                   parser.parseInteger(sizes.emplace_back()));
  };
  auto square = AsmParser::Delimiter::Square;
  if (parser.parseCommaSeparatedList(square, axis))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("batch")) &&
      parser.parseCommaSeparatedList(square,
                                     [&] { return parseAxis(parser, batch); }))
    return failure();
  auto attributes = [](ArrayRef<StringAttr> list) {
    return SmallVector<Attribute>(list.begin(), list.end());
  };
  Builder &builder = parser.getBuilder();
  auto &properties = state.getOrAddProperties<Properties>();
  properties.names = builder.getArrayAttr(attributes(names));
  properties.sizes = builder.getDenseI64ArrayAttr(sizes);
  properties.batch = builder.getArrayAttr(attributes(batch));
  return parser.parseOptionalAttrDict(state.attributes);
}

void MeshOp::print(OpAsmPrinter &printer) {
  printer << " [";
  llvm::interleaveComma(
      llvm::zip(getNames().getAsRange<StringAttr>(), getSizes()), printer,
      [&](auto axis) {
        printer.printKeywordOrString(std::get<0>(axis).getValue());
        printer << " = " << std::get<1>(axis);
      });
  printer << "]";
  if (!getBatch().empty()) {
    printer << " batch [";
    printAxes(printer, llvm::to_vector(getBatch().getAsRange<StringAttr>()));
    printer << "]";
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"names", "sizes", "batch"});
}

int64_t MeshOp::getSize(StringAttr axis) {
  for (auto [name, size] : llvm::zip(getNames(), getSizes()))
    if (name == axis)
      return size;
  return 0;
}

int64_t MeshOp::countRanks(ArrayRef<StringAttr> axes) {
  int64_t ranks = 1;
  for (StringAttr axis : axes)
    ranks *= getSize(axis);
  return ranks;
}

bool MeshOp::isBatch(StringAttr axis) {
  return llvm::is_contained(getBatch(), axis);
}
