//===- Model.cpp - registration and types of the model dialect -----------===//

#include "dialects/Model/Model.h"

#include "runtime/weight_formats.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;

#include "dialects/Model/ModelDialect.cpp.inc"
#include "dialects/Model/ModelEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Model/ModelTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Model/ModelAttributes.cpp.inc"

void ModelDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Model/ModelTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Model/ModelAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Model/ModelOps.cpp.inc"
      >();
}

std::string baton::model::dimensionName(int64_t dimension) {
  switch (dimension) {
  case kRows:
    return "rows";
  case kKv:
    return "kv";
  case kOutputs:
    return "outputs";
  default:
    if (int64_t parts = countRowParts(dimension))
      return "rows over " + std::to_string(parts);
    return std::to_string(dimension);
  }
}

bool StepTensorType::isStatic() const {
  return llvm::none_of(getShape(), isSymbol);
}

StepTensorType StepTensorType::withElementType(Type type) const {
  return get(getContext(), getShape(), type);
}

StepTensorType StepTensorType::withShape(ArrayRef<int64_t> shape) const {
  return get(getContext(), shape, getElementType());
}

LogicalResult
StepTensorType::verify(function_ref<InFlightDiagnostic()> emitError,
                       ArrayRef<int64_t> shape, Type elementType) {
  llvm::SmallSet<int64_t, 4> symbols;
  for (int64_t dimension : shape) {
    if (isSymbol(dimension)) {
      if (!symbols.insert(dimension).second)
        return emitError() << "dimension symbol '" << dimensionName(dimension)
                           << "' occurs twice";
    } else if (dimension < 1) {
      return emitError() << "dimensions are at least 1, found " << dimension;
    }
  }
  if (!elementType.isF32() && !elementType.isF16() && !elementType.isBF16() &&
      !elementType.isF64() && !elementType.isInteger(32) &&
      !mlir::isa<QuantizedType>(elementType))
    return emitError() << "elements are f32, f16, bf16, f64, i32 or "
                          "!model.quantized, found "
                       << elementType;
  return success();
}

/// Of formats that are known.
static bool areWholeNumbers(StringRef formats) {
  return llvm::all_of(blocks::listed_formats({formats.data(), formats.size()}),
                      [](const blocks::Format *format) {
                        return format->is_integer || format->is_plain;
                      });
}

bool QuantizedType::hasWholeNumbers() const {
  return areWholeNumbers(getFormats());
}

LogicalResult
QuantizedType::verify(function_ref<InFlightDiagnostic()> emitError,
                      StringRef formats, Type inputs) {
  if (inputs && !inputs.isInteger(8))
    return emitError() << "inputs of quantised weights are i8, found "
                       << inputs;
  std::string wrong =
      blocks::check_formats(std::string_view(formats.data(), formats.size()));
  if (inputs && wrong.empty() && !areWholeNumbers(formats))
    return emitError() << "inputs of " << formats
                       << ", whose numbers are not whole, are not i8";
  if (!wrong.empty())
    return emitError() << wrong;
  return success();
}

/// `<` (dimension `x`)* element-type `>`
Type StepTensorType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  SmallVector<int64_t> shape;
  while (true) {
    int64_t number;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      if (failed(*isNumber))
        return {};
      if (number < 1) {
        parser.emitError(parser.getCurrentLocation())
            << "dimensions are at least 1, found " << number;
        return {};
      }
      shape.push_back(number);
    } else {
      StringRef symbol;
      if (failed(
              parser.parseOptionalKeyword(&symbol, {"rows", "kv", "outputs"})))
        break;
      shape.push_back(symbol == "rows" ? kRows
                      : symbol == "kv" ? kKv
                                       : kOutputs);
      if (symbol == "rows" && succeeded(parser.parseOptionalKeyword("over"))) {
        SMLoc location = parser.getCurrentLocation();
        int64_t ranks;
        if (parser.parseInteger(ranks))
          return {};
        if (ranks < 2 || ranks > (1 << 20)) {
          parser.emitError(location)
              << "rows are cut over 2 to 1048576 ranks, found " << ranks;
          return {};
        }
        shape.back() = partOfRows(ranks);
      }
    }
    if (parser.parseXInDimensionList())
      return {};
  }
  Type elementType;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<StepTensorType>(location, parser.getContext(), shape,
                                           elementType);
}

void StepTensorType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t dimension : getShape())
    printer << dimensionName(dimension) << " x ";
  printer << getElementType() << '>';
}
