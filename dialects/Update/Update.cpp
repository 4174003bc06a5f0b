//===- Update.cpp - registration and text forms of the update dialect -----===//

#include "dialects/Update/Update.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// `(%element = %tensor, ...) { ... }`; there are as many results as the region
/// yields values.
static ParseResult parsePass(OpAsmParser &parser, OperationState &state,
                             Type resultType) {
  SmallVector<OpAsmParser::Argument> elements;
  SmallVector<OpAsmParser::UnresolvedOperand> tensors;
  Builder &builder = parser.getBuilder();
  if (parser.parseAssignmentList(elements, tensors) ||
      parser.resolveOperands(tensors, wholeType(builder.getContext()),
                             parser.getCurrentLocation(), state.operands))
    return failure();
  for (OpAsmParser::Argument &element : elements)
    element.type = builder.getF32Type();
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
                          printer << " = " << std::get<1>(pair);
                        });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword(op->getAttrs());
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &state) {
  return parsePass(parser, state, wholeType(parser.getContext()));
}
void MapOp::print(OpAsmPrinter &printer) { printPass(printer, *this); }

ParseResult SumOp::parse(OpAsmParser &parser, OperationState &state) {
  return parsePass(parser, state, parser.getBuilder().getF32Type());
}
void SumOp::print(OpAsmPrinter &printer) { printPass(printer, *this); }

#define GET_OP_CLASSES
#include "dialects/Update/UpdateOps.cpp.inc"

void UpdateDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Update/UpdateOps.cpp.inc"
      >();
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
