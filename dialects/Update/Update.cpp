//===- Update.cpp - registration and text forms of the update dialect -----===//

#include "dialects/Update/Update.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace baton::update;

#include "dialects/Update/UpdateDialect.cpp.inc"

RankedTensorType baton::update::wholeType(MLIRContext *context) {
  return RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                               Float32Type::get(context));
}

bool baton::update::isWhole(Type type) {
  return type == wholeType(type.getContext());
}

bool baton::update::isTensor(Type type) {
  MLIRContext *context = type.getContext();
  return isWhole(type) || type == tensorType(context, true, false) ||
         type == tensorType(context, false, true);
}

bool baton::update::isTable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isF32() &&
         (tensor.getRank() == 1 || tensor.getRank() == 2) &&
         tensor.hasStaticShape() && tensor.getNumElements() > 0 &&
         !tensor.getEncoding();
}

RankedTensorType baton::update::tensorType(MLIRContext *context, bool hasRows,
                                           bool hasColumns) {
  auto extent = [](bool has) { return has ? ShapedType::kDynamic : 1; };
  return RankedTensorType::get({extent(hasRows), extent(hasColumns)},
                               Float32Type::get(context));
}

bool baton::update::has(Type tensor, unsigned dimension) {
  return cast<RankedTensorType>(tensor).isDynamicDim(dimension);
}

RankedTensorType baton::update::mapType(MLIRContext *context,
                                        TypeRange inputs) {
  auto any = [&](unsigned dimension) {
    return llvm::any_of(inputs, [&](Type type) {
      return isTensor(type) && has(type, dimension);
    });
  };
  return tensorType(context, any(0), any(1));
}

/// `(%element = %tensor : type, ...) dimension d { ... }`, without the type of
/// what is whole; there are as many results as the region yields values.
static ParseResult parsePass(OpAsmParser &parser, OperationState &state,
                             bool isSum) {
  SmallVector<OpAsmParser::Argument> elements;
  Builder &builder = parser.getBuilder();
  MLIRContext *context = builder.getContext();
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::Argument &element = elements.emplace_back();
    OpAsmParser::UnresolvedOperand tensor;
    Type type = wholeType(context);
    if (parser.parseArgument(element) || parser.parseEqual() ||
        parser.parseOperand(tensor) ||
        (succeeded(parser.parseOptionalColon()) && parser.parseType(type)))
      return failure();
    element.type = builder.getF32Type();
    return parser.resolveOperand(tensor, type, state.operands);
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInput))
    return failure();
  Type resultType = builder.getF32Type();
  if (!isSum) {
    SmallVector<Type> inputs;
    for (Value operand : state.operands)
      inputs.push_back(operand.getType());
    resultType = mapType(context, inputs);
  } else if (succeeded(parser.parseOptionalKeyword("dimension"))) {
    IntegerAttr dimension;
    if (parser.parseAttribute(dimension, builder.getI64Type(), "dimension",
                              state.attributes))
      return failure();
    resultType =
        tensorType(context, dimension.getInt() != 0, dimension.getInt() == 0);
  }
  Region *body = state.addRegion();
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*body, elements))
    return failure();
  if (body->empty() || body->front().empty() ||
      !isa<YieldOp>(body->front().back()))
    return parser.emitError(location)
           << "expected a region that ends in update.yield";
  state.addTypes(
      SmallVector<Type>(body->front().back().getNumOperands(), resultType));
  return success();
}

static void printPass(OpAsmPrinter &printer, Operation *op) {
  Region &body = op->getRegion(0);
  printer << " (";
  llvm::interleaveComma(llvm::zip(body.getArguments(), op->getOperands()),
                        printer, [&](auto pair) {
                          printer.printRegionArgument(std::get<0>(pair), {},
                                                      /*omitType=*/true);
                          Value tensor = std::get<1>(pair);
                          printer << " = " << tensor;
                          if (!isWhole(tensor.getType()))
                            printer << " : " << tensor.getType();
                        });
  printer << ")";
  if (auto sum = dyn_cast<SumOp>(op); sum && sum.getDimension())
    printer << " dimension " << int64_t(*sum.getDimension());
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), {"dimension"});
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &state) {
  return parsePass(parser, state, /*isSum=*/false);
}
void MapOp::print(OpAsmPrinter &printer) { printPass(printer, *this); }

ParseResult SumOp::parse(OpAsmParser &parser, OperationState &state) {
  return parsePass(parser, state, /*isSum=*/true);
}
void SumOp::print(OpAsmPrinter &printer) { printPass(printer, *this); }

/// `%a, %b : types`, without these if all are whole.
static ParseResult
parseTensors(OpAsmParser &parser,
             SmallVectorImpl<OpAsmParser::UnresolvedOperand> &tensors,
             SmallVectorImpl<Type> &types) {
  if (parser.parseOperandList(tensors))
    return failure();
  if (succeeded(parser.parseOptionalColon()))
    return parser.parseTypeList(types);
  types.assign(tensors.size(), wholeType(parser.getContext()));
  return success();
}

static void printTensors(OpAsmPrinter &printer, Operation *, ValueRange tensors,
                         TypeRange types) {
  printer << tensors;
  if (!llvm::all_of(types, isWhole))
    printer << " : " << types;
}

/// `(%a, %b) { ... }`, of f32.
static ParseResult parseElements(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> elements;
  if (parser.parseArgumentList(elements, AsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &element : elements)
    element.type = parser.getBuilder().getF32Type();
  return parser.parseRegion(body, elements);
}

static void printElements(OpAsmPrinter &printer, Operation *, Region &body) {
  printer << "(";
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) {
                          printer.printRegionArgument(argument, {},
                                                      /*omitType=*/true);
                        });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

/// The type of a layer's weights, which says those of its bias and results.
static ParseResult parseLayer(OpAsmParser &parser, Type &weights, Type &bias,
                              SmallVectorImpl<Type> &results) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(weights))
    return failure();
  auto matrix = dyn_cast<RankedTensorType>(weights);
  if (!matrix || !isTable(weights) || matrix.getRank() != 2)
    return parser.emitError(location)
           << "expected weights of rows and columns, as tensor<32x39xf32>";
  Type number = parser.getBuilder().getF32Type();
  bias = RankedTensorType::get({matrix.getDimSize(0)}, number);
  results.assign(matrix.getDimSize(0), number);
  return success();
}

static void printLayer(OpAsmPrinter &printer, Operation *, Type weights, Type,
                       TypeRange) {
  printer << weights;
}

#define GET_OP_CLASSES
#include "dialects/Update/UpdateOps.cpp.inc"

void UpdateDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Update/UpdateOps.cpp.inc"
      >();
}

int64_t ElementOp::getPlace() {
  auto type = cast<RankedTensorType>(getWeights().getType());
  int64_t place = 0;
  for (auto [extent, index] : llvm::zip_equal(type.getShape(), getIndex()))
    place = place * extent + index;
  return place;
}

YieldOp MapOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}
YieldOp SumOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}
ReturnOp RuleOp::getReturn() {
  return cast<ReturnOp>(getBody().front().getTerminator());
}

std::optional<unsigned> RuleOp::getState(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getArgNumber() < 2)
      return std::nullopt;
    return argument.getArgNumber() - 2;
  }
  auto returned = getReturn().getValues();
  auto found = llvm::find(returned, value);
  if (found == returned.end() || found == returned.begin())
    return std::nullopt;
  return found - returned.begin() - 1;
}

FormatOp RuleOp::getFormat(Value value) {
  std::optional<unsigned> state = getState(value);
  if (!state || !getFormats())
    return {};
  auto name = getFormats()->getAs<FlatSymbolRefAttr>(
      cast<StringAttr>(getStates()[*state]).getValue());
  return name ? SymbolTable::lookupNearestSymbolFrom<FormatOp>(*this, name)
              : FormatOp();
}

FormatOp RuleOp::getAnyFormat() {
  for (BlockArgument state : getBody().getArguments().drop_front(2))
    if (FormatOp format = getFormat(state))
      return format;
  return {};
}

/// Values of a map's region that are surely 0 where these arguments are.
static llvm::DenseSet<Value> zerosOf(Block &block, ArrayRef<Value> arguments) {
  llvm::DenseSet<Value> zeros(arguments.begin(), arguments.end());
  auto isZero = [&](Value value) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto number =
        constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return zeros.contains(value) || (number && number.getValue().isZero());
  };
  // Numbers of the rule and constants are finite; what a region computes of
  // elements may not be.
  auto isFinite = [&](Value value) {
    return isZero(value) || value.getParentBlock() != &block ||
           value.getDefiningOp<arith::ConstantOp>();
  };
  for (Operation &op : block.without_terminator()) {
    bool is = false;
    if (isa<arith::MulFOp>(op))
      is = llvm::any_of(op.getOperands(), isZero) &&
           llvm::all_of(op.getOperands(), isFinite);
    else if (isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp,
                 arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                 arith::NegFOp, arith::ExtFOp, arith::TruncFOp, math::AbsFOp,
                 math::SqrtOp>(op))
      is = llvm::all_of(op.getOperands(), isZero);
    else if (isa<arith::SelectOp>(op))
      is = isZero(op.getOperand(1)) && isZero(op.getOperand(2));
    else if (isa<arith::ConstantOp>(op))
      is = isZero(op.getResult(0));
    if (is)
      zeros.insert(op.getResult(0));
  }
  return zeros;
}

bool baton::update::keepsZeros(MapOp map, RuleOp rule) {
  Block &block = map.getBody().front();
  SmallVector<Value> all, others;
  for (auto [argument, input] :
       llvm::zip_equal(block.getArguments(), map.getInputs())) {
    all.push_back(argument);
    if (input != Value(rule.getParameter()))
      others.push_back(argument);
  }
  // The parameter stays 0 only if the map makes it so.
  for (ArrayRef<Value> arguments : {ArrayRef(all), ArrayRef(others)}) {
    llvm::DenseSet<Value> zeros = zerosOf(block, arguments);
    bool keepsParameter = true, keepsStates = true;
    for (auto [result, value] :
         llvm::zip_equal(map.getResults(), map.getYield().getValues()))
      (rule.getState(result) ? keepsStates : keepsParameter) &=
          zeros.contains(value);
    if (keepsStates && (keepsParameter || arguments.size() == others.size()))
      return true;
  }
  return false;
}

bool baton::update::fits(GroupOp group, ArrayRef<std::string> names,
                         int64_t rank) {
  if (group.getRank() && int64_t(*group.getRank()) != rank)
    return false;
  if (!group.getNames())
    return true;
  for (auto text : group.getNames()->getAsRange<StringAttr>()) {
    auto pattern = llvm::GlobPattern::create(text.getValue());
    if (pattern && llvm::any_of(names, [&](const std::string &name) {
          return pattern->match(name);
        }))
      return true;
    llvm::consumeError(pattern.takeError());
  }
  return false;
}
